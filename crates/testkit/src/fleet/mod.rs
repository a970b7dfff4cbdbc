//! Draws fleets of profiles with the heavy tail of real services: most stacks that a profile shows first are never
//! seen again, a few are in every profile.
//!
//! The stacks of a service are drawn from a recorded profile by a Pitman-Yor process: after `n` draws and `k` stacks a
//! new stack appears with probability `(theta + discount·k) / (theta + n)`. A new stack is a recorded one, as it is or
//! changed near the leaf. Each pod prefers some stacks over others, always the same ones.
//!
//! Used by tests and benches; equal options give equal bodies. It reads and writes pprof by itself, so that it is no
//! judge in its own case when a decoder is tested with it.

mod body;
mod draw;
mod template;

use body::BodyWriter;
use draw::Drawer;
use template::Template;

/// One kind of service in a fleet.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Name of its services; a number is added where there are several.
    pub service: &'static str,
    /// Profile name, `process_cpu` or `memory`.
    pub name: &'static str,
    /// Recorded profile, relative to `fixtures/real`.
    pub fixture: &'static str,
    /// Rows of each profile, give or take one in a hundred; 0 = as many as the recorded profile has.
    pub rows: usize,
}

/// What a fleet consists of.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// Kinds of service; services take them in turn.
    pub kinds: Vec<Kind>,
    /// Number of services.
    pub services: usize,
    /// Pods of each service.
    pub pods: usize,
    /// Profiles of each pod, 15 s apart.
    pub intervals: usize,
    /// Equal seeds give equal bodies.
    pub seed: u64,
    /// End of the last interval, ns since the epoch.
    pub end_nanos: i64,
}

/// Length of one profile, ns.
pub const INTERVAL_NANOS: i64 = 15_000_000_000;

/// End of the last interval where nothing else is asked for: 2026-01-01T00:00:00Z.
const END_NANOS: i64 = 1_767_225_600_000_000_000;

impl FleetOptions {
    /// One Go service with a heavy tail: 64 pods × 160 intervals = 10,240 profiles of 645 to 657 rows.
    #[must_use]
    pub fn one() -> Self {
        Self {
            kinds: vec![Kind {
                service: "checkout-go",
                name: "process_cpu",
                fixture: "go-compiler/cpu.pb.gz",
                rows: 651,
            }],
            services: 1,
            pods: 64,
            intervals: 160,
            seed: 1,
            end_nanos: END_NANOS,
        }
    }

    /// 1,000 small services of one pod × 1 interval: 1,000 profiles.
    #[must_use]
    pub fn thousand() -> Self {
        Self {
            kinds: vec![Kind {
                service: "cron-go",
                name: "process_cpu",
                fixture: "go-compiler/cpu.pb.gz",
                rows: 60,
            }],
            services: 1000,
            pods: 1,
            intervals: 1,
            seed: 1,
            end_nanos: END_NANOS,
        }
    }

    /// Five services from large to tiny × 10 pods × 40 intervals = 2,000 profiles.
    #[must_use]
    pub fn mix() -> Self {
        let cpu = "go-compiler/cpu.pb.gz";
        let kind = |service, name, fixture, rows| Kind { service, name, fixture, rows };
        Self {
            kinds: vec![
                kind("checkout-go", "process_cpu", cpu, 651),
                kind("catalog-go-heap", "memory", "go-typechecker/heap.pb.gz", 0),
                kind("search-go", "process_cpu", cpu, 200),
                kind("cron-go", "process_cpu", cpu, 60),
                kind("billing-rust", "process_cpu", "rust-hot/cpu.pb", 0),
            ],
            services: 5,
            pods: 10,
            intervals: 40,
            seed: 1,
            end_nanos: END_NANOS,
        }
    }
}

/// One drawn profile.
#[derive(Clone, Debug)]
pub struct FleetProfile {
    /// Labels of its series, `service_name` and `__name__` among them, sorted.
    pub labels: Vec<(String, String)>,
    /// Start, ns since the epoch; also in the body.
    pub time_nanos: i64,
    /// Rows of the profile.
    pub rows: usize,
    /// Sum of each column.
    pub totals: Vec<i64>,
    /// pprof, one gzip member.
    pub body: Vec<u8>,
    /// Bytes of the body before compression.
    pub raw_bytes: usize,
}

impl FleetProfile {
    /// The value of a label, or the empty text.
    #[must_use]
    pub fn label(&self, name: &str) -> &str {
        self.labels.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// Draws the profiles of a fleet in the order of time: all pods of all services, then the next interval.
pub struct Fleet {
    options: FleetOptions,
    drawers: Vec<(String, Drawer)>,
    writer: BodyWriter,
    position: usize,
}

impl Fleet {
    /// A fleet that has drawn nothing yet.
    ///
    /// # Panics
    /// When a recorded profile is missing or damaged: the checkout is then broken.
    #[must_use]
    pub fn new(options: FleetOptions) -> Self {
        let drawers = (0..options.services)
            .map(|service| {
                let kind = &options.kinds[service % options.kinds.len()];
                let name = if options.services > options.kinds.len() {
                    format!("{}-{service:03}", kind.service)
                } else {
                    kind.service.to_owned()
                };
                let template = Template::load(kind);
                (name, Drawer::new(template, kind.rows, options.seed, service as u64))
            })
            .collect();
        Self { options, drawers, writer: BodyWriter::default(), position: 0 }
    }

    /// Number of profiles in all.
    #[must_use]
    pub fn profile_count(&self) -> usize {
        self.options.services * self.options.pods * self.options.intervals
    }

    /// Draws the next profile's rows only; returns how many there are and how many were never seen before in its
    /// service. For looking at the shape of the tail.
    pub fn next_shape(&mut self) -> Option<Shape> {
        let (service, pod, _) = self.advance()?;
        let drawer = &mut self.drawers[service].1;
        let known = drawer.stack_count();
        let rows = drawer.draw_profile(pod as u64).len();
        Some(Shape { service, rows, new_rows: drawer.stack_count() - known })
    }

    /// How many distinct stacks a service has had, and how many of them were in one profile only.
    #[must_use]
    pub fn stacks_of(&self, service: usize) -> (usize, usize) {
        self.drawers[service].1.stacks_seen()
    }

    /// Service, pod and interval of the next profile.
    fn advance(&mut self) -> Option<(usize, usize, usize)> {
        if self.position >= self.profile_count() {
            return None;
        }
        let (services, pods) = (self.options.services, self.options.pods);
        let position = self.position;
        self.position += 1;
        Some((position / pods % services, position % pods, position / pods / services))
    }
}

/// The shape of one drawn profile.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Position of its service.
    pub service: usize,
    /// Rows.
    pub rows: usize,
    /// Rows whose stack the service had not had before.
    pub new_rows: usize,
}

impl Iterator for Fleet {
    type Item = FleetProfile;

    fn next(&mut self) -> Option<FleetProfile> {
        let (service, pod, interval) = self.advance()?;
        let kind = &self.options.kinds[service % self.options.kinds.len()];
        let intervals_left = i64::try_from(self.options.intervals - interval).ok()?;
        let time_nanos = self.options.end_nanos - intervals_left * INTERVAL_NANOS;
        let (name, drawer) = &mut self.drawers[service];
        let rows = drawer.draw_profile(pod as u64);
        let written = self.writer.write(drawer, &rows, time_nanos);
        let labels = [
            ("__name__", kind.name.to_owned()),
            ("namespace", "bench".to_owned()),
            ("node", format!("node-{:02}", (service + pod) % 16)),
            ("pod", format!("{name}-{pod:04}")),
            ("service_name", name.clone()),
        ];
        Some(FleetProfile {
            labels: labels.into_iter().map(|(label, value)| (label.to_owned(), value)).collect(),
            time_nanos,
            rows: rows.len(),
            totals: written.totals,
            body: written.body,
            raw_bytes: written.raw_bytes,
        })
    }
}

#[cfg(test)]
mod tests;

//! What was pushed, and what follows from it, by maps and loops.

use std::collections::BTreeSet;

use testkit::Random;
pub use testkit::graphs::{add, cut, cut_double, double, tree};

use crate::server::{START, Server, body};

/// One pushed profile.
#[derive(Clone, Debug)]
pub struct Profile {
    pub service: &'static str,
    pub pod: &'static str,
    /// ms.
    pub time: i64,
    pub samples: Vec<Sample>,
}

#[derive(Clone, Debug)]
pub struct Sample {
    pub stack: Vec<&'static str>,
    pub value: i64,
    /// Sample label `endpoint`; empty = none.
    pub endpoint: &'static str,
    /// 16 hexadecimal digits; empty = none.
    pub span: String,
    /// 32 hexadecimal digits; empty = none.
    pub trace: String,
}

const NAMES: [&str; 6] = ["main", "a", "b", "c", "other", "zeta"];
pub const PODS: [&str; 3] = ["p1", "p2", "p3"];
pub const ENDPOINTS: [&str; 3] = ["", "/x", "/y"];

pub fn span(number: usize) -> String {
    if number == 0 { String::new() } else { format!("{number:016x}") }
}

pub fn trace(number: usize) -> String {
    if number == 0 { String::new() } else { format!("{number:032x}") }
}

/// Random profiles of two services within a hundred seconds, each at a time of its own.
pub fn profiles(random: &mut Random) -> Vec<Profile> {
    let count = 1 + random.below(9);
    let mut times: BTreeSet<i64> = BTreeSet::new();
    while times.len() < count {
        times.insert(START + i64::try_from(random.below(100)).unwrap() * 1_000);
    }
    times
        .into_iter()
        .map(|time| Profile {
            service: ["shop", "cart"][random.below(2)],
            pod: PODS[random.below(3)],
            time,
            samples: (0..=random.below(12)).map(|_| sample(random)).collect(),
        })
        .collect()
}

fn sample(random: &mut Random) -> Sample {
    let depth = 1 + random.below(5);
    let in_span = random.below(3);
    Sample {
        stack: (0..depth).map(|_| NAMES[random.below(NAMES.len())]).collect(),
        value: 1 + i64::try_from(random.below(30)).unwrap(),
        endpoint: ENDPOINTS[random.below(3)],
        span: span(in_span),
        trace: trace(if in_span == 0 { 0 } else { 1 + random.below(2) }),
    }
}

/// Pushes all, some into blocks.
pub fn push(server: &Server, profiles: &[Profile], random: &mut Random) {
    for profile in profiles {
        let samples: Vec<_> = profile.samples.iter().map(|sample| (sample.stack.join(";"), sample)).collect();
        let samples: Vec<_> = samples
            .iter()
            .map(|(stack, sample)| {
                let labels =
                    [("endpoint", sample.endpoint), ("span_id", &sample.span), ("trace_id", &sample.trace)];
                let labels = labels.into_iter().filter(|(_, text)| !text.is_empty());
                (stack.as_str(), sample.value, labels.map(|(key, text)| (key, text.to_owned())).collect())
            })
            .collect();
        let labels = [("service_name", profile.service), ("pod", profile.pod)];
        server.push(&labels, &body(profile.time, &samples));
        if random.below(4) == 0 {
            server.flush();
        }
    }
}

/// What a question is about.
#[derive(Clone, Debug, Default)]
pub struct Question {
    pub service: &'static str,
    pub endpoint: Option<&'static str>,
    /// Inclusive, ms.
    pub range: Option<(i64, i64)>,
    pub spans: Vec<String>,
    pub traces: Vec<String>,
    pub call_site: Vec<&'static str>,
    pub include: Vec<&'static str>,
    pub exclude: Vec<&'static str>,
    /// Fits names that contain it.
    pub include_pattern: Option<&'static str>,
}

impl Question {
    pub fn random(random: &mut Random) -> Self {
        let mut question = Self { service: ["", "shop", "cart"][random.below(3)], ..Self::default() };
        if random.below(3) == 0 {
            question.endpoint = Some(ENDPOINTS[random.below(3)]);
        }
        if random.below(3) == 0 {
            let from = START + i64::try_from(random.below(60)).unwrap() * 1_000;
            question.range = Some((from, from + i64::try_from(random.below(60)).unwrap() * 1_000));
        }
        match random.below(4) {
            0 => question.spans = vec![span(1 + random.below(3))],
            1 => question.traces = vec![trace(1 + random.below(3)), trace(9)],
            _ => {}
        }
        question.choose_stacks(random);
        question
    }

    pub fn choose_stacks(&mut self, random: &mut Random) {
        let mut names =
            |count: usize| (0..count).map(|_| NAMES[random.below(NAMES.len())]).collect::<Vec<_>>();
        let which = names(4);
        match which[0] {
            "main" => self.call_site = which[1..2].to_vec(),
            "a" => self.call_site = which[1..3].to_vec(),
            "b" => self.include = which[1..].to_vec(),
            "c" => self.exclude = which[1..2].to_vec(),
            _ => return,
        }
        if which[3] == "a" {
            self.include_pattern = Some("^(ma|ze)");
        }
    }

    pub fn selector(&self) -> String {
        let mut matchers = Vec::new();
        if !self.service.is_empty() {
            matchers.push(format!("service_name=\"{}\"", self.service));
        }
        if let Some(endpoint) = self.endpoint {
            matchers.push(format!("endpoint=\"{endpoint}\""));
        }
        format!("{{{}}}", matchers.join(","))
    }

    pub fn takes_profile(&self, profile: &Profile) -> bool {
        (self.service.is_empty() || self.service == profile.service)
            && self.range.is_none_or(|(from, to)| from <= profile.time && profile.time <= to)
    }

    /// By labels and links alone.
    pub fn takes_row(&self, sample: &Sample) -> bool {
        self.endpoint.is_none_or(|endpoint| endpoint == sample.endpoint)
            && (self.spans.is_empty() || self.spans.contains(&sample.span))
            && (self.traces.is_empty() || self.traces.contains(&sample.trace))
    }

    pub fn takes_stack(&self, stack: &[&str]) -> bool {
        stack.starts_with(&self.call_site)
            && self.include.iter().all(|name| stack.contains(name))
            && !self.exclude.iter().any(|name| stack.contains(name))
            && (self.include_pattern.is_none()
                || stack.iter().any(|name| name.starts_with("ma") || name.starts_with("ze")))
    }

    pub fn stacks<'p>(&self, profiles: &'p [Profile]) -> Vec<(Vec<&'p str>, i64)> {
        let taken = profiles.iter().filter(|profile| self.takes_profile(profile));
        let rows = taken.flat_map(|profile| &profile.samples);
        rows.filter(|sample| self.takes_row(sample) && self.takes_stack(&sample.stack))
            .map(|sample| (sample.stack.clone(), sample.value))
            .collect()
    }

    /// The fields that most calls share.
    pub fn message(&self) -> serde_json::Value {
        let (start, end) = self.range.unwrap_or(crate::server::ALL);
        let call_site: Vec<_> =
            self.call_site.iter().map(|name| serde_json::json!({ "name": name })).collect();
        serde_json::json!({
            "profileTypeID": crate::server::CPU,
            "labelSelector": self.selector(),
            "start": start.to_string(),
            "end": end,
            "spanSelector": self.spans,
            "trace_id_selector": self.traces,
            "stackTraceSelector": {
                "call_site": call_site,
                "frameFilter": {
                    "includeFunctionNames": self.include,
                    "exclude_function_names": self.exclude,
                    "includeFunctionNameRegexes": self.include_pattern.iter().collect::<Vec<_>>(),
                },
            },
        })
    }
}

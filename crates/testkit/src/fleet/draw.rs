//! The Pitman-Yor draw of one service's stacks.

use foldhash::fast::FixedState;

use super::template::Template;
use crate::random::{Random, mix};

/// Hash tables that behave the same in every run.
pub(super) type HashMap<K, V> = hashbrown::HashMap<K, V, FixedState>;
type HashSet<K> = hashbrown::HashSet<K, FixedState>;

/// Share of stacks that are only ever seen once.
const DISCOUNT: f64 = 0.68;
/// Weight of the unseen at the beginning, per wanted row: puts about 40 % new rows into the fourth profile.
const THETA_PER_ROW: f64 = 0.02;
/// Variants of one location (line and address), at most.
pub(super) const VARIANTS_MAX: usize = 4096;
/// Most changes stay among the first few variants.
const VARIANTS_USUAL: usize = 16;
/// Frames of a stack, at most.
const DEPTH_MAX: usize = 256;

/// A location of the template (in the high part) and its variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame(pub u32);

impl Frame {
    fn plain(location: u32) -> Self {
        Self(location * VARIANTS_MAX as u32)
    }

    pub(super) fn location(self) -> u32 {
        self.0 / VARIANTS_MAX as u32
    }

    pub(super) fn variant(self) -> u32 {
        self.0 % VARIANTS_MAX as u32
    }
}

/// A stack that the service has had.
struct Stack {
    frames: Box<[Frame]>,
    /// What one draw adds to each column.
    unit: Box<[i64]>,
    /// Draws of it so far.
    draws: u32,
    /// Profiles that it was in so far.
    profiles: u32,
}

/// One service's stacks so far; draws its profiles in order.
pub(super) struct Drawer {
    pub(super) template: Template,
    random: Random,
    rows: usize,
    stacks: Vec<Stack>,
    known: HashSet<Box<[Frame]>>,
    /// Every draw so far: a uniform pick from it is a pick weighted by count.
    history: Vec<u32>,
    /// Template samples, repeated by weight.
    origin: Vec<u32>,
    /// Where each function (by name) is called in the template: sample and depth.
    callers: HashMap<u64, Vec<(u32, u32)>>,
}

impl Drawer {
    pub(super) fn new(template: Template, rows: usize, seed: u64, stream: u64) -> Self {
        const RESOLUTION: i64 = 1 << 16;
        let total: i64 = template.samples.iter().map(|sample| sample.values[0]).sum();
        let mut origin = Vec::new();
        let mut callers: HashMap<u64, Vec<(u32, u32)>> = HashMap::default();
        for (position, sample) in (0_u32..).zip(&template.samples) {
            let weight = 1 + sample.values[0] * RESOLUTION / total.max(1);
            origin.extend((0..weight).map(|_| position));
            for (depth, &location) in (0_u32..).zip(&sample.stack) {
                callers.entry(template.leaf(location)).or_default().push((position, depth));
            }
        }
        let rows = if rows == 0 { template.samples.len() } else { rows };
        Self {
            template,
            random: Random::new(seed, stream),
            rows,
            stacks: Vec::new(),
            known: HashSet::default(),
            history: Vec::new(),
            origin,
            callers,
        }
    }

    /// Draws one profile: stacks with their counts, sorted by stack.
    pub(super) fn draw_profile(&mut self, pod: u64) -> Vec<(u32, i64)> {
        let spread = self.rows / 100;
        let wanted = (self.rows - spread + self.random.below(2 * spread + 1)).max(1);
        let mut rows: HashMap<u32, i64> = HashMap::with_capacity_and_hasher(wanted, FixedState::default());
        for _ in 0..16 * wanted {
            if rows.len() >= wanted {
                break;
            }
            let stack = self.draw(pod);
            *rows.entry(stack).or_default() += 1;
            self.stacks[stack as usize].draws += 1;
            self.history.push(stack);
        }
        let mut rows: Vec<(u32, i64)> = rows.into_iter().collect();
        rows.sort_unstable();
        for (stack, _) in &rows {
            self.stacks[*stack as usize].profiles += 1;
        }
        rows
    }

    /// Stacks of the service so far.
    pub(super) fn stack_count(&self) -> usize {
        self.stacks.len()
    }

    /// Stacks of the service so far, and those that were in one profile only.
    pub(super) fn stacks_seen(&self) -> (usize, usize) {
        (self.stacks.len(), self.stacks.iter().filter(|stack| stack.profiles == 1).count())
    }

    /// Frames (leaf first) and the values of one draw.
    pub(super) fn stack(&self, stack: u32) -> (&[Frame], &[i64]) {
        let entry = &self.stacks[stack as usize];
        (&entry.frames, &entry.unit)
    }

    fn draw(&mut self, pod: u64) -> u32 {
        let theta = THETA_PER_ROW * self.rows as f64;
        let (draws, stacks) = (self.history.len() as f64, self.stacks.len() as f64);
        if self.random.unit() * (theta + draws) < theta + DISCOUNT * stacks {
            return self.new_stack();
        }
        loop {
            let stack = self.history[self.random.below(self.history.len())];
            // Known stacks are picked in proportion to draws − discount.
            if self.random.unit() * f64::from(self.stacks[stack as usize].draws) < DISCOUNT {
                continue;
            }
            if self.random.unit() < pod_bias(pod, stack) {
                return stack;
            }
        }
    }

    /// Takes a stack of the template, as it is or changed near the leaf, until it is one that the service has not had.
    fn new_stack(&mut self) -> u32 {
        let mut frames: Vec<Frame> = Vec::new();
        let mut sample = 0;
        for attempt in 0_u32.. {
            // Changes add up; now and then another stack is begun with, as the surroundings of a short one are soon
            // used up.
            if attempt % 16 == 0 || frames.len() > DEPTH_MAX {
                sample = self.origin[self.random.below(self.origin.len())] as usize;
                frames = self.template.samples[sample]
                    .stack
                    .iter()
                    .map(|&location| Frame::plain(location))
                    .collect();
            }
            if attempt > 0 || self.random.below(2) == 0 {
                self.mutate(&mut frames, VARIANTS_USUAL << (attempt / 4).min(8));
            }
            if !self.known.contains(frames.as_slice()) {
                break;
            }
        }
        let values = &self.template.samples[sample].values;
        let unit = values.iter().map(|value| value / values[0].max(1)).collect();
        let stack = u32::try_from(self.stacks.len()).expect("fewer than 2^32 stacks");
        let frames = frames.into_boxed_slice();
        self.known.insert(frames.clone());
        self.stacks.push(Stack { frames, unit, draws: 0, profiles: 0 });
        stack
    }

    /// Changes one frame, most often near the leaf: its line and address, or all that it calls, taken from another
    /// place that calls the same function.
    fn mutate(&mut self, frames: &mut Vec<Frame>, variants: usize) {
        let mut at = 0;
        while at + 1 < frames.len() && self.random.below(2) == 0 {
            at += 1;
        }
        if self.random.below(2) == 0 {
            let places = &self.callers[&self.template.leaf(frames[at].location())];
            let (sample, depth) = places[self.random.below(places.len())];
            let callees = &self.template.samples[sample as usize].stack[..depth as usize];
            frames.splice(..at, callees.iter().map(|&location| Frame::plain(location)));
        } else {
            let variant = self.random.below(variants.min(VARIANTS_MAX));
            frames[at] = Frame(frames[at].location() * VARIANTS_MAX as u32 + variant as u32);
        }
    }
}

/// A fixed weight between 0.3 and 1 for each pair of pod and stack.
fn pod_bias(pod: u64, stack: u32) -> f64 {
    let hash = mix(pod << 32 | u64::from(stack)) >> 40;
    0.3 + 0.7 * hash as f64 / (1_u64 << 24) as f64
}

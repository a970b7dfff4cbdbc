//! What can be decided only when all tables of a profile are known: depth of stacks, span and trace ids, names of
//! value columns, stacks that the profiler itself cut.

use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use profile::{
    Altered, AlteredReason, Columns, Function, FunctionIndex, LabelValue, Line, Link, Location,
    LocationIndex, MappingIndex, SampleLabel, StringIndex, StringRange, Timestamp,
};

use super::{pass::Counts, wire::narrow};
use crate::{
    DecodeError, Limits,
    budget::{Budget, Full},
    limits::FRAMES_PER_BYTE_MAX,
    work,
};

/// Name of the frame that stands for what was cut from a stack (C026).
pub(crate) const TRUNCATED: &str = "(truncated)";

/// Stack lengths at which Go's runtime stops (C027): heap and mutex profiles, CPU profiles, CPU profiles since Go 1.23.
const GO_DEPTHS: [usize; 3] = [32, 64, 128];

/// Why a profile whose fields are all right is refused.
#[derive(Debug)]
pub(super) enum FinishError {
    /// Over the memory budget.
    Full,
    /// Wrong.
    Wrong(DecodeError),
}

impl From<Full> for FinishError {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

/// The finishing steps of one profile.
pub(super) struct Finish<'a> {
    pub(super) text: &'a [u8],
    pub(super) columns: &'a mut Columns,
    pub(super) budget: &'a mut Budget,
    pub(super) limits: &'a Limits,
    pub(super) altered: &'a mut Altered,
    /// Text that is needed beside the body; its strings begin at `text.len()`.
    pub(super) added: &'a mut Vec<u8>,
}

impl Finish<'_> {
    pub(super) fn run(
        &mut self,
        counts: Counts,
        depth_max: usize,
        lines_max: usize,
    ) -> Result<(), FinishError> {
        self.altered.add(AlteredReason::ValueCountMismatch, counts.value_count_mismatch);
        self.altered.add(AlteredReason::NegativeValue, counts.negative);
        self.altered.add(AlteredReason::ZeroValue, counts.zero);
        self.altered.add(AlteredReason::NoStack, counts.no_stack);
        let time = self.columns.header.time_nanos;
        if (0..Timestamp::EARLIEST.0).contains(&time) {
            self.altered.add(AlteredReason::NoTime, 1);
        }
        self.bound_depth(depth_max, lines_max)?;
        self.bound_frames(lines_max)?;
        if self.limits.without_dashes {
            self.rename_dashed_columns()?;
        }
        self.rename_twin_columns()?;
        if self.columns.labels.is_empty() {
            self.columns.label_ends.clear();
        } else {
            self.lift_links()?;
        }
        self.mark_cut_by_go(depth_max.saturating_mul(lines_max.max(1)));
        Ok(())
    }

    fn bytes(&self, index: StringIndex) -> &[u8] {
        let range = self.columns.strings[index.position()];
        let start = range.start as usize;
        match start.checked_sub(self.text.len()) {
            Some(start) if range.length > 0 => &self.added[start..][..range.length as usize],
            _ => &self.text[start..][..range.length as usize],
        }
    }

    fn add_string(&mut self, string: &str) -> Result<StringIndex, FinishError> {
        self.budget.room(&mut self.columns.strings, 1)?;
        let index = StringIndex(narrow(self.columns.strings.len()));
        let start = narrow(self.text.len() + self.added.len());
        self.added.extend_from_slice(string.as_bytes());
        self.columns.strings.push(StringRange { start, length: narrow(string.len()) });
        Ok(index)
    }

    /// Frames that a location stands for; one without lines is a frame too.
    fn frames(locations: &[Location], location: LocationIndex) -> usize {
        (locations[location.position()].lines_length as usize).max(1)
    }

    /// Cuts stacks of too many frames at the root and puts a marker there (C026).
    fn bound_depth(&mut self, depth_max: usize, lines_max: usize) -> Result<(), FinishError> {
        if depth_max.saturating_mul(lines_max.max(1)) <= self.limits.stack_depth_max {
            return Ok(());
        }
        let mut marker = None;
        let mut cut_stacks = 0;
        let (mut read_start, mut write_end) = (0, 0);
        for sample in 0..self.columns.stack_ends.len() {
            let read_end = self.columns.stack_ends[sample] as usize;
            work::count(read_end - read_start);
            let kept = self.entries_within_depth(read_start..read_end);
            self.columns.stacks.copy_within(read_start..read_start + kept, write_end);
            write_end += kept;
            if read_start + kept < read_end {
                cut_stacks += 1;
                let location = match marker {
                    Some(location) => location,
                    None => *marker.insert(self.add_marker()?),
                };
                // fewer entries were kept than read, so the marker overwrites nothing that is still needed
                self.columns.stacks[write_end] = location;
                write_end += 1;
            }
            self.columns.stack_ends[sample] = narrow(write_end);
            read_start = read_end;
        }
        self.columns.stacks.truncate(write_end);
        self.altered.add(AlteredReason::StackTooDeep, cut_stacks);
        Ok(())
    }

    /// How many entries of a stack, from the leaf, are kept: all, or as many as leave one frame for the marker.
    fn entries_within_depth(&self, stack: Range<usize>) -> usize {
        let length = stack.len();
        let mut frames = 0;
        let mut kept_with_marker = 0;
        for (entry, &location) in self.columns.stacks[stack].iter().enumerate() {
            frames += Self::frames(&self.columns.locations, location);
            if frames < self.limits.stack_depth_max {
                kept_with_marker = entry + 1;
            }
            if frames > self.limits.stack_depth_max {
                return kept_with_marker;
            }
        }
        length
    }

    fn add_marker(&mut self) -> Result<LocationIndex, FinishError> {
        let name = self.add_string(TRUNCATED)?;
        let columns = &mut *self.columns;
        self.budget.room(&mut columns.functions, 1)?;
        self.budget.room(&mut columns.lines, 1)?;
        self.budget.room(&mut columns.locations, 1)?;
        let function = FunctionIndex(narrow(columns.functions.len()));
        columns.functions.push(Function { name, ..Function::default() });
        let lines_start = narrow(columns.lines.len());
        columns.lines.push(Line { function, line: 0, column: 0 });
        let location = LocationIndex(narrow(columns.locations.len()));
        columns.locations.push(Location {
            mapping: MappingIndex::NONE,
            address: 0,
            lines_start,
            lines_length: 1,
            is_folded: false,
        });
        Ok(location)
    }

    /// Refuses profiles whose stacks expand to far more frames than their size accounts for (R1).
    fn bound_frames(&self, lines_max: usize) -> Result<(), FinishError> {
        if lines_max <= FRAMES_PER_BYTE_MAX {
            return Ok(());
        }
        let columns = &*self.columns;
        work::count(columns.stacks.len());
        let frames: u64 = columns
            .stacks
            .iter()
            .map(|&location| u64::from(columns.locations[location.position()].lines_length.max(1)))
            .sum();
        let limit = (self.text.len() as u64).saturating_mul(FRAMES_PER_BYTE_MAX as u64);
        if frames > limit {
            let reason =
                format!("stacks expand to {frames} frames (at most {limit} for a body of this size)");
            return Err(FinishError::Wrong(DecodeError::too_large("location.line", reason)));
        }
        Ok(())
    }

    /// Old .NET profilers wrote `inuse-space` where everybody has `inuse_space`.
    fn rename_dashed_columns(&mut self) -> Result<(), FinishError> {
        for column in 0..self.columns.sample_types.len() {
            let kind = self.bytes(self.columns.sample_types[column].kind);
            if !kind.contains(&b'-') {
                continue;
            }
            let name = String::from_utf8_lossy(kind).replace('-', "_");
            work::count(name.len());
            self.columns.sample_types[column].kind = self.add_string(&name)?;
        }
        Ok(())
    }

    /// Gives the later of two value columns with one name and unit a name of its own (C016).
    fn rename_twin_columns(&mut self) -> Result<(), FinishError> {
        let count = self.columns.sample_types.len();
        if count < 2 {
            return Ok(());
        }
        let mut seen: HashSet<(Vec<u8>, Vec<u8>), FixedState> = HashSet::with_hasher(FixedState::default());
        for column in 0..count {
            let value_type = self.columns.sample_types[column];
            let unit = self.bytes(value_type.unit).to_vec();
            let kind = self.bytes(value_type.kind).to_vec();
            if seen.insert((kind.clone(), unit.clone())) {
                continue;
            }
            let mut suffix = 2_u64;
            let name = loop {
                let name = format!("{}_{suffix}", String::from_utf8_lossy(&kind));
                work::count(name.len());
                if seen.insert((name.clone().into_bytes(), unit.clone())) {
                    break name;
                }
                suffix += 1;
            };
            self.columns.sample_types[column].kind = self.add_string(&name)?;
            self.altered.add(AlteredReason::DuplicateSampleType, 1);
        }
        Ok(())
    }

    /// Turns the labels `span_id` and `trace_id` (lower-case hexadecimal) into links; the rest stay labels.
    fn lift_links(&mut self) -> Result<(), FinishError> {
        work::count(self.columns.strings.len());
        let is_named = |name: &'static [u8]| {
            let columns = &*self.columns;
            let this = &*self;
            let matches = move |index: &usize| {
                columns.strings[*index].length as usize == name.len()
                    && this.bytes(StringIndex(narrow(*index))) == name
            };
            (0..columns.strings.len())
                .filter(matches)
                .map(|index| StringIndex(narrow(index)))
                .collect::<Vec<_>>()
        };
        let span_keys = is_named(b"span_id");
        let trace_keys = is_named(b"trace_id");
        if span_keys.is_empty() && trace_keys.is_empty() {
            return Ok(());
        }
        let samples = self.columns.stack_ends.len();
        let (mut read_start, mut write_end) = (0, 0);
        let mut any = false;
        for sample in 0..samples {
            let read_end = self.columns.label_ends[sample] as usize;
            work::count(read_end - read_start);
            let mut link = Link::default();
            for entry in read_start..read_end {
                let label = self.columns.labels[entry];
                if !self.lift_label(label, &span_keys, &trace_keys, &mut link) {
                    self.columns.labels[write_end] = label;
                    write_end += 1;
                }
            }
            if link != Link::default() && !any {
                any = true;
                self.budget.room(&mut self.columns.links, samples)?;
                self.columns.links.resize(samples, Link::default());
            }
            if any {
                self.columns.links[sample] = link;
            }
            self.columns.label_ends[sample] = narrow(write_end);
            read_start = read_end;
        }
        self.columns.labels.truncate(write_end);
        if self.columns.labels.is_empty() {
            self.columns.label_ends.clear();
        }
        Ok(())
    }

    /// Whether the label became part of the link: the first span and the first trace of a sample do.
    fn lift_label(
        &self,
        label: SampleLabel,
        spans: &[StringIndex],
        traces: &[StringIndex],
        link: &mut Link,
    ) -> bool {
        let LabelValue::Text(value) = label.value else { return false };
        let is_span = spans.contains(&label.key) && link.span_id == [0; 8];
        let is_trace = !is_span && traces.contains(&label.key) && link.trace_id == [0; 16];
        if is_span {
            if let Some(id) = hexadecimal::<8>(self.bytes(value)) {
                link.span_id = id;
                return id != [0; 8];
            }
        } else if is_trace && let Some(id) = hexadecimal::<16>(self.bytes(value)) {
            link.trace_id = id;
            return id != [0; 16];
        }
        false
    }

    /// Counts stacks that Go's runtime cut at its own limit: that many frames or locations (whether the limit counts inlined
    /// frames depends on Go's version), with a root that no other stack has (C027).
    fn mark_cut_by_go(&mut self, frames_max: usize) {
        if frames_max < GO_DEPTHS[0] {
            return;
        }
        let columns = &*self.columns;
        work::count(columns.stack_ends.len());
        let root_of = |location: LocationIndex| {
            let location = columns.locations[location.position()];
            columns.location_lines(&location).last().map(|line| line.function.position())
        };
        let mut is_root = vec![false; columns.functions.len()];
        let mut suspects = Vec::new();
        let mut last = None;
        let mut start = 0;
        for &end in &columns.stack_ends {
            let stack = &columns.stacks[start as usize..end as usize];
            start = end;
            let Some(&location) = stack.last() else { continue };
            if Some(location) == last {
                // most stacks have the root of the one before
                continue;
            }
            let root = root_of(location);
            if root.is_some_and(|function| is_root[function]) {
                last = Some(location);
                continue;
            }
            work::count(stack.len());
            let frames: usize = stack.iter().map(|&entry| Self::frames(&columns.locations, entry)).sum();
            // the location that the limit falls into is written with all of its frames
            let below = frames - Self::frames(&columns.locations, location);
            if GO_DEPTHS.iter().any(|&depth| (below < depth && depth <= frames) || depth == stack.len()) {
                suspects.push(location);
            } else if let Some(function) = root {
                is_root[function] = true;
                last = Some(location);
            }
        }
        if suspects.is_empty() || !self.is_go() {
            return;
        }
        let is_cut = |&location: &LocationIndex| root_of(location).is_none_or(|function| !is_root[function]);
        let cut = suspects.into_iter().filter(is_cut).count();
        self.altered.add(AlteredReason::CutByProfiler, cut as u64);
    }

    /// Whether some function is of Go's runtime.
    fn is_go(&self) -> bool {
        self.columns.functions.iter().any(|function| self.bytes(function.name).starts_with(b"runtime."))
    }
}

fn hexadecimal<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

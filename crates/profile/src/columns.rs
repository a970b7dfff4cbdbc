//! The columns of one decoded profile.
//!
//! Indices are positions in this profile's own tables; a decoder has resolved the ids of the wire format before it
//! returns, so an index of a finished [`Columns`] is always in range. Index 0 of the string table is the empty string.

/// Defines a `u32` index newtype.
macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The position as a `usize`, for indexing a table.
            #[inline]
            #[must_use]
            pub const fn position(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index!(
    /// Position in [`Columns::strings`]; 0 is the empty string and means "none".
    StringIndex
);
index!(
    /// Position in [`Columns::mappings`].
    MappingIndex
);
index!(
    /// Position in [`Columns::functions`].
    FunctionIndex
);
index!(
    /// Position in [`Columns::locations`].
    LocationIndex
);

impl StringIndex {
    /// The empty string.
    pub const EMPTY: Self = Self(0);
}

impl MappingIndex {
    /// Stands for "no mapping" in [`Location::mapping`].
    pub const NONE: Self = Self(u32::MAX);
}

/// A string: `length` bytes of the profile's text from `start`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StringRange {
    /// First byte in the text.
    pub start: u32,
    /// Length in bytes.
    pub length: u32,
}

/// What one value column measures: `cpu` in `nanoseconds`, `inuse_space` in `bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueType {
    /// What is measured (pprof `ValueType.type`).
    pub kind: StringIndex,
    /// The unit of the numbers.
    pub unit: StringIndex,
}

/// What pprof says of the symbols of a mapping; one bit each (pprof `Mapping` fields 7–10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MappingFlags(pub u8);

impl MappingFlags {
    /// Function names are present.
    pub const FUNCTIONS: u8 = 1;
    /// File names are present.
    pub const FILENAMES: u8 = 2;
    /// Line numbers are present.
    pub const LINE_NUMBERS: u8 = 4;
    /// Inlined frames are present.
    pub const INLINE_FRAMES: u8 = 8;
    /// All of them.
    pub const ALL: Self = Self(15);
}

/// A file mapped into the profiled process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address after the mapping.
    pub limit: u64,
    /// Offset of `start` in the file, bytes.
    pub offset: u64,
    /// Path or name of the file.
    pub file: StringIndex,
    /// Build id as sent; opaque, never a path (C017).
    pub build_id: StringIndex,
    /// Which symbols are present.
    pub flags: MappingFlags,
}

/// A function as the profiler named it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Name for people; may be empty.
    pub name: StringIndex,
    /// Name as the linker knows it; may be empty.
    pub system_name: StringIndex,
    /// Source file; may be empty.
    pub file: StringIndex,
    /// First line of the function, 0 = unknown.
    pub start_line: i64,
}

/// One source position of a location; several when functions were inlined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The function.
    pub function: FunctionIndex,
    /// Line of the sample in that function's file, 0 = unknown.
    pub line: i64,
    /// Column, 0 = unknown.
    pub column: i64,
}

/// One code address and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The mapping, or [`MappingIndex::NONE`].
    pub mapping: MappingIndex,
    /// Address in the process; 0 = unknown.
    pub address: u64,
    /// First entry in [`Columns::lines`].
    pub lines_start: u32,
    /// Number of lines, innermost (inlined) first, the real function last.
    pub lines_length: u32,
    /// Several symbols share the address (pprof `is_folded`).
    pub is_folded: bool,
}

/// The value of a sample label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LabelValue {
    /// A text.
    Text(StringIndex),
    /// A number with a unit; the unit may be empty and is then not invented (C019).
    Number {
        /// The number.
        value: i64,
        /// Its unit, or the empty string.
        unit: StringIndex,
    },
}

/// A label of one sample. One key may have several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SampleLabel {
    /// The key.
    pub key: StringIndex,
    /// The value.
    pub value: LabelValue,
}

/// The trace position that a sample was taken in. All zero = none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Link {
    /// W3C trace id, or zero.
    pub trace_id: [u8; 16],
    /// W3C span id, or zero.
    pub span_id: [u8; 8],
}

/// What is said once per profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Start of the profile, ns since the epoch; 0 = not said.
    pub time_nanos: i64,
    /// Length of the profile, ns; 0 = not said.
    pub duration_nanos: i64,
    /// What a period counts; `None` where the field is absent.
    pub period_type: Option<ValueType>,
    /// Events between two samples.
    pub period: i64,
    /// Free text of the producer.
    pub comments: Vec<StringIndex>,
    /// Name of the sample type to show first (a *string*, C014); empty = not said.
    pub default_sample_type: StringIndex,
    /// Regular expression of frames to drop; empty = none.
    pub drop_frames: StringIndex,
    /// Exceptions to `drop_frames`; empty = none.
    pub keep_frames: StringIndex,
    /// Link to a description; empty = none.
    pub doc_url: StringIndex,
}

/// All tables of one profile, reusable for the next ([`Columns::clear`] keeps the memory).
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// String table over the profile's text; entry 0 is empty.
    pub strings: Vec<StringRange>,
    /// Mapped files.
    pub mappings: Vec<Mapping>,
    /// Functions.
    pub functions: Vec<Function>,
    /// Lines of all locations.
    pub lines: Vec<Line>,
    /// Locations.
    pub locations: Vec<Location>,
    /// Value columns.
    pub sample_types: Vec<ValueType>,
    /// Stacks of all samples, each leaf first, one after the other.
    pub stacks: Vec<LocationIndex>,
    /// End of each sample's stack in `stacks`; its length is the number of samples.
    pub stack_ends: Vec<u32>,
    /// Values, sample by sample: `sample_types.len()` numbers each.
    pub values: Vec<i64>,
    /// Labels of all samples.
    pub labels: Vec<SampleLabel>,
    /// End of each sample's labels in `labels`. Empty when no sample has a label.
    pub label_ends: Vec<u32>,
    /// Span and trace of each sample. Empty when no sample has one.
    pub links: Vec<Link>,
    /// Times of the events of all samples, ns since the epoch.
    pub timestamps: Vec<u64>,
    /// End of each sample's times in `timestamps`. Empty when no sample has times.
    pub timestamp_ends: Vec<u32>,
    /// What is said once.
    pub header: Header,
}

impl Columns {
    /// Empties every table and keeps its memory; string 0 is there again.
    pub fn clear(&mut self) {
        self.strings.clear();
        self.strings.push(StringRange::default());
        self.mappings.clear();
        self.functions.clear();
        self.lines.clear();
        self.locations.clear();
        self.sample_types.clear();
        self.stacks.clear();
        self.stack_ends.clear();
        self.values.clear();
        self.labels.clear();
        self.label_ends.clear();
        self.links.clear();
        self.timestamps.clear();
        self.timestamp_ends.clear();
        self.header = Header::default();
    }

    /// Bytes that the tables hold, used or not.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        fn bytes<T>(table: &Vec<T>) -> usize {
            table.capacity() * size_of::<T>()
        }
        bytes(&self.strings)
            + bytes(&self.mappings)
            + bytes(&self.functions)
            + bytes(&self.lines)
            + bytes(&self.locations)
            + bytes(&self.sample_types)
            + bytes(&self.stacks)
            + bytes(&self.stack_ends)
            + bytes(&self.values)
            + bytes(&self.labels)
            + bytes(&self.label_ends)
            + bytes(&self.links)
            + bytes(&self.timestamps)
            + bytes(&self.timestamp_ends)
    }

    /// Number of samples.
    #[must_use]
    pub fn sample_count(&self) -> usize {
        self.stack_ends.len()
    }

    /// The lines of a location, innermost first.
    #[inline]
    #[must_use]
    pub fn location_lines(&self, location: &Location) -> &[Line] {
        &self.lines[location.lines_start as usize..][..location.lines_length as usize]
    }
}

/// A decoded profile: columns and the text that their strings are ranges of.
#[derive(Clone, Copy, Debug)]
pub struct Profile<'a> {
    /// The bytes that [`StringRange`]s point into: the inflated body, or what the decoder collected.
    pub text: &'a [u8],
    /// The tables.
    pub columns: &'a Columns,
}

/// One sample of a [`Profile`].
#[derive(Clone, Copy, Debug)]
pub struct SampleView<'a> {
    /// Locations, leaf first.
    pub stack: &'a [LocationIndex],
    /// One value per column.
    pub values: &'a [i64],
    /// Labels, in the order in which they were sent.
    pub labels: &'a [SampleLabel],
    /// Span and trace.
    pub link: Link,
    /// Times of its events, ns since the epoch.
    pub timestamps: &'a [u64],
}

impl<'a> Profile<'a> {
    /// The bytes of a string. Names are kept as sent, so they may be no valid UTF-8 (C011).
    #[inline]
    #[must_use]
    pub fn string(&self, index: StringIndex) -> &'a [u8] {
        let range = self.columns.strings[index.position()];
        &self.text[range.start as usize..][..range.length as usize]
    }

    /// The string for display: invalid UTF-8 is replaced.
    #[must_use]
    pub fn text_of(&self, index: StringIndex) -> std::borrow::Cow<'a, str> {
        String::from_utf8_lossy(self.string(index))
    }

    /// The sample at `position`.
    #[must_use]
    pub fn sample(&self, position: usize) -> SampleView<'a> {
        let columns = self.columns;
        let width = columns.sample_types.len();
        SampleView {
            stack: span(&columns.stacks, &columns.stack_ends, position),
            values: &columns.values[position * width..][..width],
            labels: span(&columns.labels, &columns.label_ends, position),
            link: columns.links.get(position).copied().unwrap_or_default(),
            timestamps: span(&columns.timestamps, &columns.timestamp_ends, position),
        }
    }

    /// All samples in order.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = SampleView<'a>> + '_ {
        (0..self.columns.sample_count()).map(|position| self.sample(position))
    }
}

/// The part of `values` that belongs to `position`; empty where there are no ends.
fn span<'a, T>(values: &'a [T], ends: &[u32], position: usize) -> &'a [T] {
    let Some(&end) = ends.get(position) else { return &[] };
    let start = if position == 0 { 0 } else { ends[position - 1] };
    &values[start as usize..end as usize]
}

/// Why a part of a profile was changed or left out although the profile was accepted (D14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AlteredReason {
    /// A sample had another number of values than there are sample types (C008).
    ValueCountMismatch,
    /// A negative value in a profile that is no difference (C009).
    NegativeValue,
    /// All values of a sample were zero.
    ZeroValue,
    /// A sample with values and no locations; kept under the frame `(no stack)` (C006).
    NoStack,
    /// A stack was deeper than the limit and lost frames at its root (C026).
    StackTooDeep,
    /// A string was longer than the limit and lost its head.
    StringTooLong,
    /// A string is no valid UTF-8; its bytes are kept (C011).
    InvalidUtf8,
    /// The body named no time, so the time of receipt or of the client was taken (C010).
    NoTime,
    /// Two value columns had the same name and unit; the later one was renamed (C016).
    DuplicateSampleType,
    /// A line of a text format could not be read (C057).
    BadLine,
    /// A compatible path fell back to a default for a parameter it could not read (C032).
    ParameterDefaulted,
    /// No `service_name` was sent, so it was taken from another label or set to `unknown_service` (C083).
    ServiceNameDefaulted,
    /// Two labels of one name met; the rule of the API chose one (D6).
    LabelConflict,
    /// The stack was cut by the profiler itself (C027).
    CutByProfiler,
    /// A frame was still open behind the last event and was closed there (C056).
    NotClosed,
}

impl AlteredReason {
    /// The word used in metrics and in the `Everflame-Altered` header.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ValueCountMismatch => "value_count_mismatch",
            Self::NegativeValue => "negative_value",
            Self::ZeroValue => "zero_value",
            Self::NoStack => "no_stack",
            Self::StackTooDeep => "stack_too_deep",
            Self::StringTooLong => "string_too_long",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::NoTime => "no_time",
            Self::DuplicateSampleType => "duplicate_sample_type",
            Self::BadLine => "bad_line",
            Self::ParameterDefaulted => "parameter_defaulted",
            Self::ServiceNameDefaulted => "service_name_defaulted",
            Self::LabelConflict => "label_conflict",
            Self::CutByProfiler => "cut_by_profiler",
            Self::NotClosed => "not_closed",
        }
    }
}

/// How often each reason applied to one profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Altered {
    counts: Vec<(AlteredReason, u64)>,
}

impl Altered {
    /// Adds `count` to a reason; 0 changes nothing.
    pub fn add(&mut self, reason: AlteredReason, count: u64) {
        if count == 0 {
            return;
        }
        match self.counts.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, total)) => *total += count,
            None => self.counts.push((reason, count)),
        }
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for &(reason, count) in &other.counts {
            self.add(reason, count);
        }
    }

    /// The count of one reason.
    #[must_use]
    pub fn count(&self, reason: AlteredReason) -> u64 {
        self.counts.iter().find(|(known, _)| *known == reason).map_or(0, |(_, count)| *count)
    }

    /// All reasons with their counts, sorted by word.
    #[must_use]
    pub fn sorted(&self) -> Vec<(AlteredReason, u64)> {
        let mut counts = self.counts.clone();
        counts.sort_by_key(|(reason, _)| reason.word());
        counts
    }

    /// Nothing was altered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

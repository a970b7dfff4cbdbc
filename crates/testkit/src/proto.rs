//! `profile.proto` by way of `prost`: slow, obvious, and not ours, so that it can judge our decoder and build bodies for
//! tests field by field.

pub use prost::Message;

/// pprof `ValueType`.
#[derive(Clone, PartialEq, Message)]
pub struct ValueType {
    /// String index.
    #[prost(int64, tag = "1")]
    pub r#type: i64,
    /// String index.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// pprof `Label`.
#[derive(Clone, PartialEq, Message)]
pub struct Label {
    /// String index.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// String index.
    #[prost(int64, tag = "2")]
    pub str: i64,
    /// Number.
    #[prost(int64, tag = "3")]
    pub num: i64,
    /// String index.
    #[prost(int64, tag = "4")]
    pub num_unit: i64,
}

/// pprof `Sample`.
#[derive(Clone, PartialEq, Message)]
pub struct Sample {
    /// Leaf first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// One per sample type.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    /// Labels.
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// pprof `Mapping`.
#[derive(Clone, PartialEq, Message)]
pub struct Mapping {
    /// Key.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Address.
    #[prost(uint64, tag = "2")]
    pub memory_start: u64,
    /// Address.
    #[prost(uint64, tag = "3")]
    pub memory_limit: u64,
    /// Bytes.
    #[prost(uint64, tag = "4")]
    pub file_offset: u64,
    /// String index.
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// String index.
    #[prost(int64, tag = "6")]
    pub build_id: i64,
    /// Flag.
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    /// Flag.
    #[prost(bool, tag = "8")]
    pub has_filenames: bool,
    /// Flag.
    #[prost(bool, tag = "9")]
    pub has_line_numbers: bool,
    /// Flag.
    #[prost(bool, tag = "10")]
    pub has_inline_frames: bool,
}

/// pprof `Line`.
#[derive(Clone, PartialEq, Message)]
pub struct Line {
    /// Key of a function.
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    /// Line.
    #[prost(int64, tag = "2")]
    pub line: i64,
    /// Column.
    #[prost(int64, tag = "3")]
    pub column: i64,
}

/// pprof `Location`.
#[derive(Clone, PartialEq, Message)]
pub struct Location {
    /// Key.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Key of a mapping, 0 = none.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// Address.
    #[prost(uint64, tag = "3")]
    pub address: u64,
    /// Innermost first.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
    /// Flag.
    #[prost(bool, tag = "5")]
    pub is_folded: bool,
}

/// pprof `Function`.
#[derive(Clone, PartialEq, Message)]
pub struct Function {
    /// Key.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// String index.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// String index.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// String index.
    #[prost(int64, tag = "4")]
    pub filename: i64,
    /// Line.
    #[prost(int64, tag = "5")]
    pub start_line: i64,
}

/// pprof `Profile`. Strings are bytes, because bodies with invalid UTF-8 are tested as well.
#[derive(Clone, PartialEq, Message)]
pub struct Profile {
    /// Value columns.
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    /// Samples.
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    /// Mappings.
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    /// Locations.
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    /// Functions.
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// Strings.
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub string_table: Vec<Vec<u8>>,
    /// String index.
    #[prost(int64, tag = "7")]
    pub drop_frames: i64,
    /// String index.
    #[prost(int64, tag = "8")]
    pub keep_frames: i64,
    /// Start.
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    /// Length.
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    /// What a period counts.
    #[prost(message, optional, tag = "11")]
    pub period_type: Option<ValueType>,
    /// Period.
    #[prost(int64, tag = "12")]
    pub period: i64,
    /// String indices.
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
    /// String index.
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
    /// String index.
    #[prost(int64, tag = "15")]
    pub doc_url: i64,
}

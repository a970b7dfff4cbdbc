//! A decoded profile with every index followed: what two profiles must agree on to be equal, and what a test can print.

use profile::{Header, LabelValue, Location, MappingIndex, Profile, StringIndex, ValueType};

/// A name and a unit.
pub type PlainType = (String, String);

/// A frame: name, system name, file, start line, line, column.
pub type PlainFrame = (String, String, String, i64, i64, i64);

/// A mapping: start, limit, offset, file, build id, flags.
pub type PlainMapping = (u64, u64, u64, String, String, u8);

/// A location: mapping, address, frames (innermost first), folded.
pub type PlainLocation = (Option<PlainMapping>, u64, Vec<PlainFrame>, bool);

/// A label: key, text or number with unit.
pub type PlainLabel = (String, Result<String, (i64, String)>);

/// One sample with everything it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainSample {
    /// Locations, leaf first.
    pub stack: Vec<PlainLocation>,
    /// One per column.
    pub values: Vec<i64>,
    /// Labels in order.
    pub labels: Vec<PlainLabel>,
    /// Trace and span.
    pub link: ([u8; 16], [u8; 8]),
}

/// A profile with everything it refers to; invalid UTF-8 is shown escaped, so that it is compared as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// Value columns.
    pub sample_types: Vec<PlainType>,
    /// Samples in order.
    pub samples: Vec<PlainSample>,
    /// All locations, used or not.
    pub locations: Vec<PlainLocation>,
    /// All mappings, used or not.
    pub mappings: Vec<PlainMapping>,
    /// Time, duration, period.
    pub numbers: [i64; 3],
    /// Period type.
    pub period_type: Option<PlainType>,
    /// Comments.
    pub comments: Vec<String>,
    /// Default sample type, drop frames, keep frames, link.
    pub texts: [String; 4],
}

impl Plain {
    /// Follows all indices of a profile.
    #[must_use]
    pub fn of(profile: &Profile<'_>) -> Self {
        let columns = profile.columns;
        let Header { time_nanos, duration_nanos, period, .. } = columns.header;
        let header = &columns.header;
        Self {
            sample_types: columns
                .sample_types
                .iter()
                .map(|&value_type| plain_type(profile, value_type))
                .collect(),
            samples: profile
                .samples()
                .map(|sample| PlainSample {
                    stack: sample
                        .stack
                        .iter()
                        .map(|location| plain_location(profile, &columns.locations[location.position()]))
                        .collect(),
                    values: sample.values.to_vec(),
                    labels: sample
                        .labels
                        .iter()
                        .map(|label| {
                            let value = match label.value {
                                // pprof cannot tell an empty text from the number 0
                                LabelValue::Text(text) if profile.string(text).is_empty() => {
                                    Err((0, String::new()))
                                }
                                LabelValue::Text(text) => Ok(string(profile, text)),
                                LabelValue::Number { value, unit } => Err((value, string(profile, unit))),
                            };
                            (string(profile, label.key), value)
                        })
                        .collect(),
                    link: (sample.link.trace_id, sample.link.span_id),
                })
                .collect(),
            locations: columns.locations.iter().map(|location| plain_location(profile, location)).collect(),
            mappings: (0..columns.mappings.len()).map(|position| plain_mapping(profile, position)).collect(),
            numbers: [time_nanos, duration_nanos, period],
            period_type: header.period_type.map(|value_type| plain_type(profile, value_type)),
            comments: header.comments.iter().map(|&comment| string(profile, comment)).collect(),
            texts: [header.default_sample_type, header.drop_frames, header.keep_frames, header.doc_url]
                .map(|index| string(profile, index)),
        }
    }
}

fn string(profile: &Profile<'_>, index: StringIndex) -> String {
    let bytes = profile.string(index);
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}

fn plain_type(profile: &Profile<'_>, value_type: ValueType) -> PlainType {
    (string(profile, value_type.kind), string(profile, value_type.unit))
}

fn plain_mapping(profile: &Profile<'_>, position: usize) -> PlainMapping {
    let mapping = &profile.columns.mappings[position];
    let names = (string(profile, mapping.file), string(profile, mapping.build_id));
    (mapping.start, mapping.limit, mapping.offset, names.0, names.1, mapping.flags.0)
}

fn plain_location(profile: &Profile<'_>, location: &Location) -> PlainLocation {
    let mapping =
        (location.mapping != MappingIndex::NONE).then(|| plain_mapping(profile, location.mapping.position()));
    let frames = profile
        .columns
        .location_lines(location)
        .iter()
        .map(|line| {
            let function = &profile.columns.functions[line.function.position()];
            (
                string(profile, function.name),
                string(profile, function.system_name),
                string(profile, function.file),
                function.start_line,
                line.line,
                line.column,
            )
        })
        .collect();
    (mapping, location.address, frames, location.is_folded)
}

//! The JSON document that Pyroscope's older HTTP calls and ad hoc profiles carry a flame graph in.
//!
//! `{version, flamebearer: {names, levels, numTicks, maxSelf}, metadata, timeline, groups, heatmap}`, and for two sides
//! `leftTicks` and `rightTicks`. Unlike protojson, numbers are numbers and fields without a value are `null`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::flamebearer::{DoubleFlamebearer, Flamebearer};
use crate::ApiError;

const SECOND: i64 = 1_000_000_000;

/// Samples per second where the values are no time, as clients expect it to be said.
const SAMPLE_RATE: i64 = 100;

/// The whole document.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FlameDocument {
    version: u32,
    flamebearer: DocumentFlames,
    metadata: DocumentMetadata,
    timeline: Option<DocumentTimeline>,
    /// By value of the label that was grouped by.
    groups: Option<BTreeMap<String, DocumentTimeline>>,
    heatmap: Option<()>,
    #[serde(skip_serializing_if = "is_zero")]
    left_ticks: i64,
    #[serde(skip_serializing_if = "is_zero")]
    right_ticks: i64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentFlames {
    names: Vec<String>,
    levels: Vec<Vec<i64>>,
    num_ticks: i64,
    max_self: i64,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentMetadata {
    format: &'static str,
    spy_name: &'static str,
    sample_rate: i64,
    units: String,
    name: String,
}

/// Values along time, a number for each step.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DocumentTimeline {
    /// Seconds since the epoch.
    pub(super) start_time: i64,
    pub(super) samples: Vec<u64>,
    /// Width of a step, seconds.
    pub(super) duration_delta: i64,
    pub(super) watermarks: Option<()>,
}

impl FlameDocument {
    /// One flame graph, without a timeline. `name` is the sample type.
    pub(super) fn single(flame: Flamebearer, name: String, unit: String) -> Self {
        Self {
            version: 1,
            flamebearer: DocumentFlames {
                names: flame.names,
                levels: flame.levels,
                num_ticks: flame.total,
                max_self: flame.max_self,
            },
            metadata: metadata(name, unit),
            timeline: None,
            groups: None,
            heatmap: None,
            left_ticks: 0,
            right_ticks: 0,
        }
    }

    /// Two sides laid over each other, with seven numbers for each node.
    pub(super) fn double(flame: DoubleFlamebearer, name: String, unit: String) -> Self {
        let DoubleFlamebearer { names, levels, total, max_self, left_ticks, right_ticks } = flame;
        let single = Self::single(Flamebearer { names, levels, total, max_self }, name, unit);
        let metadata = DocumentMetadata { format: "double", ..single.metadata };
        Self { metadata, left_ticks, right_ticks, ..single }
    }

    /// As text.
    pub(super) fn to_json(&self) -> Result<String, ApiError> {
        serde_json::to_string(self).map_err(|error| ApiError::internal(error.to_string()))
    }

    /// The document with values along time, of all series together and by group.
    pub(super) fn with_timeline(
        self,
        timeline: DocumentTimeline,
        groups: Option<BTreeMap<String, DocumentTimeline>>,
    ) -> Self {
        Self { timeline: Some(timeline), groups, ..self }
    }
}

fn metadata(name: String, unit: String) -> DocumentMetadata {
    let units = match name.as_str() {
        "inuse_objects" | "alloc_objects" | "goroutine" | "samples" => "objects".into(),
        "cpu" => "samples".into(),
        _ => unit,
    };
    let sample_rate = if name == "cpu" { SECOND } else { SAMPLE_RATE };
    DocumentMetadata { format: "single", spy_name: "", sample_rate, units, name }
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_words_that_clients_know() {
        let metadata = |name: &str, unit: &str| metadata(name.into(), unit.into());
        assert_eq!(metadata("cpu", "nanoseconds").units, "samples");
        assert_eq!(metadata("inuse_objects", "count").units, "objects");
        assert_eq!(metadata("inuse_space", "bytes").units, "bytes");
        assert_eq!(metadata("cpu", "nanoseconds").sample_rate, SECOND);
        assert_eq!(metadata("wall", "nanoseconds").sample_rate, SAMPLE_RATE);
    }

    #[test]
    fn fields_without_a_value_are_null_and_ticks_of_sides_are_left_out() {
        let flame =
            Flamebearer { names: vec!["total".into()], levels: vec![vec![0; 4]], total: 0, max_self: 0 };
        let json = serde_json::to_value(FlameDocument::single(flame, "cpu".into(), "nanoseconds".into()));
        let wanted = serde_json::json!({
            "version": 1,
            "flamebearer": { "names": ["total"], "levels": [[0, 0, 0, 0]], "numTicks": 0, "maxSelf": 0 },
            "metadata": { "format": "single", "spyName": "", "sampleRate": 1_000_000_000, "units": "samples", "name": "cpu" },
            "timeline": null, "groups": null, "heatmap": null,
        });
        assert_eq!(json.unwrap(), wanted);
    }
}

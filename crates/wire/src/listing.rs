//! Answers that list: services, labels, series, profiles.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Stats;

/// Answer to `GET /api/v1/services`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServicesReply {
    /// Services, sorted by name.
    pub services: Vec<ServiceItem>,
    /// What it took.
    pub stats: Stats,
}

/// A service that has profiles in the range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceItem {
    /// Value of `service_name`.
    pub name: String,
    /// Its profile types, sorted.
    pub types: Vec<String>,
    /// Profiles in the range.
    pub profiles: u64,
    /// Start of the latest (RFC 3339).
    pub last: String,
}

/// Answer to `GET /api/v1/labels`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelNamesReply {
    /// Names of series labels and sample labels, sorted.
    pub names: Vec<String>,
    /// What it took.
    pub stats: Stats,
}

/// Answer to `GET /api/v1/labels/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelValuesReply {
    /// The label.
    pub name: String,
    /// Its values, sorted.
    pub values: Vec<String>,
    /// What it took.
    pub stats: Stats,
}

/// Answer to `GET /api/v1/cardinality`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardinalityReply {
    /// Distinct series of the selection.
    pub series: u64,
    /// Labels, the one with most values first; at most 1,000.
    pub labels: Vec<LabelCardinality>,
    /// What it took.
    pub stats: Stats,
}

/// What one label spreads a selection out into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelCardinality {
    /// The label.
    pub name: String,
    /// Distinct values.
    pub values: u64,
    /// Series that have it; 0 for a label of samples only.
    pub series: u64,
    /// Series that would be left if nothing had it.
    pub series_without: u64,
    /// Distinct values that stand in samples, which make no series.
    pub sample_values: u64,
    /// The values that most series have, then those of samples.
    pub top: Vec<ValueCount>,
    /// The services that have most of its values, with the number of these; empty for `service_name`.
    #[serde(default)]
    pub services: Vec<ValueCount>,
}

/// A value of a label, and how much has it; or a service, and how many values it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueCount {
    /// The value or service.
    pub value: String,
    /// Series, or for a value of samples only, distinct label sets of samples; of a service, values.
    pub count: u64,
}

/// Answer to `GET /api/v1/series`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesReply {
    /// Distinct label sets.
    pub series: Vec<SeriesItem>,
    /// What it took.
    pub stats: Stats,
}

/// One label set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesItem {
    /// Labels by name.
    pub labels: BTreeMap<String, String>,
}

/// Answer to `GET /api/v1/profiles`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfilesReply {
    /// Profiles, newest last.
    pub profiles: Vec<ProfileItem>,
    /// Uploads of the same services and range that are kept whole, such as Go execution traces.
    pub attachments: Vec<AttachmentItem>,
    /// Older profiles and uploads of the selection that are not listed, because there are more than `limit`.
    #[serde(default)]
    pub left_out: u64,
    /// What it took.
    pub stats: Stats,
}

/// Answer to `GET /api/v1/profiles/ID?format=json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileReply {
    /// The profile.
    pub profile: ProfileItem,
    /// What it took.
    pub stats: Stats,
}

/// A stored profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileItem {
    /// Its id, a UUID that sorts by time.
    pub id: String,
    /// Profile name.
    pub name: String,
    /// Profile types inside, in the order of the columns.
    pub types: Vec<String>,
    /// Labels of its series.
    pub labels: BTreeMap<String, String>,
    /// Start (RFC 3339).
    pub time: String,
    /// Length, ns; 0 = not known.
    pub duration_nanos: i64,
    /// Rows (distinct stack and labels).
    pub samples: u64,
    /// Sum of each column, in the order of `types`.
    pub totals: Vec<i64>,
}

/// An upload that is kept whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachmentItem {
    /// Its id; `GET /api/v1/profiles/ID` answers with the bytes.
    pub id: String,
    /// What it is: `trace`.
    pub kind: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// When it was taken (RFC 3339).
    pub time: String,
    /// Size, bytes.
    pub bytes: u64,
}

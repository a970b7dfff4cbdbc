//! What the numbers of a format without types mean: type, unit, and the scale from samples to time.

use std::fmt::Debug;

use formats::{Measure, Scale, SpeedscopeUnit};
use xxhash_rust::xxh3::xxh3_128;

use super::{Api, NameRule};
use crate::ApiError;

/// Formats whose bodies are stacks with one number each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackFormat {
    /// Folded stacks, `root;leaf 42`.
    Folded,
    /// One stack per line.
    Lines,
    /// Pyroscope's trie.
    Trie,
    /// Pyroscope's tree.
    Tree,
}

/// How an API takes a body that was given to it as pprof and is folded stacks or a speedscope file; `None` for other bodies,
/// and where nobody can send it otherwise.
pub(super) fn way_of(api: Api, body: &[u8]) -> Option<&'static str> {
    let is_json = formats::sniff_inside(body) == formats::SniffedFormat::Json;
    if !is_json && !formats::looks_folded(body) {
        return None;
    }
    match (api, is_json) {
        (Api::Native, false) => Some("folded stacks need format=folded"),
        (Api::Native, true) => Some("a speedscope file needs format=speedscope"),
        (Api::Profefe, false) => {
            Some("folded stacks are taken by POST /api/v1/push?service=NAME&format=folded")
        }
        (Api::Profefe, true) => {
            Some("a speedscope file is taken by POST /api/v1/push?service=NAME&format=speedscope")
        }
        (Api::Ingest, false) => {
            Some("folded stacks are taken as the whole body, with format=folded or without")
        }
        (Api::Ingest, true) => Some("a speedscope file is taken as the whole body, with format=speedscope"),
        (Api::Push, false) => Some("folded stacks are taken by POST /ingest?name=NAME"),
        (Api::Push, true) => Some("a speedscope file is taken by POST /ingest?name=NAME&format=speedscope"),
        (Api::Scrape, _) => None,
    }
}

/// Type and unit of a text profile's one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextType {
    sample_type: String,
    sample_unit: String,
    scale: Scale,
    duration_nanos: i64,
}

impl TextType {
    /// Numbers that are stored as they are, without a period type.
    #[must_use]
    pub fn plain(sample_type: &str, sample_unit: &str) -> Self {
        let (sample_type, sample_unit) = (sample_type.into(), sample_unit.into());
        Self { sample_type, sample_unit, scale: Scale::Plain, duration_nanos: 0 }
    }

    /// Numbers of samples, stored as time: each stands for `1 s / sample_rate`, which becomes the period
    /// (`cpu`/`nanoseconds`).
    #[must_use]
    pub fn sampled(sample_type: &str, sample_rate: u32) -> Self {
        let scale = Scale::Samples { per_second: sample_rate };
        Self { scale, ..Self::plain(sample_type, "nanoseconds") }
    }

    /// Numbers that are nanoseconds already, with the same period.
    #[must_use]
    pub fn timed(sample_type: &str, sample_rate: u32) -> Self {
        let scale = Scale::Nanoseconds { per_second: sample_rate };
        Self { scale, ..Self::plain(sample_type, "nanoseconds") }
    }

    /// The same over so many nanoseconds.
    #[must_use]
    pub fn lasting(self, duration_nanos: i64) -> Self {
        Self { duration_nanos, ..self }
    }

    /// The column's type.
    #[must_use]
    pub fn sample_type(&self) -> &str {
        &self.sample_type
    }

    /// The column's unit.
    #[must_use]
    pub fn sample_unit(&self) -> &str {
        &self.sample_unit
    }

    /// What makes a push of a body with this type what it is, without a copy of the body.
    pub(crate) fn identity(&self, body: &[u8]) -> Vec<u8> {
        let (kind, unit) = (self.sample_type.as_bytes(), self.sample_unit.as_bytes());
        [kind, &[0], unit, &[0], &xxh3_128(body).to_le_bytes()].concat()
    }

    /// For the decoder.
    pub(crate) fn measure(&self) -> Measure<'_> {
        Measure {
            sample_type: &self.sample_type,
            sample_unit: &self.sample_unit,
            scale: self.scale,
            duration_nanos: self.duration_nanos,
        }
    }
}

/// What a profile of a speedscope file is stored as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpeedscopeProfile {
    /// Labels beside those of the request.
    pub labels: Vec<(String, String)>,
    /// How its name is found.
    pub name: NameRule,
    /// Its values.
    pub typed: TextType,
}

/// Each API's rule for the profiles of a speedscope file, which say their units themselves.
pub trait SpeedscopeRule: Debug + Send + Sync {
    /// What a profile of that unit is. `is_alone`: the file has no other.
    ///
    /// # Errors
    /// Where the request says something that does not fit the unit.
    fn stored_as(&self, unit: SpeedscopeUnit, is_alone: bool) -> Result<SpeedscopeProfile, ApiError>;
}

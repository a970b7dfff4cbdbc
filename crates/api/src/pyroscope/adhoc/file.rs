//! An uploaded file in memory, with an engine over it.
//!
//! What it is, its first bytes say: pprof, folded stacks, a speedscope file, or a flame graph as `/pyroscope/render` exports
//! it; each as it is, gzip or zstd. The profiles of a speedscope file are added up, those of each unit for themselves. Memory is claimed from the same budget as that of pushes.

use std::sync::Arc;

use formats::{Decoder, Measure, SniffedFormat, SpeedscopeUnit, sniff};
use profile::{
    LabelSet, Profile, ProfileType, SERVICE_NAME, SeriesType, Temporality, Tenant, Timestamp, TypedColumn,
};
use query::{Engine, Selection, Selector, TypeSelector};
use store::{MemoryDataset, NewProfile};

use super::flame_json;
use crate::{ApiError, ApiState, Claim, ErrorKind, limits, memory::TableClaim};

/// Name of the profile in the types of the engine; clients see sample types alone.
const PROFILE_NAME: &str = "profile";

/// A decoded file.
pub(super) struct OpenFile {
    /// One per column of the file, in its order.
    pub(super) types: Vec<ProfileType>,
    /// Its `service_name`.
    side: &'static str,
    dataset: MemoryDataset,
    _inflated: Claim,
    tables: Arc<TableClaim>,
}

impl OpenFile {
    /// Decodes a file; `side` tells files of one engine apart.
    pub(super) fn read(state: &ApiState, body: &[u8], side: &'static str) -> Result<Self, ApiError> {
        // As inflated, and as the decoder may have to write it anew.
        let inflated = state.memory.claim(2 * limits::AD_HOC_INFLATED_BYTES_MAX)?;
        let tables = Arc::new(TableClaim::new(&state.tables)?);
        let decoder_limits = formats::Limits {
            inflated_bytes_max: limits::AD_HOC_INFLATED_BYTES_MAX,
            table_memory: Some(Arc::<TableClaim>::clone(&tables)),
            ..limits::decoder()
        };
        let mut decoder = Decoder::new();
        let plain = decoder.inflate(body, &decoder_limits)?.bytes.to_vec();
        let mut file =
            Self { types: Vec::new(), side, dataset: MemoryDataset::new(side), _inflated: inflated, tables };
        let counted = Measure::plain("samples", "count");
        match sniff(&plain) {
            SniffedFormat::Json if flame_json::is_flame_json(&plain) => {
                let pprof = flame_json::to_pprof(&plain)?;
                file.add(&decoder.pprof(&pprof, &decoder_limits)?.0)?;
            }
            SniffedFormat::Json => {
                let mut speedscope = decoder.speedscope(&plain, &decoder_limits)?;
                for index in 0..speedscope.len() {
                    let measure = match speedscope.unit(index) {
                        SpeedscopeUnit::None => counted,
                        SpeedscopeUnit::Time { .. } => Measure::plain("wall", "nanoseconds"),
                        SpeedscopeUnit::Bytes => Measure::plain("space", "bytes"),
                    };
                    file.add(&speedscope.decode(index, measure, &decoder_limits)?.0)?;
                }
            }
            SniffedFormat::Text => file.add(&decoder.folded(&plain, counted, &decoder_limits)?.0)?,
            _ => file.add(&decoder.pprof(&plain, &decoder_limits)?.0)?,
        }
        if file.types.is_empty() {
            return Err(ApiError::new(ErrorKind::Malformed, "profile", "the file has no sample types"));
        }
        Ok(file)
    }

    /// Adds a profile of the file.
    fn add(&mut self, profile: &Profile<'_>) -> Result<(), ApiError> {
        // Nodes, hashes and rows of a sample.
        const SAMPLE_BYTES: usize = 68;
        self.tables.add_work(profile.columns.sample_count().saturating_mul(SAMPLE_BYTES))?;
        let labels = LabelSet::from_pairs([(SERVICE_NAME, self.side)])
            .map_err(|error| ApiError::internal(error.to_string()))?;
        self.dataset.add(&NewProfile {
            tenant: &Tenant::anonymous(),
            labels,
            name: PROFILE_NAME,
            temporality: Temporality::Delta,
            profile: *profile,
            digest_bytes: profile.text,
            time: Timestamp(profile.columns.header.time_nanos),
            time_is_stated: true,
            id: None,
        })?;
        for found in types(profile) {
            if !self.types.contains(&found) {
                self.types.push(found);
            }
        }
        Ok(())
    }

    /// The column of a sample type; the first for the empty name.
    pub(super) fn position(&self, sample_type: &str) -> Result<usize, ApiError> {
        if sample_type.is_empty() {
            return Ok(0);
        }
        self.types.iter().position(|known| known.sample_type == sample_type).ok_or_else(|| {
            let known: Vec<&str> = self.types.iter().map(|known| known.sample_type.as_str()).collect();
            let asked: String = sample_type.chars().take(64).collect();
            ApiError::invalid(
                "profile_type",
                format!("{asked:?} is not in the file; it has {}", known.join(", ")),
            )
        })
    }

    /// An engine over files, each with a side of its own.
    pub(super) fn engine(files: &[&Self]) -> Engine {
        Engine::over(files.iter().map(|file| file.dataset.snapshot()).collect())
    }

    /// The file's values of one column.
    pub(super) fn selection(&self, position: usize) -> Selection {
        Selection {
            selector: Selector::default().with_equal(SERVICE_NAME, self.side),
            profile_type: TypeSelector::Exact(self.types[position].clone()),
            ..Selection::default()
        }
    }
}

fn types(profile: &Profile<'_>) -> Vec<ProfileType> {
    let columns = profile.columns;
    let text = |index| profile.text_of(index).into_owned();
    let period = columns.header.period_type.unwrap_or_default();
    let series = SeriesType {
        name: PROFILE_NAME.into(),
        period_type: text(period.kind),
        period_unit: text(period.unit),
        columns: columns
            .sample_types
            .iter()
            .map(|typed| TypedColumn { sample_type: text(typed.kind), sample_unit: text(typed.unit) })
            .collect(),
    };
    (0..series.columns.len()).filter_map(|column| series.profile_type(column)).collect()
}

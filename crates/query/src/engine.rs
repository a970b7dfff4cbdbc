//! The engine: what it reads from, and the steps that every query begins with.

use std::sync::Arc;

use block::Dataset;
use profile::{Tenant, TimeRange, Timestamp};

use crate::{
    AnswerStats, Control, QueryError, Selection,
    display_cache::DisplayCache,
    limits,
    plan::{Plan, Sums, plan},
    profile_types,
    progress::Progress,
    scan::{Part, scan, types_of},
};

/// Settings of an engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Memory for decoded symbols and display trees, bytes.
    pub cache_bytes: u64,
    /// Encoded bytes that one query may read.
    pub query_bytes_max: u64,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self { cache_bytes: limits::CACHE_BYTES_DEFAULT, query_bytes_max: limits::QUERY_BYTES_DEFAULT }
    }
}

/// Answers queries over a store, or over datasets handed in (files on the command line).
///
/// All calls do CPU work and file reads on the calling thread; the caller runs them on a pool and bounds their number.
pub struct Engine {
    source: Source,
    query_bytes_max: u64,
    pub(crate) trees: DisplayCache,
}

enum Source {
    Store(Arc<store::Store>),
    Fixed(Vec<Arc<dyn Dataset>>),
}

impl Engine {
    /// An engine over a store.
    #[must_use]
    pub fn new(store: Arc<store::Store>, options: EngineOptions) -> Self {
        Self {
            source: Source::Store(store),
            query_bytes_max: options.query_bytes_max,
            trees: DisplayCache::new(options.cache_bytes),
        }
    }

    /// An engine over fixed datasets, for files; tenants are ignored.
    #[must_use]
    pub fn over(datasets: Vec<Arc<dyn Dataset>>) -> Self {
        Self {
            source: Source::Fixed(datasets),
            query_bytes_max: u64::MAX,
            trees: DisplayCache::new(limits::CACHE_BYTES_DEFAULT),
        }
    }

    /// Bytes of display trees kept at the moment, for metrics.
    #[must_use]
    pub fn cached_bytes(&self) -> u64 {
        self.trees.bytes()
    }

    /// A query's budget.
    pub(crate) fn progress<'a>(&self, control: &'a Control) -> Progress<'a> {
        Progress::new(control, self.query_bytes_max)
    }

    /// What the tenants have at this instant. A block that cannot be read is an error of the query: an answer without
    /// it would look whole.
    pub(crate) fn datasets(
        &self,
        tenants: &[Tenant],
        range: TimeRange,
    ) -> Result<Vec<Arc<dyn Dataset>>, QueryError> {
        match &self.source {
            Source::Fixed(datasets) => Ok(datasets.clone()),
            Source::Store(store) => {
                let mut tenants: Vec<&Tenant> = tenants.iter().collect();
                tenants.sort_unstable();
                tenants.dedup();
                let mut datasets = Vec::new();
                for tenant in tenants {
                    let mut view = store.view(tenant, range);
                    if let Some(error) = view.unreadable.pop() {
                        return Err(error.into());
                    }
                    datasets.append(&mut view.datasets);
                }
                Ok(datasets)
            }
        }
    }

    /// Start of a tenant's earliest and latest profile.
    pub(crate) fn bounds_of(&self, tenant: &Tenant) -> Option<(Timestamp, Timestamp)> {
        match &self.source {
            Source::Store(store) => store.time_bounds(tenant),
            Source::Fixed(datasets) => {
                let times = datasets
                    .iter()
                    .flat_map(|dataset| (0..dataset.profile_count()).map(|at| dataset.profile(at).time));
                times
                    .map(|time| (time, time))
                    .reduce(|(first, last), (from, to)| (first.min(from), last.max(to)))
            }
        }
    }

    /// Chosen profiles of any type.
    pub(crate) fn scan<'a>(
        &self,
        selection: &'a Selection,
        progress: &Progress<'_>,
    ) -> Result<Vec<Part<'a>>, QueryError> {
        scan(self.datasets(&selection.tenants, selection.range)?, selection, progress)
    }

    /// Chosen profiles for a listing: of the types that are asked for, if any, and with at least one row that is taken.
    pub(crate) fn scan_listing<'a>(
        &self,
        selection: &'a Selection,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<Part<'a>>, QueryError> {
        let mut parts = self.scan(selection, progress)?;
        let asked = {
            let (types, _) = types_of(&parts);
            profile_types::asked(&selection.profile_type, selection.selector.profile_type(), &types)
        };
        for part in &mut parts {
            if let Some(types) = &asked {
                part.keep_types(types);
            }
            part.verify_rows(progress)?;
        }
        parts.retain(|part| !part.profiles.is_empty());
        Ok(parts)
    }

    /// Chosen columns of one type, whose sum fits.
    pub(crate) fn plan<'a>(
        &self,
        selection: &'a Selection,
        progress: &Progress<'_>,
    ) -> Result<Plan<'a>, QueryError> {
        plan(self.scan(selection, progress)?, selection, Sums::One)
    }
}

impl Progress<'_> {
    /// Adds what was read.
    pub(crate) fn stats(&self, stats: AnswerStats) -> AnswerStats {
        AnswerStats { samples: self.rows, bytes_scanned: self.bytes, ..stats }
    }
}

/// What a listing took.
pub(crate) fn listing_stats(parts: &[Part<'_>], progress: &Progress<'_>) -> AnswerStats {
    let profiles = parts.iter().map(|part| part.profiles.len() as u64).sum();
    let mut numbers = crate::plan::SeriesNumbers::default();
    for part in parts {
        for position in part.used_series() {
            let series = part.dataset.series(position);
            numbers.number(&series.labels, &series.series_type);
        }
    }
    progress.stats(AnswerStats {
        profiles,
        series: numbers.count(),
        rounds: 1,
        aggregation: "sum",
        ..AnswerStats::default()
    })
}

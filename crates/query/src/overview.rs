//! What there is, without merging it: since when, how much, and how much of it a query would read.

use profile::{Tenant, Timestamp};

use crate::{
    Answer, Control, Engine, QueryError, QueryResult, Selection, engine::listing_stats, plan::SeriesNumbers,
};

/// What one kind of storage has of a selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryScope {
    /// Heads, or services within blocks.
    pub datasets: u64,
    /// Distinct series.
    pub series: u64,
    /// Profiles.
    pub profiles: u64,
    /// Their rows.
    pub rows: u64,
    /// Bytes of the tables that say which profiles there are.
    pub table_bytes: u64,
    /// Encoded bytes of rows.
    pub row_bytes: u64,
    /// Bytes of decoded symbols.
    pub symbol_bytes: u64,
}

/// What a query would read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    /// Of what is in memory.
    pub heads: QueryScope,
    /// Of what is in files.
    pub blocks: QueryScope,
    /// Distinct series over both.
    pub series: u64,
}

impl QueryScope {
    /// All bytes together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.table_bytes.saturating_add(self.row_bytes).saturating_add(self.symbol_bytes)
    }
}

impl Engine {
    /// Start of the earliest and of the latest profile of some tenants; `None` where there is none.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn time_bounds(
        &self,
        tenants: &[Tenant],
        control: &Control,
    ) -> Result<Option<(Timestamp, Timestamp)>, QueryError> {
        self.progress(control).check()?;
        let bounds = tenants.iter().filter_map(|tenant| self.bounds_of(tenant));
        Ok(bounds.reduce(|(first, last), (from, to)| (first.min(from), last.max(to))))
    }

    /// What a query over a selection would read.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn scopes(&self, selection: &Selection, control: &Control) -> QueryResult<Scopes> {
        let mut progress = self.progress(control);
        let parts = self.scan_listing(selection, &mut progress)?;
        let mut scopes = Scopes::default();
        let mut of_all = SeriesNumbers::default();
        let mut of_kind = [SeriesNumbers::default(), SeriesNumbers::default()];
        for part in &parts {
            progress.check()?;
            let in_file = part.dataset.is_in_file();
            let scope = if in_file { &mut scopes.blocks } else { &mut scopes.heads };
            scope.datasets += 1;
            scope.symbol_bytes += part.dataset.symbol_bytes();
            for chosen in &part.profiles {
                let meta = part.dataset.profile(chosen.profile);
                scope.profiles += 1;
                scope.rows += u64::from(meta.rows);
                scope.table_bytes += (size_of_val(meta) + size_of_val(&*meta.totals)) as u64;
                scope.row_bytes += part.dataset.row_bytes(chosen.profile);
            }
            for position in part.used_series() {
                let series = part.dataset.series(position);
                for numbers in [&mut of_all, &mut of_kind[usize::from(in_file)]] {
                    numbers.number(&series.labels, &series.series_type);
                }
            }
        }
        (scopes.heads.series, scopes.blocks.series) = (of_kind[0].count(), of_kind[1].count());
        scopes.series = of_all.count();
        Ok(Answer { data: scopes, stats: listing_stats(&parts, &progress) })
    }
}

//! Listings of what is stored: single profiles, and services.

use std::collections::BTreeMap;

use profile::{LabelSet, ProfileId, ProfileType, Timestamp};

use crate::{Answer, Control, Engine, QueryResult, Selection, engine::listing_stats, limits, scan::types_of};

/// A profile in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileItem {
    /// Id.
    pub id: ProfileId,
    /// Profile name.
    pub name: String,
    /// All profile types inside.
    pub types: Vec<ProfileType>,
    /// Labels of its series.
    pub labels: LabelSet,
    /// Start.
    pub time: Timestamp,
    /// Length, ns.
    pub duration_nanos: i64,
    /// Rows.
    pub samples: u64,
    /// Sum of each column.
    pub totals: Vec<i64>,
}

/// A service in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceItem {
    /// `service_name`.
    pub name: String,
    /// Its profile types, sorted.
    pub types: Vec<ProfileType>,
    /// Profiles in the range.
    pub profiles: u64,
    /// Latest start.
    pub last: Timestamp,
}

impl ProfileItem {
    /// What a listing says of a profile.
    pub(crate) fn new(dataset: &dyn block::Dataset, profile: u32) -> Self {
        let meta = dataset.profile(profile);
        let series = dataset.series(meta.series);
        let columns = 0..series.series_type.columns.len();
        Self {
            id: meta.id,
            name: series.series_type.name.clone(),
            types: columns.filter_map(|column| series.series_type.profile_type(column)).collect(),
            labels: series.labels.clone(),
            time: meta.time,
            duration_nanos: meta.duration_nanos,
            samples: u64::from(meta.rows),
            totals: meta.totals.to_vec(),
        }
    }
}

impl Engine {
    /// Single profiles, newest last, at most `limit` (0 = the engine's cap, [`limits::LISTED_PROFILES_MAX`]). Where there
    /// are more, the newest are listed.
    ///
    /// # Errors
    /// See [`crate::QueryError`].
    pub fn profiles(
        &self,
        selection: &Selection,
        limit: usize,
        control: &Control,
    ) -> QueryResult<Vec<ProfileItem>> {
        let mut progress = self.progress(control);
        let parts = self.scan_listing(selection, &mut progress)?;
        let mut found: Vec<(Timestamp, ProfileId, usize, u32)> = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            found.extend(part.profiles.iter().map(|chosen| {
                let meta = part.dataset.profile(chosen.profile);
                (meta.time, meta.id, number, chosen.profile)
            }));
        }
        found.sort_unstable();
        let cap = limits::LISTED_PROFILES_MAX;
        let limit = if limit == 0 { cap } else { limit.min(cap) };
        let left_out = found.len().saturating_sub(limit);
        let data = found[left_out..]
            .iter()
            .map(|&(_, _, number, profile)| ProfileItem::new(&*parts[number].dataset, profile))
            .collect();
        let mut stats = listing_stats(&parts, &progress);
        if left_out > 0 {
            stats.notices.push(format!("{left_out} older profiles are left out"));
        }
        Ok(Answer { data, stats })
    }

    /// Services with their types, sorted by name.
    ///
    /// # Errors
    /// See [`crate::QueryError`].
    pub fn services(&self, selection: &Selection, control: &Control) -> QueryResult<Vec<ServiceItem>> {
        let mut progress = self.progress(control);
        let parts = self.scan_listing(selection, &mut progress)?;
        let mut services: BTreeMap<String, ServiceItem> = BTreeMap::new();
        for part in &parts {
            let last = part.profiles.iter().map(|chosen| part.dataset.profile(chosen.profile).time).max();
            let name = part.dataset.service().to_owned();
            let item = services.entry(name.clone()).or_insert_with(|| ServiceItem {
                name,
                types: Vec::new(),
                profiles: 0,
                last: Timestamp(i64::MIN),
            });
            item.types.extend(types_of(std::slice::from_ref(part)).0);
            item.types.sort();
            item.types.dedup();
            item.profiles += part.profiles.len() as u64;
            item.last = item.last.max(last.unwrap_or(item.last));
        }
        Ok(Answer { data: services.into_values().collect(), stats: listing_stats(&parts, &progress) })
    }
}

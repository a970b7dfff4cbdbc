//! Profiles as pprof: one as it was sent (D4), or many merged into one at the level of locations (D23).

use std::sync::Arc;

use block::{Dataset, NONE, NodeSums, Pick, Rows};
use profile::{LocationIndex, Profile, ProfileId, ProfileType, Tenant, TimeRange, Timestamp, ValueType};

use crate::{
    Answer, AnswerStats, Control, Engine, ProfileItem, QueryError, QueryResult, Selection, TypeSelector,
    amount::{Amount as _, Scale},
    events::inside_of,
    limits,
    plan::{Picked, Plan, PlanPart, Sums, default_sample_type, plan_type},
    profile_builder::{GoPgo, Nodes, ProfileBuilder},
    profile_tables::{MappingRule, Tables, Translation, position},
    profile_types::{Columns, Resolved, resolve, type_of_nothing},
    progress::Progress,
    scan::{Part, candidates, scan, types_of},
};

impl Engine {
    /// One stored profile as pprof, everything of D4 inside, not compressed.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn profile_pprof(
        &self,
        tenants: &[Tenant],
        id: ProfileId,
        control: &Control,
    ) -> QueryResult<(ProfileItem, Vec<u8>)> {
        let mut progress = self.progress(control);
        let selection = Selection {
            tenants: tenants.to_vec(),
            profile_ids: vec![id],
            range: around(id),
            ..Selection::default()
        };
        let parts = self.scan(&selection, &progress)?;
        if !parts.is_empty() {
            return profile_of(&parts, id, &mut progress);
        }
        // An id that a client gave itself need not begin with the profile's time.
        let selection = Selection { range: TimeRange::ALL, ..selection.clone() };
        let parts = self.scan(&selection, &progress)?;
        profile_of(&parts, id, &mut progress)
    }

    /// Several stored profiles merged into one pprof, not compressed. With [`TypeSelector::Exact`] or `Short` only that
    /// column is inside; with `Default` all columns of the series of that profile name (for `go tool pprof`, D23). Sample
    /// labels stay, spans and traces do not: they would keep every sample apart.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn pprof(&self, selection: &Selection, control: &Control) -> QueryResult<Vec<u8>> {
        self.pprof_trimmed(selection, None, control)
    }

    /// As [`Engine::pprof`], with stacks trimmed for Go's compiler where that is asked for.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn pprof_trimmed(
        &self,
        selection: &Selection,
        trim: Option<GoPgo>,
        control: &Control,
    ) -> QueryResult<Vec<u8>> {
        let mut progress = self.progress(control);
        // One view for all columns: a profile that arrives meanwhile is in all of them or in none.
        let datasets = self.datasets(&selection.tenants, selection.range)?;
        let parts = scan(datasets.clone(), selection, &progress)?;
        let all = matches!(selection.profile_type, TypeSelector::Default);
        let resolved = {
            let (types, series_types) = types_of(&parts);
            resolve(
                &selection.profile_type,
                selection.selector.profile_type(),
                &candidates(&types, &series_types),
                if all { Columns::AllOfName } else { Columns::One },
                || default_sample_type(&parts),
            )?
        };
        let chosen = match resolved {
            Resolved::Nothing(notice) => {
                let stats = AnswerStats {
                    aggregation: "sum",
                    rounds: 1,
                    notices: vec![notice],
                    ..AnswerStats::default()
                };
                let column = type_of_nothing(&selection.profile_type, selection.selector.profile_type());
                return Ok(Answer { data: ProfileBuilder::new(vec![column]).finish()?, stats });
            }
            Resolved::Type(chosen) => chosen,
        };
        let columns = if all { columns_of(&parts, &chosen) } else { vec![chosen] };
        drop(parts);
        self.merged(&datasets, selection, columns, trim, &mut progress)
    }

    /// Merges columns one after the other into one profile.
    fn merged(
        &self,
        datasets: &[Arc<dyn Dataset>],
        selection: &Selection,
        columns: Vec<ProfileType>,
        trim: Option<GoPgo>,
        progress: &mut Progress<'_>,
    ) -> QueryResult<Vec<u8>> {
        let mut builder = ProfileBuilder::new(columns.clone());
        builder.trim(trim);
        let mut stats = AnswerStats::default();
        for (column, profile_type) in columns.into_iter().enumerate() {
            let parts = scan(datasets.to_vec(), selection, progress)?;
            let mut plan = plan_type(parts, profile_type, selection.aggregation, Sums::One)?;
            builder.set_denominator(column, plan.denominator);
            for part in &plan.parts {
                let inside = inside_of(self, part, selection.stacks(), progress)?;
                let symbols = part.dataset.symbols()?;
                let mut adding = Adding {
                    plan: &plan,
                    part,
                    column,
                    inside,
                    nodes: Nodes::new(&*symbols),
                    builder: &mut builder,
                    progress,
                };
                adding.add()?;
            }
            plan.count_taken(progress);
            let profiles = stats.profiles.max(plan.stats.profiles);
            let rounds = stats.rounds.max(plan.stats.rounds);
            let aggregation = if stats.aggregation == "avg" { "avg" } else { plan.stats.aggregation };
            stats = AnswerStats { profiles, rounds, aggregation, ..plan.stats };
        }
        Ok(Answer { data: builder.finish()?, stats: progress.stats(stats) })
    }
}

/// One column of one dataset on its way into a profile.
struct Adding<'a, 'p> {
    plan: &'a Plan<'a>,
    part: &'a PlanPart<'a>,
    column: usize,
    /// For each node whether its stack is asked for.
    inside: Option<Vec<bool>>,
    nodes: Nodes<'a>,
    builder: &'a mut ProfileBuilder,
    progress: &'a mut Progress<'p>,
}

impl Adding<'_, '_> {
    fn add(&mut self) -> Result<(), QueryError> {
        let part = self.part;
        for picked in &part.picks {
            self.builder.see_profile(&mut self.nodes, part.dataset.profile(picked.pick.profile));
        }
        let plain = |picked: &&Picked| {
            let meta = part.dataset.profile(picked.pick.profile);
            picked.filter.is_none() && !meta.has_labels && !meta.has_negative
        };
        let mut dense: Vec<&Picked> = part.picks.iter().filter(plain).collect();
        dense.sort_by_key(|picked| picked.rounds);
        for group in dense.chunk_by(|left, right| left.rounds == right.rounds) {
            self.add_dense(group)?;
        }
        let mut rows = Rows::default();
        for picked in part.picks.iter().filter(|picked| !plain(picked)) {
            self.add_rows(picked, &mut rows)?;
        }
        Ok(())
    }

    /// Whole profiles without sample labels.
    fn add_dense(&mut self, group: &[&Picked]) -> Result<(), QueryError> {
        let dataset = &self.part.dataset;
        let scale = self.scale(group.first().map_or(1, |picked| picked.rounds));
        let mut sums = NodeSums::new(dataset.symbols()?.node_count(), None);
        let mut total = 0_i64;
        for chunk in group.chunks(limits::PROFILES_PER_CHECK) {
            let picks: Vec<Pick> = chunk.iter().map(|picked| picked.pick).collect();
            let bytes = dataset.add_values(&picks, &mut sums)?;
            let mut row_count = 0;
            for pick in &picks {
                let meta = dataset.profile(pick.profile);
                total = total.wrapping_add(meta.totals[pick.column as usize]);
                row_count += u64::from(meta.rows);
            }
            self.progress.read(bytes, row_count)?;
        }
        let mut outside = total;
        for (node, &sum) in (0_u32..).zip(&sums.to_vec()) {
            outside = outside.wrapping_sub(sum);
            if sum != 0 {
                self.add_value(node, 0, i128::scaled(sum, scale));
            }
        }
        if outside != 0 {
            self.add_value(NONE, 0, i128::scaled(outside, scale));
        }
        Ok(())
    }

    fn add_rows(&mut self, picked: &Picked, rows: &mut Rows) -> Result<(), QueryError> {
        let bytes = self.part.dataset.rows(picked.pick.profile, rows)?;
        self.progress.read(bytes, rows.nodes.len() as u64)?;
        let filter = picked.filter.map(|filter| &self.part.filters[filter as usize]);
        let scale = self.scale(picked.rounds);
        let width = rows.values.len() / rows.nodes.len().max(1);
        let mut is_taken = false;
        for (row, &node) in rows.nodes.iter().enumerate() {
            if filter.is_some_and(|filter| !filter.accepts(rows, row)) {
                continue;
            }
            is_taken = true;
            let label_set = rows.label_sets.get(row).copied().unwrap_or(0);
            let value = rows.values[row * width + picked.pick.column as usize];
            self.add_value(node, label_set, i128::scaled(value, scale));
        }
        if is_taken && filter.is_some() {
            self.progress.taken.add(picked.series);
        }
        Ok(())
    }

    fn add_value(&mut self, node: u32, label_set: u32, value: i128) {
        let is_inside =
            self.inside.as_ref().is_none_or(|inside| inside.get(node as usize).copied().unwrap_or(false));
        if is_inside {
            self.builder.add(&mut self.nodes, node, label_set, self.column, value);
        }
    }

    fn scale(&self, rounds: u32) -> Scale {
        Scale { denominator: self.plan.denominator, rounds }
    }
}

/// All columns of the series that have this profile name and are of one kind with the chosen type.
fn columns_of(parts: &[Part<'_>], chosen: &ProfileType) -> Vec<ProfileType> {
    let (types, series_types) = types_of(parts);
    let mut columns: Vec<ProfileType> = Vec::new();
    // The widest kind first: its order of columns is that of the answer.
    let mut kinds: Vec<_> = series_types.into_iter().filter(|kind| kind.name == chosen.name).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.columns.len()));
    for kind in kinds {
        if kind.period_type == chosen.period_type && kind.period_unit == chosen.period_unit {
            columns.extend((0..kind.columns.len()).filter_map(|column| kind.profile_type(column)));
        }
    }
    let mut once: Vec<ProfileType> = Vec::new();
    for column in columns {
        if types.contains(&column) && !once.contains(&column) {
            once.push(column);
        }
    }
    once
}

/// The range that an id's time says.
fn around(id: ProfileId) -> TimeRange {
    let millis = i64::try_from(id.time_millis()).unwrap_or(i64::MAX);
    let from = millis.saturating_mul(1_000_000);
    TimeRange { from: Timestamp(from), to: Timestamp(from.saturating_add(1_000_000)) }
}

fn profile_of(
    parts: &[Part<'_>],
    id: ProfileId,
    progress: &mut Progress<'_>,
) -> QueryResult<(ProfileItem, Vec<u8>)> {
    let found = parts.iter().find_map(|part| Some((&part.dataset, part.profiles.first()?.profile)));
    let Some((dataset, profile)) = found else { return Err(QueryError::NotFound(format!("profile {id}"))) };
    let item = ProfileItem::new(&**dataset, profile);
    let bytes = single(&**dataset, profile, progress)?;
    let stats =
        AnswerStats { profiles: 1, series: 1, rounds: 1, aggregation: "sum", ..AnswerStats::default() };
    Ok(Answer { data: (item, bytes), stats: progress.stats(stats) })
}

/// Writes one profile with everything that was kept of it.
fn single(dataset: &dyn Dataset, profile: u32, progress: &mut Progress<'_>) -> Result<Vec<u8>, QueryError> {
    let meta = dataset.profile(profile);
    let series_type = &dataset.series(meta.series).series_type;
    let symbols = dataset.symbols()?;
    let mut rows = Rows::default();
    let bytes = dataset.rows(profile, &mut rows)?;
    progress.read(bytes, rows.nodes.len() as u64)?;
    let mut tables = Tables::new(MappingRule::Kept);
    let mut from = Translation::new(&*symbols);
    for column in &series_type.columns {
        let kind = tables.string(column.sample_type.as_bytes());
        let unit = tables.string(column.sample_unit.as_bytes());
        tables.columns.sample_types.push(ValueType { kind, unit });
    }
    let stored = symbols.header(meta.header);
    for &id in &stored.mappings {
        tables.mapping(&mut from, id);
    }
    let comments = stored.comments.iter().map(|&id| tables.stored_string(&mut from, id)).collect();
    let period_type = ValueType {
        kind: tables.string(series_type.period_type.as_bytes()),
        unit: tables.string(series_type.period_unit.as_bytes()),
    };
    tables.columns.header = profile::Header {
        time_nanos: meta.time.0,
        duration_nanos: meta.duration_nanos,
        period_type: stored.has_period_type.then_some(period_type),
        period: meta.period,
        comments,
        default_sample_type: tables.stored_string(&mut from, stored.default_sample_type),
        drop_frames: tables.stored_string(&mut from, stored.drop_frames),
        keep_frames: tables.stored_string(&mut from, stored.keep_frames),
        doc_url: tables.stored_string(&mut from, stored.doc_url),
    };
    for (row, &leaf) in rows.nodes.iter().enumerate() {
        let mut node = leaf;
        while node != NONE {
            let walked = symbols.node(node);
            let location: LocationIndex = tables.location(&mut from, walked.location);
            tables.columns.stacks.push(location);
            node = walked.parent;
        }
        tables.columns.stack_ends.push(position(tables.columns.stacks.len()));
        if let Some(&label_set) = rows.label_sets.get(row) {
            let labels = tables.labels(&mut from, label_set);
            tables.columns.labels.extend(labels);
            tables.columns.label_ends.push(position(tables.columns.labels.len()));
        }
    }
    tables.columns.values = rows.values;
    tables.columns.links = rows.links;
    tables.columns.timestamps = rows.timestamps;
    tables.columns.timestamp_ends = rows.timestamp_ends;
    Ok(formats::encode_pprof(&Profile { text: &tables.text, columns: &tables.columns }))
}

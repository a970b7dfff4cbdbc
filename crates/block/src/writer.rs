//! Writing a block.
//!
//! A dataset's chosen profiles are read twice: once to learn which symbols they use, once to write their rows with the
//! block's own numbers. Rows go straight to the file; tables follow when they are complete; the footer is last, so that
//! a file that was not finished has none.

use profile::{ProfileId, Timestamp};

use crate::{
    AttachmentPart, BlockError, BlockInput, BlockSummary, DatasetPart, NONE, ProfileMeta, Rows, Series,
    attachments::put_attachments,
    footer::{Counts, DatasetEntry, Footer, MAGIC, TypeTotal},
    limits::CHUNK_BYTES,
    profiles::{ProfileTable, RowLengths, put_row_labels, put_row_links, put_row_times, put_series},
    renumber::{Renumbered, Used, renumber},
    rows::RowWriter,
    section::{Packing, Section, SectionKind},
    sort_by_node,
};

/// Writes a block to `out`, which must be empty. Needs, beside the output itself, some 60 bytes per node of the largest
/// dataset, one decoded profile, and the encoded sample labels, links and times of one dataset.
///
/// # Errors
/// When a dataset cannot be read, or a table is too large for the format.
pub fn write_block(input: &BlockInput<'_>, out: &mut Vec<u8>) -> Result<BlockSummary, BlockError> {
    out.extend_from_slice(&MAGIC);
    let mut summary = Summary::new(input.arrived);
    let mut datasets = Vec::new();
    let mut digests = Vec::new();
    let mut packing = Packing::new()?;
    let mut parts: Vec<&DatasetPart<'_>> =
        input.datasets.iter().filter(|part| !part.profiles.is_empty()).collect();
    parts.sort_by(|a, b| a.dataset.service().cmp(b.dataset.service()));
    out.reserve(parts.iter().map(|part| rows_guess(part)).sum());
    for part in parts {
        let mut writer = DatasetWriter::new(part);
        datasets.push(writer.write(&mut packing, out)?);
        for profile in &writer.table.profiles {
            summary.add_profile(profile);
            digests.push(digest_key(profile.id));
        }
    }
    for attachment in &input.attachments {
        summary.add_attachment(attachment);
        digests.push(digest_key(attachment.id));
    }
    let mut sections = vec![write_digests(digests, out)?];
    if !input.attachments.is_empty() {
        sections.extend(put_attachments(&input.attachments, &mut packing, out)?);
    }
    let mut footer = Footer { tenant: input.tenant.clone(), summary: summary.finish(), datasets, sections };
    footer.write(out)?;
    Ok(footer.summary)
}

/// About how many bytes the rows of a dataset take: what they take where they are now. They are most of a block, and
/// making a large output larger copies it.
fn rows_guess(part: &DatasetPart<'_>) -> usize {
    let bytes: u64 = part.profiles.iter().map(|&position| part.dataset.row_bytes(position)).sum();
    usize::try_from(bytes).unwrap_or(0)
}

/// What the digest list keeps of an id; equal keys are settled by the profile table.
pub(crate) fn digest_key(id: ProfileId) -> u64 {
    u64::try_from(id.digest() >> 16).unwrap_or(0)
}

fn write_digests(mut digests: Vec<u64>, out: &mut Vec<u8>) -> Result<Section, BlockError> {
    digests.sort_unstable();
    let bytes: Vec<u8> = digests.iter().flat_map(|digest| digest.to_le_bytes()).collect();
    Section::write(SectionKind::Digests, &bytes, None, out)
}

struct Summary {
    summary: BlockSummary,
    is_empty: bool,
}

impl Summary {
    fn new(arrived: Timestamp) -> Self {
        Self { summary: BlockSummary { arrived, ..BlockSummary::default() }, is_empty: true }
    }

    fn add_time(&mut self, first: Timestamp, end: Timestamp) {
        let summary = &mut self.summary;
        if std::mem::take(&mut self.is_empty) {
            (summary.time_first, summary.time_last, summary.data_end) = (first, first, end);
        }
        summary.time_first = summary.time_first.min(first);
        summary.time_last = summary.time_last.max(first);
        summary.data_end = summary.data_end.max(end);
    }

    fn add_profile(&mut self, profile: &ProfileMeta) {
        self.add_time(profile.time, Timestamp(profile.time.0.saturating_add(profile.duration_nanos.max(0))));
        self.summary.profiles += 1;
        self.summary.rows += u64::from(profile.rows);
    }

    fn add_attachment(&mut self, attachment: &AttachmentPart<'_>) {
        self.add_time(attachment.time, attachment.time);
        self.summary.attachments += 1;
    }

    fn finish(self) -> BlockSummary {
        self.summary
    }
}

struct DatasetWriter<'a> {
    part: &'a DatasetPart<'a>,
    /// Positions in the source dataset, in the block's order.
    order: Vec<u32>,
    series: Vec<Series>,
    table: ProfileTable,
    labels: Vec<u8>,
    links: Vec<u8>,
    times: Vec<u8>,
}

impl<'a> DatasetWriter<'a> {
    fn new(part: &'a DatasetPart<'a>) -> Self {
        Self {
            part,
            order: Vec::new(),
            series: Vec::new(),
            table: ProfileTable::default(),
            labels: Vec::new(),
            links: Vec::new(),
            times: Vec::new(),
        }
    }

    fn write(&mut self, packing: &mut Packing, out: &mut Vec<u8>) -> Result<DatasetEntry, BlockError> {
        let dataset = self.part.dataset;
        self.choose_order();
        let renumbered = {
            let symbols = dataset.symbols()?;
            let mut used = Used::new(&*symbols);
            let mut rows = Rows::default();
            for &position in &self.order {
                rows.clear();
                dataset.row_symbols(position, &mut rows)?;
                used.mark(&rows.nodes, &rows.label_sets, dataset.profile(position).header);
            }
            renumber(&*symbols, used)
        };
        let mut sections = vec![self.write_rows(&renumbered, out)?];
        let extras = [
            (SectionKind::RowLabels, &self.labels),
            (SectionKind::RowLinks, &self.links),
            (SectionKind::RowTimes, &self.times),
        ];
        for (kind, bytes) in extras {
            if !bytes.is_empty() {
                sections.push(Section::write(kind, bytes, Some(&mut *packing), out)?);
            }
        }
        self.write_tables(&renumbered, &mut sections, packing, out)?;
        Ok(self.entry(&renumbered, sections))
    }

    /// Sorts profiles by series, time and id, and keeps the series that they have, sorted by type and labels.
    fn choose_order(&mut self) {
        let dataset = self.part.dataset;
        let mut used: Vec<u32> =
            self.part.profiles.iter().map(|&position| dataset.profile(position).series).collect();
        used.sort_unstable();
        used.dedup();
        used.sort_by(|&a, &b| {
            let (a, b) = (dataset.series(a), dataset.series(b));
            (&a.series_type, &a.labels, a.temporality).cmp(&(&b.series_type, &b.labels, b.temporality))
        });
        let mut of_old = vec![NONE; dataset.series_count() as usize];
        for (new, &old) in (0..).zip(&used) {
            of_old[old as usize] = new;
            self.series.push(dataset.series(old).clone());
        }
        self.order.clone_from(&self.part.profiles);
        self.order.sort_unstable_by_key(|&position| {
            let profile = dataset.profile(position);
            (of_old[profile.series as usize], profile.time, profile.id)
        });
        for &position in &self.order {
            let profile = dataset.profile(position);
            let series = of_old[profile.series as usize];
            self.table.profiles.push(ProfileMeta { series, ..profile.clone() });
        }
    }

    fn write_rows(&mut self, renumbered: &Renumbered, out: &mut Vec<u8>) -> Result<Section, BlockError> {
        let mut section = Section::begin(SectionKind::Rows, out);
        let mut writer = RowWriter::new();
        let (mut rows, mut sorted, mut pending) = (Rows::default(), SortedRows::default(), Vec::new());
        for (position, &old) in self.order.iter().enumerate() {
            read_rows(self.part, old, &mut rows)?;
            let profile = &mut self.table.profiles[position];
            let columns = self.series[profile.series as usize].series_type.columns.len();
            sorted.sort(&rows, columns, renumbered);
            profile.rows = u32::try_from(rows.nodes.len()).unwrap_or(u32::MAX);
            profile.has_labels = !sorted.rows.label_sets.is_empty();
            profile.header = renumbered.headers.get(&profile.header).copied().unwrap_or(0);
            let starts = [pending.len(), self.labels.len(), self.links.len(), self.times.len()];
            writer.write(&sorted.rows.nodes, &sorted.columns, &mut pending);
            let sorted = &sorted.rows;
            put_row_labels(&sorted.label_sets, &mut self.labels);
            if !sorted.links.is_empty() {
                put_row_links(&sorted.links, &mut self.links);
            }
            if !sorted.timestamp_ends.is_empty() {
                put_row_times(&sorted.timestamps, &sorted.timestamp_ends, &mut self.times);
            }
            let length = |end: usize, start: usize| u32::try_from(end - start).unwrap_or(u32::MAX);
            self.table.lengths.push(RowLengths {
                rows: length(pending.len(), starts[0]),
                labels: length(self.labels.len(), starts[1]),
                links: length(self.links.len(), starts[2]),
                times: length(self.times.len(), starts[3]),
            });
            if pending.len() >= CHUNK_BYTES {
                section.push(&pending, None, out)?;
                pending.clear();
            }
        }
        if !pending.is_empty() {
            section.push(&pending, None, out)?;
        }
        Ok(section)
    }

    fn write_tables(
        &self,
        renumbered: &Renumbered,
        sections: &mut Vec<Section>,
        packing: &mut Packing,
        out: &mut Vec<u8>,
    ) -> Result<(), BlockError> {
        let symbols = &renumbered.symbols;
        let mut bytes = Vec::new();
        let mut write = |kind, put: &dyn Fn(&mut Vec<u8>)| -> Result<(), BlockError> {
            bytes.clear();
            put(&mut bytes);
            sections.push(Section::write(kind, &bytes, Some(&mut *packing), out)?);
            Ok(())
        };
        write(SectionKind::Series, &|bytes| put_series(&self.series, bytes))?;
        write(SectionKind::Profiles, &|bytes| self.table.put(bytes))?;
        write(SectionKind::Strings, &|bytes| symbols.put_strings(bytes))?;
        write(SectionKind::Code, &|bytes| symbols.put_code(bytes))?;
        write(SectionKind::Frames, &|bytes| symbols.put_frames(bytes))?;
        write(SectionKind::FunctionNodes, &|bytes| symbols.put_function_nodes(bytes))?;
        write(SectionKind::Nodes, &|bytes| symbols.put_nodes(bytes))?;
        write(SectionKind::NodeFunctions, &|bytes| symbols.put_node_functions(bytes))?;
        write(SectionKind::LabelSets, &|bytes| symbols.put_label_sets(bytes))?;
        write(SectionKind::Headers, &|bytes| symbols.put_headers(bytes))
    }

    fn entry(&self, renumbered: &Renumbered, sections: Vec<Section>) -> DatasetEntry {
        let profiles = &self.table.profiles;
        let times = || profiles.iter().map(|profile| profile.time);
        let mut label_names: Vec<String> =
            self.series.iter().flat_map(|series| series.labels.iter().map(|(name, _)| name.into())).collect();
        label_names.sort_unstable();
        label_names.dedup();
        DatasetEntry {
            service: self.part.dataset.service().to_owned(),
            time_first: times().min().unwrap_or_default(),
            time_last: times().max().unwrap_or_default(),
            counts: self.counts(renumbered),
            label_names,
            totals: self.totals(),
            sections,
        }
    }

    fn counts(&self, renumbered: &Renumbered) -> Counts {
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let symbols = &renumbered.symbols;
        Counts {
            series: count(self.series.len()),
            profiles: count(self.table.profiles.len()),
            nodes: count(symbols.nodes.len()),
            function_nodes: count(symbols.function_nodes.len()),
            frames: count(symbols.frames.len()),
            strings: count(symbols.string_ends.len()),
            mappings: count(symbols.mappings.len()),
            functions: count(symbols.functions.len()),
            locations: count(symbols.locations.len()),
            lines: count(symbols.lines.len()),
            label_sets: count(symbols.label_set_ends.len()),
            label_pairs: count(symbols.label_pairs.len()),
            headers: count(symbols.headers.len()),
            rows: self.table.profiles.iter().map(|profile| u64::from(profile.rows)).sum(),
            text_bytes: symbols.text.len() as u64,
        }
    }

    fn totals(&self) -> Vec<TypeTotal> {
        let mut totals = std::collections::BTreeMap::<String, i128>::new();
        for profile in &self.table.profiles {
            let series_type = &self.series[profile.series as usize].series_type;
            for (column, &total) in profile.totals.iter().enumerate() {
                if let Some(profile_type) = series_type.profile_type(column) {
                    *totals.entry(profile_type.to_string()).or_default() += i128::from(total);
                }
            }
        }
        totals.into_iter().map(|(profile_type, total)| TypeTotal { profile_type, total }).collect()
    }
}

fn read_rows(part: &DatasetPart<'_>, position: u32, rows: &mut Rows) -> Result<(), BlockError> {
    rows.clear();
    part.dataset.rows(position, rows)?;
    Ok(())
}

/// Rows with new numbers, sorted by node.
#[derive(Default)]
struct SortedRows {
    keys: Vec<u64>,
    spare: Vec<u64>,
    /// All but the values.
    rows: Rows,
    /// The values, column by column.
    columns: Vec<Vec<i64>>,
}

impl SortedRows {
    fn sort(&mut self, old: &Rows, columns: usize, renumbered: &Renumbered) {
        self.keys.clear();
        self.keys.extend((0_u64..).zip(&old.nodes).map(|(row, &node)| {
            // Rows without a stack come first: NONE + 1 is 0.
            let node = if node == NONE { NONE } else { renumbered.nodes[node as usize] };
            u64::from(node.wrapping_add(1)) << 32 | row
        }));
        sort_by_node(&mut self.keys, &mut self.spare);
        let order = || self.keys.iter().map(|&key| (key & u64::from(u32::MAX)) as usize);
        let nodes = self.keys.iter().map(|&key| u32::try_from(key >> 32).unwrap_or(0).wrapping_sub(1));
        self.rows.clear();
        self.rows.nodes.extend(nodes);
        self.columns.resize_with(columns, Vec::new);
        for (column, values) in self.columns.iter_mut().enumerate() {
            values.clear();
            values.extend(order().map(|row| old.values[row * columns + column]));
        }
        if old.label_sets.iter().any(|&label_set| label_set != 0) {
            let label_sets = order().map(|row| renumbered.label_sets[old.label_sets[row] as usize]);
            self.rows.label_sets.extend(label_sets);
        }
        if !old.links.is_empty() {
            self.rows.links.extend(order().map(|row| old.links[row]));
        }
        if !old.timestamp_ends.is_empty() {
            for row in order() {
                let start = if row == 0 { 0 } else { old.timestamp_ends[row - 1] };
                let times = &old.timestamps[start as usize..old.timestamp_ends[row] as usize];
                self.rows.timestamps.extend_from_slice(times);
                let end = u32::try_from(self.rows.timestamps.len()).unwrap_or(u32::MAX);
                self.rows.timestamp_ends.push(end);
            }
        }
    }
}

//! Reading a block: footer at once, everything else when it is asked for.
//!
//! Called by `store`, which decides what stays in memory: [`Block`] is some hundred bytes per dataset, [`BlockDataset`]
//! some 150 per profile, its symbols are loaded on first use and can be dropped. Every chunk is checked each time it is
//! read, and every id when its table is decoded; damage is an error that names file and section.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use profile::{ProfileId, Tenant, TimeRange};

use crate::{
    BlockAttachment, BlockError, BlockSummary, Dataset, DatasetId, Pick, ProfileMeta, ReadAt, Rows, Series,
    StoredFrame, Symbols,
    attachments::read_attachments,
    cursor::Malformed,
    footer::{DatasetEntry, Footer},
    packing::Packer,
    profiles::{ProfileTable, RowLengths, read_row_labels, read_row_links, read_row_times, read_series},
    rows::PackedRows,
    section::{Section, SectionKind, corrupt},
    sums::NodeSums,
    symbols::BlockSymbols,
    writer::digest_key,
};

/// An open block: its footer is in memory, everything else is read when asked for.
pub struct Block {
    source: Arc<dyn ReadAt>,
    footer: Footer,
    dataset_ids: Vec<DatasetId>,
    digests: Mutex<Option<Arc<[u64]>>>,
}

impl std::fmt::Debug for Block {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Block").field("name", &self.name()).field("summary", self.summary()).finish()
    }
}

impl Block {
    /// Reads the footer: the last 64 KiB, and a second read when it is larger (C107).
    ///
    /// # Errors
    /// When the file is no whole block, damaged, or of a newer version.
    pub fn open(source: Arc<dyn ReadAt>) -> Result<Arc<Self>, BlockError> {
        let footer = Footer::open(&*source)?;
        let dataset_ids = footer.datasets.iter().map(|_| DatasetId::next()).collect();
        Ok(Arc::new(Self { source, footer, dataset_ids, digests: Mutex::new(None) }))
    }

    /// Name of the file.
    #[must_use]
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Whose data it is.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.footer.tenant
    }

    /// The block in numbers.
    #[must_use]
    pub fn summary(&self) -> &BlockSummary {
        &self.footer.summary
    }

    /// Number of datasets.
    #[must_use]
    pub fn dataset_count(&self) -> usize {
        self.footer.datasets.len()
    }

    /// Service of a dataset.
    #[must_use]
    pub fn dataset_service(&self, position: usize) -> &str {
        &self.footer.datasets[position].service
    }

    /// Name of a dataset within this process; stays the same each time it is loaded.
    #[must_use]
    pub fn dataset_id(&self, position: usize) -> DatasetId {
        self.dataset_ids[position]
    }

    /// Whether a dataset has a profile that may start in the range.
    #[must_use]
    pub fn dataset_touches(&self, position: usize, range: TimeRange) -> bool {
        let dataset = &self.footer.datasets[position];
        range.touches(dataset.time_first, dataset.time_last)
    }

    /// Names of all series labels of a dataset, sorted.
    pub fn dataset_label_names(&self, position: usize) -> impl ExactSizeIterator<Item = &str> {
        self.footer.datasets[position].label_names.iter().map(String::as_str)
    }

    /// Profile types of a dataset in their five-part form with the sum over all its profiles, sorted by type.
    pub fn dataset_totals(&self, position: usize) -> impl ExactSizeIterator<Item = (&str, i128)> {
        self.footer.datasets[position].totals.iter().map(|total| (total.profile_type.as_str(), total.total))
    }

    /// Name, decoded bytes and bytes in the file of each section of a dataset, for tools that look at a file.
    pub fn section_sizes(&self, position: usize) -> impl ExactSizeIterator<Item = (&'static str, u64, u64)> {
        let sections = &self.footer.datasets[position].sections;
        sections.iter().map(|section| (section.kind.name(), section.raw_length(), section.length()))
    }

    /// Loads series and profiles of a dataset (some 150 bytes per profile); rows and symbols are read when asked for.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn dataset(self: &Arc<Self>, position: usize) -> Result<BlockDataset, BlockError> {
        BlockDataset::load(Arc::clone(self), position)
    }

    /// Whether a profile or attachment of this id is inside. The first call reads 8 bytes per profile and keeps them
    /// until [`Block::drop_digests`].
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn contains(self: &Arc<Self>, id: ProfileId) -> Result<bool, BlockError> {
        if self.digests()?.binary_search(&digest_key(id)).is_err() {
            return Ok(false);
        }
        // Seldom more than once per retry: the list keeps 64 of the 128 bits, the tables all of them.
        if self.attachments()?.iter().any(|attachment| attachment.id == id) {
            return Ok(true);
        }
        for position in 0..self.dataset_count() {
            let dataset = self.dataset(position)?;
            if dataset.table.profiles.iter().any(|profile| profile.id == id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn digests(&self) -> Result<Arc<[u64]>, BlockError> {
        let mut kept = lock(&self.digests);
        if let Some(digests) = &*kept {
            return Ok(Arc::clone(digests));
        }
        let section = self.section(SectionKind::Digests)?;
        let bytes = section.read_all(&*self.source)?;
        let (words, rest) = bytes.as_chunks::<8>();
        let digests: Arc<[u64]> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        if !rest.is_empty() || !digests.is_sorted() {
            return Err(section.corrupt(&*self.source, Malformed("is no sorted list")));
        }
        *kept = Some(Arc::clone(&digests));
        Ok(digests)
    }

    /// Frees what [`Block::contains`] keeps.
    pub fn drop_digests(&self) {
        lock(&self.digests).take();
    }

    /// All attachments, sorted by time.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn attachments(&self) -> Result<Vec<BlockAttachment>, BlockError> {
        Ok(self.attachment_list()?.into_iter().map(|(attachment, _)| attachment).collect())
    }

    /// Bytes of an attachment; `None` where there is none of that id.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn attachment_body(&self, id: ProfileId) -> Result<Option<Vec<u8>>, BlockError> {
        let list = self.attachment_list()?;
        let Some((attachment, offset)) = list.into_iter().find(|(attachment, _)| attachment.id == id) else {
            return Ok(None);
        };
        let mut body = Vec::new();
        let section = self.section(SectionKind::AttachmentBodies)?;
        section.read_range(&*self.source, offset, attachment.length, &mut body)?;
        Ok(Some(body))
    }

    fn attachment_list(&self) -> Result<Vec<(BlockAttachment, u64)>, BlockError> {
        if self.footer.summary.attachments == 0 {
            return Ok(Vec::new());
        }
        let section = self.section(SectionKind::Attachments)?;
        let bytes = section.read_all(&*self.source)?;
        read_attachments(&bytes).map_err(|malformed| section.corrupt(&*self.source, malformed))
    }

    fn section(&self, kind: SectionKind) -> Result<&Section, BlockError> {
        find(&self.footer.sections, kind, &*self.source)
    }
}

fn find<'a>(
    sections: &'a [Section],
    kind: SectionKind,
    source: &dyn ReadAt,
) -> Result<&'a Section, BlockError> {
    sections
        .iter()
        .find(|section| section.kind == kind)
        .ok_or_else(|| corrupt(source.name(), kind.name(), "is not there"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A dataset of a block; implements [`Dataset`].
pub struct BlockDataset {
    block: Arc<Block>,
    position: usize,
    series: Vec<Series>,
    table: ProfileTable,
    /// Where each profile begins in the row sections, decoded.
    starts: Vec<RowStarts>,
    /// Decoded start and place in the file of each chunk of rows.
    row_chunks: Vec<(u64, u64)>,
    symbols: Mutex<Option<Arc<BlockSymbols>>>,
    packer: Packer,
}

#[derive(Clone, Copy, Debug, Default)]
struct RowStarts {
    rows: u64,
    labels: u64,
    links: u64,
    times: u64,
}

impl BlockDataset {
    fn load(block: Arc<Block>, position: usize) -> Result<Self, BlockError> {
        let source = Arc::clone(&block.source);
        let entry = &block.footer.datasets[position];
        let counts = &entry.counts;
        let section = find(&entry.sections, SectionKind::Series, &*source)?;
        let series = read_series(&section.read_all(&*source)?, counts)
            .map_err(|malformed| section.corrupt(&*source, malformed))?;
        let section = find(&entry.sections, SectionKind::Profiles, &*source)?;
        let table = ProfileTable::read(&section.read_all(&*source)?, counts, &series)
            .map_err(|malformed| section.corrupt(&*source, malformed))?;
        let starts = row_starts(&table.lengths);
        let rows = find(&entry.sections, SectionKind::Rows, &*source)?;
        let (mut raw, mut offset) = (0, rows.offset);
        let mut row_chunks = Vec::with_capacity(rows.chunks.len());
        for chunk in &rows.chunks {
            row_chunks.push((raw, offset));
            raw += u64::from(chunk.raw_length);
            offset += u64::from(chunk.length);
        }
        let (symbols, packer) = (Mutex::new(None), Packer::new());
        Ok(Self { block, position, series, table, starts, row_chunks, symbols, packer })
    }

    /// Bytes that it holds now: profiles, series, and symbols while they are loaded.
    #[must_use]
    pub fn loaded_bytes(&self) -> u64 {
        let per_profile = size_of::<ProfileMeta>() + size_of::<RowLengths>() + size_of::<RowStarts>();
        let totals: usize = self.table.profiles.iter().map(|profile| profile.totals.len() * 8).sum();
        let labels: usize = self.series.iter().flat_map(|series| series.labels.iter()).map(label_bytes).sum();
        let tables = self.table.profiles.len() * per_profile + totals + labels;
        let is_loaded = lock(&self.symbols).is_some();
        tables as u64 + if is_loaded { self.symbol_bytes() } else { 0 }
    }

    /// Frees decoded symbols; the next call of [`Dataset::symbols`] reads them again.
    pub fn drop_symbols(&self) {
        lock(&self.symbols).take();
    }

    /// The block that it is part of.
    #[must_use]
    pub fn block(&self) -> &Arc<Block> {
        &self.block
    }

    fn entry(&self) -> &DatasetEntry {
        &self.block.footer.datasets[self.position]
    }

    fn source(&self) -> &dyn ReadAt {
        &*self.block.source
    }

    fn section(&self, kind: SectionKind) -> Result<&Section, BlockError> {
        find(&self.entry().sections, kind, self.source())
    }

    fn columns(&self, profile: &ProfileMeta) -> usize {
        self.series[profile.series as usize].series_type.columns.len()
    }

    /// Decoded symbols; one of several that ask at once reads them, the others wait.
    fn loaded_symbols(&self) -> Result<Arc<BlockSymbols>, BlockError> {
        let mut kept = lock(&self.symbols);
        if let Some(symbols) = &*kept {
            return Ok(Arc::clone(symbols));
        }
        let symbols = Arc::new(self.read_symbols()?);
        *kept = Some(Arc::clone(&symbols));
        Ok(symbols)
    }

    fn read_symbols(&self) -> Result<BlockSymbols, BlockError> {
        let counts = &self.entry().counts;
        let mut symbols = BlockSymbols::default();
        self.read_table(SectionKind::Strings, |bytes| symbols.read_strings(bytes, counts))?;
        self.read_table(SectionKind::Code, |bytes| symbols.read_code(bytes, counts))?;
        self.read_table(SectionKind::Frames, |bytes| symbols.read_frames(bytes, counts))?;
        self.read_table(SectionKind::FunctionNodes, |bytes| symbols.read_function_nodes(bytes, counts))?;
        let functions = self.section(SectionKind::NodeFunctions)?.read_all(self.source())?;
        self.read_table(SectionKind::Nodes, |bytes| symbols.read_nodes(bytes, &functions, counts))?;
        self.read_table(SectionKind::LabelSets, |bytes| symbols.read_label_sets(bytes, counts))?;
        self.read_table(SectionKind::Headers, |bytes| symbols.read_headers(bytes, counts))?;
        Ok(symbols)
    }

    fn read_table(
        &self,
        kind: SectionKind,
        read: impl FnOnce(&[u8]) -> Result<(), Malformed>,
    ) -> Result<(), BlockError> {
        let section = self.section(kind)?;
        let bytes = section.read_all(self.source())?;
        read(&bytes).map_err(|malformed| section.corrupt(self.source(), malformed))
    }

    /// Makes sure that `chunk` holds the chunk of a profile's rows, and says where in it they are.
    fn find_rows(
        &self,
        section: &Section,
        profile: u32,
        chunk: &mut LoadedChunk,
    ) -> Result<std::ops::Range<usize>, BlockError> {
        let start = self.starts[profile as usize].rows;
        let length = self.table.lengths[profile as usize].rows as usize;
        // Most profiles lie in the chunk of the one before.
        let is_loaded = chunk.index.is_some_and(|index| {
            let next = self.row_chunks.get(index + 1).map_or(u64::MAX, |&(raw_start, _)| raw_start);
            (self.row_chunks[index].0..next).contains(&start)
        });
        let index = match chunk.index {
            Some(index) if is_loaded => index,
            _ => self.row_chunks.partition_point(|&(raw_start, _)| raw_start <= start).saturating_sub(1),
        };
        let Some(&(raw_start, offset)) = self.row_chunks.get(index) else {
            return Err(section.corrupt(self.source(), Malformed("has no rows")));
        };
        if chunk.index != Some(index) {
            chunk.index = None;
            section.read_raw_chunk(self.source(), &section.chunks[index], offset, &mut chunk.bytes)?;
            chunk.bytes_read += chunk.bytes.len() as u64;
            chunk.index = Some(index);
        }
        let from = usize::try_from(start - raw_start).unwrap_or(usize::MAX);
        match from.checked_add(length) {
            Some(to) if to <= chunk.bytes.len() => Ok(from..to),
            _ => Err(section.corrupt(self.source(), Malformed("a profile's rows are not in one chunk"))),
        }
    }

    /// Reads what one profile has in an optional row section.
    fn read_extra(
        &self,
        kind: SectionKind,
        start: u64,
        length: u32,
        rows: &mut Rows,
        read: impl FnOnce(&[u8], &mut Rows) -> Result<(), Malformed>,
    ) -> Result<u64, BlockError> {
        if length == 0 {
            return Ok(0);
        }
        let section = self.section(kind)?;
        let mut bytes = Vec::new();
        let bytes_read = section.read_range(self.source(), start, u64::from(length), &mut bytes)?;
        read(&bytes, rows).map_err(|malformed| section.corrupt(self.source(), malformed))?;
        Ok(bytes_read)
    }
}

/// The chunk of rows that was read last.
#[derive(Default)]
struct LoadedChunk {
    index: Option<usize>,
    bytes: Vec<u8>,
    bytes_read: u64,
}

fn label_bytes((name, value): (&str, &str)) -> usize {
    name.len() + value.len() + 2 * size_of::<Box<str>>()
}

fn row_starts(lengths: &[RowLengths]) -> Vec<RowStarts> {
    let mut next = RowStarts::default();
    let starts = lengths.iter().map(|length| {
        let start = next;
        next.rows += u64::from(length.rows);
        next.labels += u64::from(length.labels);
        next.links += u64::from(length.links);
        next.times += u64::from(length.times);
        start
    });
    starts.collect()
}

impl Dataset for BlockDataset {
    fn id(&self) -> DatasetId {
        self.block.dataset_ids[self.position]
    }

    fn service(&self) -> &str {
        &self.entry().service
    }

    fn series_count(&self) -> u32 {
        self.entry().counts.series
    }

    fn series(&self, position: u32) -> &Series {
        &self.series[position as usize]
    }

    fn profile_count(&self) -> u32 {
        self.entry().counts.profiles
    }

    fn profile(&self, position: u32) -> &ProfileMeta {
        &self.table.profiles[position as usize]
    }

    fn symbols(&self) -> Result<Arc<dyn Symbols + '_>, BlockError> {
        Ok(self.loaded_symbols()?)
    }

    fn add_values(&self, picks: &[Pick], sums: &mut NodeSums) -> Result<u64, BlockError> {
        let section = self.section(SectionKind::Rows)?;
        let wrong = |malformed| section.corrupt(self.source(), malformed);
        let mut sorted = Vec::new();
        let picks = if picks.is_sorted_by_key(|pick| pick.profile) {
            picks
        } else {
            sorted.extend_from_slice(picks);
            sorted.sort_unstable_by_key(|pick| pick.profile);
            &sorted
        };
        let mut chunk = LoadedChunk::default();
        for pick in picks {
            let range = self.find_rows(section, pick.profile, &mut chunk)?;
            let profile = self.profile(pick.profile);
            let rows = PackedRows::read(&chunk.bytes[range], profile.rows, self.columns(profile));
            rows.and_then(|rows| rows.add(&self.packer, pick.column as usize, sums)).map_err(wrong)?;
        }
        sums.finish().map_err(|outside| wrong(outside.into()))?;
        Ok(chunk.bytes_read)
    }

    fn rows(&self, profile: u32, rows: &mut Rows) -> Result<u64, BlockError> {
        *rows = Rows::default();
        let section = self.section(SectionKind::Rows)?;
        let mut chunk = LoadedChunk::default();
        let range = self.find_rows(section, profile, &mut chunk)?;
        let meta = self.profile(profile);
        let counts = &self.entry().counts;
        PackedRows::read(&chunk.bytes[range], meta.rows, self.columns(meta))
            .and_then(|packed| packed.decode(&self.packer, counts.nodes, rows))
            .map_err(|malformed| section.corrupt(self.source(), malformed))?;
        let start = self.starts[profile as usize];
        let length = self.table.lengths[profile as usize];
        let mut bytes_read = chunk.bytes_read;
        let read_labels = |bytes: &[u8], rows: &mut Rows| read_row_labels(bytes, rows, counts);
        bytes_read +=
            self.read_extra(SectionKind::RowLabels, start.labels, length.labels, rows, read_labels)?;
        bytes_read +=
            self.read_extra(SectionKind::RowLinks, start.links, length.links, rows, read_row_links)?;
        bytes_read +=
            self.read_extra(SectionKind::RowTimes, start.times, length.times, rows, read_row_times)?;
        Ok(bytes_read)
    }

    fn row_bytes(&self, profile: u32) -> u64 {
        let lengths = &self.table.lengths[profile as usize];
        [lengths.rows, lengths.labels, lengths.links, lengths.times].map(u64::from).iter().sum()
    }

    fn is_in_file(&self) -> bool {
        true
    }

    fn symbol_bytes(&self) -> u64 {
        let counts = &self.entry().counts;
        let table = |count: u32, bytes_each: usize| u64::from(count) * bytes_each as u64;
        counts.text_bytes
            + table(counts.strings, size_of::<u32>())
            + table(counts.nodes, size_of::<crate::Node>())
            + table(counts.function_nodes, size_of::<crate::FunctionNode>())
            + table(counts.frames, size_of::<StoredFrame>())
            + table(counts.mappings, size_of::<crate::StoredMapping>())
            + table(counts.functions, size_of::<crate::StoredFunction>())
            + table(counts.locations, size_of::<crate::StoredLocation>())
            + table(counts.lines, size_of::<crate::StoredLine>())
            + table(counts.label_sets, size_of::<u32>())
            + table(counts.label_pairs, size_of::<crate::LabelPair>())
            + table(counts.headers, size_of::<crate::StoredHeader>())
    }
}

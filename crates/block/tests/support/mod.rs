//! A plain dataset in memory, built stack by stack, and what a reader must see of it.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use block::{
    BlockError, Dataset, DatasetId, FunctionNode, LabelPair, NONE, Node, NodeSums, Pick, ProfileMeta,
    RowPack, Rows, Series, StoredFrame, StoredFunction, StoredHeader, StoredLabelValue, StoredLine,
    StoredLocation, StoredMapping, Symbols,
};
use profile::{LabelSet, Link, MappingFlags, ProfileId, SeriesType, Temporality, Timestamp, TypedColumn};

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Symbol tables in the order in which things were met.
#[derive(Default)]
pub struct MemorySymbols {
    strings: Vec<Vec<u8>>,
    string_ids: HashMap<Vec<u8>, u32>,
    mappings: Vec<StoredMapping>,
    functions: Vec<StoredFunction>,
    function_ids: HashMap<StoredKey, u32>,
    locations: Vec<StoredLocation>,
    lines: Vec<StoredLine>,
    frames: Vec<StoredFrame>,
    frame_ids: HashMap<StoredFrame, u32>,
    function_nodes: Vec<FunctionNode>,
    function_node_ids: HashMap<(u32, u32), u32>,
    nodes: Vec<Node>,
    node_ids: HashMap<(u32, u32), u32>,
    label_sets: Vec<Vec<LabelPair>>,
    headers: Vec<StoredHeader>,
}

type StoredKey = (u32, u32, u32, i64);

impl MemorySymbols {
    pub fn new() -> Self {
        let mut symbols = Self { label_sets: vec![vec![]], ..Self::default() };
        symbols.string_id(b"");
        symbols
    }

    pub fn string_id(&mut self, text: &[u8]) -> u32 {
        if let Some(&id) = self.string_ids.get(text) {
            return id;
        }
        let id = self.strings.len() as u32;
        self.strings.push(text.to_vec());
        self.string_ids.insert(text.to_vec(), id);
        id
    }

    pub fn mapping_id(&mut self, file: &str, build_id: &str, start: u64) -> u32 {
        let (file, build_id) = (self.string_id(file.as_bytes()), self.string_id(build_id.as_bytes()));
        let flags = MappingFlags(5);
        let mapping =
            StoredMapping { start, limit: start + 0x10_0000, offset: 0x1000, file, build_id, flags };
        self.mappings.push(mapping);
        self.mappings.len() as u32 - 1
    }

    pub fn function_id(&mut self, name: &str, system_name: &str, file: &str, start_line: i64) -> u32 {
        let key = (
            self.string_id(name.as_bytes()),
            self.string_id(system_name.as_bytes()),
            self.string_id(file.as_bytes()),
            start_line,
        );
        if let Some(&id) = self.function_ids.get(&key) {
            return id;
        }
        let (name, system_name, file, start_line) = key;
        self.functions.push(StoredFunction { name, system_name, file, start_line });
        self.function_ids.insert(key, self.functions.len() as u32 - 1);
        self.functions.len() as u32 - 1
    }

    /// Lines are (function, line, column), innermost first.
    pub fn location_id(&mut self, mapping: u32, address: u64, lines: &[(u32, i64, i64)]) -> u32 {
        let (lines_start, lines_length) = (self.lines.len() as u32, lines.len() as u32);
        for &(function, line, column) in lines {
            self.lines.push(StoredLine { function, line, column });
        }
        let is_folded = address % 5 == 1;
        self.locations.push(StoredLocation { mapping, address, lines_start, lines_length, is_folded });
        self.locations.len() as u32 - 1
    }

    fn frames_of(&self, location: u32) -> Vec<StoredFrame> {
        let location = self.locations[location as usize];
        let mapping = (location.mapping != NONE).then(|| self.mappings[location.mapping as usize]);
        let nameless = StoredFrame {
            name: 0,
            system_name: 0,
            file: 0,
            mapping_file: mapping.map_or(0, |mapping| mapping.file),
            build_id: mapping.map_or(0, |mapping| mapping.build_id),
            address: location.address,
        };
        if location.lines_length == 0 {
            return vec![nameless];
        }
        let lines = &self.lines[location.lines_start as usize..][..location.lines_length as usize];
        let frame = |line: &StoredLine| {
            let StoredFunction { name, system_name, file, .. } = self.functions[line.function as usize];
            StoredFrame { name, system_name, file, mapping_file: 0, build_id: 0, address: 0 }
        };
        lines.iter().rev().map(frame).collect()
    }

    pub fn node_id(&mut self, parent: u32, location: u32) -> u32 {
        if let Some(&id) = self.node_ids.get(&(parent, location)) {
            return id;
        }
        let mut function_node = if parent == NONE { NONE } else { self.nodes[parent as usize].function_node };
        for frame in self.frames_of(location) {
            let next = self.frames.len() as u32;
            let frame_id = *self.frame_ids.entry(frame).or_insert(next);
            if frame_id == next {
                self.frames.push(frame);
            }
            let next = self.function_nodes.len() as u32;
            let id = *self.function_node_ids.entry((function_node, frame_id)).or_insert(next);
            if id == next {
                self.function_nodes.push(FunctionNode { parent: function_node, frame: frame_id });
            }
            function_node = id;
        }
        self.nodes.push(Node { parent, location, function_node });
        self.node_ids.insert((parent, location), self.nodes.len() as u32 - 1);
        self.nodes.len() as u32 - 1
    }

    pub fn label_set_id(&mut self, pairs: Vec<LabelPair>) -> u32 {
        if let Some(position) = self.label_sets.iter().position(|known| *known == pairs) {
            return position as u32;
        }
        self.label_sets.push(pairs);
        self.label_sets.len() as u32 - 1
    }

    pub fn header_id(&mut self, header: StoredHeader) -> u32 {
        self.headers.push(header);
        self.headers.len() as u32 - 1
    }
}

impl Symbols for MemorySymbols {
    fn node_count(&self) -> u32 {
        self.nodes.len() as u32
    }
    fn function_node_count(&self) -> u32 {
        self.function_nodes.len() as u32
    }
    fn frame_count(&self) -> u32 {
        self.frames.len() as u32
    }
    fn node(&self, id: u32) -> Node {
        self.nodes[id as usize]
    }
    fn function_node(&self, id: u32) -> FunctionNode {
        self.function_nodes[id as usize]
    }
    fn stored_frame(&self, id: u32) -> StoredFrame {
        self.frames[id as usize]
    }
    fn location(&self, id: u32) -> StoredLocation {
        self.locations[id as usize]
    }
    fn line(&self, id: u32) -> StoredLine {
        self.lines[id as usize]
    }
    fn function(&self, id: u32) -> StoredFunction {
        self.functions[id as usize]
    }
    fn mapping(&self, id: u32) -> StoredMapping {
        self.mappings[id as usize]
    }
    fn string(&self, id: u32) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.strings[id as usize])
    }
    fn label_set(&self, id: u32) -> Cow<'_, [LabelPair]> {
        Cow::Borrowed(&self.label_sets[id as usize])
    }
    fn label_set_count(&self) -> u32 {
        self.label_sets.len() as u32
    }
    fn header(&self, id: u32) -> Cow<'_, StoredHeader> {
        Cow::Borrowed(&self.headers[id as usize])
    }
}

pub struct MemoryDataset {
    pub service: String,
    pub series: Vec<Series>,
    pub profiles: Vec<ProfileMeta>,
    pub rows: Vec<Rows>,
    pub symbols: Arc<MemorySymbols>,
}

impl Dataset for MemoryDataset {
    fn id(&self) -> DatasetId {
        DatasetId(0)
    }
    fn service(&self) -> &str {
        &self.service
    }
    fn series_count(&self) -> u32 {
        self.series.len() as u32
    }
    fn series(&self, position: u32) -> &Series {
        &self.series[position as usize]
    }
    fn profile_count(&self) -> u32 {
        self.profiles.len() as u32
    }
    fn profile(&self, position: u32) -> &ProfileMeta {
        &self.profiles[position as usize]
    }
    fn symbols(&self) -> Result<Arc<dyn Symbols + '_>, BlockError> {
        Ok(Arc::clone(&self.symbols) as Arc<dyn Symbols>)
    }
    fn add_values(&self, picks: &[Pick], sums: &mut NodeSums) -> Result<u64, BlockError> {
        for pick in picks {
            let rows = &self.rows[pick.profile as usize];
            let width =
                self.series[self.profiles[pick.profile as usize].series as usize].series_type.columns.len();
            for (row, &node) in rows.nodes.iter().enumerate().filter(|(_, node)| **node != NONE) {
                let value = rows.values[row * width + pick.column as usize];
                sums.begin(value, 1);
                sums.add(&RowPack { node_before: node, distances: &[0], skipped: 0, numbers: &[0] });
            }
        }
        sums.finish().unwrap();
        Ok(0)
    }
    fn rows(&self, profile: u32, rows: &mut Rows) -> Result<u64, BlockError> {
        rows.clone_from(&self.rows[profile as usize]);
        Ok(0)
    }
    fn row_bytes(&self, profile: u32) -> u64 {
        self.rows[profile as usize].values.len() as u64 * 8
    }
    fn is_in_file(&self) -> bool {
        false
    }
    fn symbol_bytes(&self) -> u64 {
        0
    }
}

pub fn series(name: &str, columns: &[(&str, &str)], labels: &[(&str, &str)]) -> Series {
    Series {
        labels: LabelSet::from_pairs(labels.iter().copied()).unwrap(),
        series_type: SeriesType {
            name: name.into(),
            period_type: "cpu".into(),
            period_unit: "nanoseconds".into(),
            columns: columns
                .iter()
                .map(|&(kind, unit)| TypedColumn { sample_type: kind.into(), sample_unit: unit.into() })
                .collect(),
        },
        temporality: Temporality::Delta,
    }
}

/// Noon of 2026-11-29.
pub const NOON: i64 = 1_795_953_600_000_000_000;

/// A dataset with a bit of everything: several series, inlined lines, frames without names, folded locations, sample
/// labels of both kinds, links, times, empty stacks, negative and extreme values.
pub fn varied_dataset(seed: u64, profile_count: usize) -> MemoryDataset {
    let mut random = Random(seed);
    let mut symbols = MemorySymbols::new();
    let mappings =
        [symbols.mapping_id("/bin/app", "abc123", 0x40_0000), symbols.mapping_id("libc.so", "", 0x7f00)];
    let functions: Vec<u32> = (0..12)
        .map(|number| {
            let system = if number % 3 == 0 { String::new() } else { format!("_ZN{number}") };
            symbols.function_id(
                &format!("app.f{}", number % 9),
                &system,
                &format!("f{}.go", number % 4),
                number,
            )
        })
        .collect();
    let locations: Vec<u32> = (0..30)
        .map(|number| {
            let mapping = [mappings[0], mappings[1], NONE][random.below(3) as usize];
            let lines: Vec<(u32, i64, i64)> = (0..random.below(4))
                .map(|_| {
                    (functions[random.below(12) as usize], random.below(500) as i64, random.below(3) as i64)
                })
                .collect();
            symbols.location_id(mapping, 0x40_0000 + number * 37, &lines)
        })
        .collect();
    let series = vec![
        series(
            "process_cpu",
            &[("samples", "count"), ("cpu", "nanoseconds")],
            &[("service_name", "app"), ("pod", "b")],
        ),
        series("memory", &[("inuse_space", "bytes")], &[("service_name", "app")]),
        series(
            "process_cpu",
            &[("samples", "count"), ("cpu", "nanoseconds")],
            &[("service_name", "app"), ("pod", "a")],
        ),
    ];
    let headers = [
        StoredHeader::default(),
        StoredHeader {
            comments: vec![symbols.string_id(b"built by a test"), symbols.string_id(b"\xff\xfe")],
            default_sample_type: symbols.string_id(b"cpu"),
            drop_frames: symbols.string_id(b"runtime\\..*"),
            keep_frames: 0,
            doc_url: symbols.string_id(b"https://example.org/doc"),
            has_period_type: true,
            mappings: vec![1, 0],
        },
    ]
    .map(|header| symbols.header_id(header));
    let mut dataset = MemoryDataset {
        service: "app".into(),
        series,
        profiles: vec![],
        rows: vec![],
        symbols: Arc::default(),
    };
    for number in 0..profile_count {
        let series = random.below(3) as u32;
        let width = dataset.series[series as usize].series_type.columns.len();
        let rows = varied_rows(&mut random, &mut symbols, &locations, width);
        let totals: Vec<i64> = (0..width)
            .map(|column| {
                rows.values.iter().skip(column).step_by(width).fold(0_i64, |a, &b| a.wrapping_add(b))
            })
            .collect();
        let time = Timestamp(NOON + number as i64 * 15_000_000_123);
        let millis = if number % 7 == 3 { 42 } else { time.millis() as u64 };
        dataset.profiles.push(ProfileMeta {
            id: ProfileId::new(millis, u128::from(random.next()) << 16 | u128::from(number as u16)),
            series,
            time,
            duration_nanos: 10_000_000_000 + number as i64,
            period: 10_000_000,
            rows: rows.nodes.len() as u32,
            header: headers[random.below(2) as usize],
            totals: totals.into(),
            has_labels: !rows.label_sets.is_empty(),
            has_negative: rows.values.iter().any(|&value| value < 0),
        });
        dataset.rows.push(rows);
    }
    dataset.symbols = Arc::new(symbols);
    dataset
}

fn varied_rows(random: &mut Random, symbols: &mut MemorySymbols, locations: &[u32], width: usize) -> Rows {
    let mut rows = Rows::default();
    let (with_labels, with_links, with_times) =
        (random.below(2) == 0, random.below(3) == 0, random.below(3) == 0);
    for _ in 0..random.below(400) {
        let mut node = NONE;
        for _ in 0..random.below(6) {
            node = symbols.node_id(node, locations[random.below(locations.len() as u64) as usize]);
        }
        rows.nodes.push(node);
        let count = random.below(5) as i64 + 1;
        let value = match random.below(40) {
            0 => -count * 7,
            1 => i64::MAX - count,
            2 => i64::MIN + count,
            _ => count,
        };
        rows.values.push(value);
        if width == 2 {
            rows.values.push(value.wrapping_mul(if random.below(50) == 0 { 3 } else { 10_000_000 }));
        }
        if with_labels {
            let key = symbols.string_id(b"request");
            let pairs = match random.below(3) {
                0 => vec![],
                1 => {
                    let text = symbols.string_id(format!("r{}", random.below(5)).as_bytes());
                    vec![LabelPair { key, value: StoredLabelValue::Text(text) }]
                }
                _ => {
                    let unit = symbols.string_id(b"bytes");
                    let value = StoredLabelValue::Number { value: -(random.below(9) as i64), unit };
                    vec![LabelPair { key, value }, LabelPair { key, value: StoredLabelValue::Text(0) }]
                }
            };
            rows.label_sets.push(symbols.label_set_id(pairs));
        }
        if with_links {
            let byte = random.below(4) as u8;
            rows.links.push(Link { trace_id: [byte; 16], span_id: [byte; 8] });
        }
        if with_times {
            for _ in 0..random.below(3) {
                rows.timestamps.push(random.next());
            }
            rows.timestamp_ends.push(rows.timestamps.len() as u32);
        }
    }
    rows
}

/// Everything that a reader can see of a profile, in words and without ids.
pub fn describe(dataset: &dyn Dataset, position: u32) -> Vec<String> {
    let symbols = dataset.symbols().unwrap();
    let symbols = &*symbols;
    let profile = dataset.profile(position);
    let series = dataset.series(profile.series);
    let mut rows = Rows::default();
    dataset.rows(position, &mut rows).unwrap();
    let width = series.series_type.columns.len();
    let mut seen: Vec<String> = (0..rows.nodes.len())
        .map(|row| {
            let labels =
                rows.label_sets.get(row).map(|&set| describe_labels(symbols, set)).unwrap_or_default();
            let times = rows.timestamp_ends.get(row).map(|&end| {
                let start = if row == 0 { 0 } else { rows.timestamp_ends[row - 1] };
                rows.timestamps[start as usize..end as usize].to_vec()
            });
            format!(
                "{} {:?} {labels} {:?} {:?}",
                describe_stack(symbols, rows.nodes[row]),
                &rows.values[row * width..][..width],
                rows.links.get(row).copied().unwrap_or_default(),
                times.unwrap_or_default(),
            )
        })
        .collect();
    seen.sort();
    let header = symbols.header(profile.header);
    let texts = |ids: &[u32]| ids.iter().map(|&id| text(symbols, id)).collect::<Vec<_>>();
    let mappings: Vec<String> = header.mappings.iter().map(|&id| describe_mapping(symbols, id)).collect();
    seen.push(format!(
        "{:?} {:?} {:?} {} {mappings:?}",
        profile.id,
        series,
        texts(&header.comments),
        header.has_period_type
    ));
    let ids = [header.default_sample_type, header.drop_frames, header.keep_frames, header.doc_url];
    seen.push(format!(
        "{:?} {:?} {} {} {} {:?} {}",
        texts(&ids),
        profile.time,
        profile.duration_nanos,
        profile.period,
        profile.rows,
        profile.totals,
        profile.has_negative
    ));
    seen
}

fn text(symbols: &dyn Symbols, id: u32) -> String {
    format!("{:?}", symbols.string(id))
}

fn describe_labels(symbols: &dyn Symbols, set: u32) -> String {
    let pair = |pair: &LabelPair| match pair.value {
        StoredLabelValue::Text(value) => format!("{}={}", text(symbols, pair.key), text(symbols, value)),
        StoredLabelValue::Number { value, unit } => {
            format!("{}={value}{}", text(symbols, pair.key), text(symbols, unit))
        }
    };
    symbols.label_set(set).iter().map(pair).collect()
}

fn describe_mapping(symbols: &dyn Symbols, id: u32) -> String {
    if id == NONE {
        return "-".into();
    }
    let mapping = symbols.mapping(id);
    let (file, build_id) = (text(symbols, mapping.file), text(symbols, mapping.build_id));
    format!(
        "{:x}-{:x}+{:x} {file} {build_id} {:?}",
        mapping.start, mapping.limit, mapping.offset, mapping.flags
    )
}

fn describe_stack(symbols: &dyn Symbols, leaf: u32) -> String {
    let mut out = String::new();
    let mut node = leaf;
    while node != NONE {
        let one = symbols.node(node);
        let location = symbols.location(one.location);
        out += &format!(
            "/{} {:x} {}",
            describe_mapping(symbols, location.mapping),
            location.address,
            location.is_folded
        );
        for line in 0..location.lines_length {
            let line = symbols.line(location.lines_start + line);
            let function = symbols.function(line.function);
            let texts = [function.name, function.system_name, function.file].map(|id| text(symbols, id));
            out += &format!(" {texts:?} {} {} {}", function.start_line, line.line, line.column);
        }
        node = one.parent;
    }
    out += " as ";
    let mut node = if leaf == NONE { NONE } else { symbols.node(leaf).function_node };
    while node != NONE {
        let one = symbols.function_node(node);
        out += &format!("/{:?}", symbols.frame(one.frame));
        node = one.parent;
    }
    out
}

//! The binary flame reply: what is written is what was in the tree, byte for byte as in the golden files that the page's
//! reader is tested with too, and small enough for a network.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use std::path::PathBuf;

use api::flame_format::{encode_diff, encode_flame};
use profile::{LabelSet, Temporality, Tenant, Timestamp};
use query::{
    Answer, Control, DiffNode, DiffTree, Engine, FlameNode, FlameTree, NameMode, Rest, Selection, Selector,
};
use store::{MemoryDataset, NewProfile};
use testkit::{Fleet, FleetOptions, Random, read_flame};

const TYPE: &str = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";

fn stats(cut_nodes: u64, cut_value: i64) -> wire::Stats {
    wire::Stats {
        from: "2026-01-01T00:00:00Z".into(),
        to: "2026-01-01T01:00:00Z".into(),
        profiles: 3,
        samples: 17,
        series: 2,
        rounds: 1,
        bytes_scanned: 4_096,
        cut_nodes,
        cut_value,
        unsymbolised_value: 5,
        aggregation: "sum".into(),
        profile_type: TYPE.into(),
        notices: vec!["a sentence for people".into()],
    }
}

/// `(parent, name, own value)`; totals are summed up.
fn tree(nodes: &[(u32, &str, i64)]) -> FlameTree {
    let mut tree = FlameTree { unit: "nanoseconds".into(), ..FlameTree::default() };
    for (position, &(parent, name, self_value)) in nodes.iter().enumerate() {
        // The root's name is its own, also where a function is called so.
        let known = tree.names.iter().skip(1).position(|known| position > 0 && known == name);
        let name = known.map_or(tree.names.len(), |known| known + 1);
        if known.is_none() {
            tree.names.push(nodes[position].1.to_owned());
        }
        let name = u32::try_from(name).unwrap();
        tree.nodes.push(FlameNode { parent, name, self_value, total: self_value });
    }
    for position in (1..tree.nodes.len()).rev() {
        let FlameNode { parent, total, .. } = tree.nodes[position];
        tree.nodes[parent as usize].total += total;
    }
    tree.files = vec![String::new(); tree.names.len()];
    tree
}

fn small() -> FlameTree {
    let mut tree = tree(&[
        (0, "total", 0),
        (0, "main.main", 120),
        (1, "main.busyLoop", 7_100),
        (1, "net/http.(*conn).serve", 200),
        (3, "encoding/json.(*decodeState).object", 640),
        (3, "runtime.mallocgc", 640),
        (0, "runtime.mcall", 10),
        (6, "0x4711", 5),
    ]);
    for (name, file) in tree.names.iter().zip(&mut tree.files) {
        if name.starts_with("main.") {
            *file = "/src/main.go".into();
        }
    }
    tree.unsymbolised = vec![7];
    tree
}

fn cut() -> FlameTree {
    let mut tree = tree(&[
        (0, "total", 0),
        (0, "main", 1),
        (1, "other", 4),
        (1, "work", 9),
        (3, "what was cut", 30),
        (0, "what was cut", 12),
    ]);
    // A function has the name that the rest usually has.
    let position = tree.names.iter().position(|name| name == "what was cut").unwrap();
    tree.other = Some(u32::try_from(position).unwrap());
    tree.rest =
        vec![Rest { parent: 0, count: 3 }, Rest { parent: 1, count: 1 }, Rest { parent: 3, count: 4_000 }];
    tree
}

fn names() -> FlameTree {
    let long = "x".repeat(10_240);
    tree(&[
        (0, "total", 0),
        (0, "", 1),
        (0, "<img src=x onerror=alert(1)>", 2),
        (0, "a\u{0}b\u{1b}[31m", 3),
        (0, "e\u{301}", 4),
        (0, "total", 5),
        (0, "שלום::עולם", 6),
        (0, "处理请求", 7),
        (0, "🔥🔥", 8),
        (0, &long, 9),
    ])
}

fn extremes() -> FlameTree {
    let mut tree = tree(&[
        (0, "total", 0),
        (0, "a", 9_007_199_254_740_993),
        (1, "b", 9_214_364_837_600_034_813),
        (0, "negative", -9_007_199_254_740_993),
        (0, "zero", 0),
    ]);
    tree.unit = "count".into();
    tree
}

fn diff() -> DiffTree {
    let node = |parent, name, left_self, left_total, right_self, right_total| DiffNode {
        parent,
        name,
        left_self,
        left_total,
        right_self,
        right_total,
    };
    DiffTree {
        nodes: vec![
            node(0, 0, 0, 25, 0, 21),
            node(0, 1, 10, 10, 4, 4),
            node(0, 2, 0, 0, 7, 7),
            node(0, 3, 3, 10, 10, 10),
            node(3, 4, 7, 7, 0, 0),
            node(0, 5, 5, 5, 0, 0),
        ],
        names: ["total", "main.A", "main.B<&>", "main.C", "gone", "other"].map(String::from).to_vec(),
        files: ["", "a.go", "", "c.go", "", ""].map(String::from).to_vec(),
        unit: "nanoseconds".into(),
        other: Some(5),
        rest: vec![Rest { parent: 0, count: 2 }],
        unsymbolised: Vec::new(),
    }
}

fn empty() -> FlameTree {
    tree(&[(0, "total", 0)])
}

/// Compares bytes and content with the files of that name.
#[track_caller]
fn assert_golden(name: &str, bytes: &[u8]) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/flame-v1");
    let dump = format!("{:#}\n", read_flame(bytes).unwrap().to_json());
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.bin")), bytes).unwrap();
        std::fs::write(folder.join(format!("{name}.json")), &dump).unwrap();
    }
    let expected = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap_or_default();
    assert_eq!(dump, expected, "{name}.json differs; BLESS=1 writes it anew");
    let expected = std::fs::read(folder.join(format!("{name}.bin"))).unwrap_or_default();
    assert!(bytes == expected, "{name}.bin differs; BLESS=1 writes it anew, and the version is to be raised");
}

#[test]
fn version_1_stays_as_it_is() {
    let none = stats(0, 0);
    assert_golden("small", &encode_flame(&small(), &none).unwrap());
    assert_golden("cut", &encode_flame(&cut(), &stats(4_004, 42)).unwrap());
    assert_golden("names", &encode_flame(&names(), &none).unwrap());
    assert_golden("extremes", &encode_flame(&extremes(), &none).unwrap());
    assert_golden("diff", &encode_diff(&diff(), &stats(2, 5)).unwrap());
    assert_golden("empty", &encode_flame(&empty(), &wire::Stats::default()).unwrap());
}

#[test]
fn siblings_come_largest_first_and_equal_ones_by_name() {
    let dump = read_flame(&encode_flame(&small(), &stats(0, 0)).unwrap()).unwrap();
    let names: Vec<&str> =
        dump.nodes.iter().map(|node| dump.frames[node.frame as usize].name.as_str()).collect();
    assert_eq!(
        names,
        [
            "",
            "main.main",
            "main.busyLoop",
            "net/http.(*conn).serve",
            "encoding/json.(*decodeState).object",
            "runtime.mallocgc",
            "runtime.mcall",
            "0x4711"
        ]
    );
    let by_the_larger_side = read_flame(&encode_diff(&diff(), &stats(2, 5)).unwrap()).unwrap();
    let below_root = by_the_larger_side.nodes.iter().filter(|node| node.depth == 1);
    let sizes: Vec<i64> = below_root.map(|node| *node.totals.iter().max().unwrap()).collect();
    assert_eq!(sizes, [10, 10, 7]);
}

#[test]
fn what_was_cut_stands_in_a_table_of_its_own() {
    let dump = read_flame(&encode_flame(&cut(), &stats(4_004, 42)).unwrap()).unwrap();
    assert_eq!(dump.rest.iter().map(|rest| u64::from(rest.count)).sum::<u64>(), 4_004);
    assert_eq!(dump.rest.iter().map(|rest| rest.totals[0]).sum::<i64>(), 42);
    let is_named = |node: &testkit::NodeDump, name: &str| dump.frames[node.frame as usize].name == name;
    assert!(dump.nodes.iter().any(|node| is_named(node, "other")), "a function of that name stays");
    assert!(!dump.nodes.iter().any(|node| is_named(node, "what was cut")));
}

/// A dataset of one service and a decoder for what goes in.
struct Taken {
    memory: MemoryDataset,
    decoder: formats::Decoder,
}

impl Taken {
    fn new() -> Self {
        Self { memory: MemoryDataset::new("a"), decoder: formats::Decoder::new() }
    }

    fn add(&mut self, body: &[u8], time_nanos: i64) {
        let (profile, _) = self.decoder.pprof(body, &formats::Limits::default()).unwrap();
        let new = NewProfile {
            tenant: &Tenant::anonymous(),
            labels: LabelSet::from_pairs([("service_name", "a")]).unwrap(),
            name: "process_cpu",
            temporality: Temporality::Delta,
            profile,
            digest_bytes: body,
            time: Timestamp(time_nanos),
            time_is_stated: true,
            id: None,
        };
        self.memory.add(&new).unwrap();
    }

    fn flame(&self, nodes_max: usize) -> Answer<FlameTree> {
        let selection = Selection { selector: Selector::parse("cpu").unwrap(), ..Selection::default() };
        let engine = Engine::over(vec![self.memory.snapshot()]);
        engine.flame(&selection, NameMode::Display, nodes_max, &Control::default()).unwrap()
    }
}

#[test]
fn a_graph_of_100_000_nodes_is_at_most_300_kib_compressed() {
    const NODES: usize = 100_000;
    let mut taken = Taken::new();
    let mut options = FleetOptions::one();
    options.kinds[0].rows = 40_000;
    let mut fleet = Fleet::new(options);
    // Profiles until the merged tree is larger than what is sent of it.
    while taken.flame(0).data.nodes.len() <= NODES {
        for drawn in fleet.by_ref().take(8) {
            taken.add(&drawn.body, drawn.time_nanos);
        }
    }
    let Answer { data: tree, stats: took } = taken.flame(NODES);
    let stats = stats(took.cut_nodes, took.cut_value);
    let bytes = encode_flame(&tree, &stats).unwrap();
    assert_eq!(bytes, encode_flame(&tree, &stats).unwrap(), "equal trees give equal bytes");

    let dump = read_flame(&bytes).unwrap();
    assert_eq!(dump.nodes.len(), NODES);
    assert_eq!(dump.rest.iter().map(|rest| u64::from(rest.count)).sum::<u64>(), stats.cut_nodes);
    assert_eq!(dump.rest.iter().map(|rest| rest.totals[0]).sum::<i64>(), stats.cut_value);
    for pair in dump.nodes.windows(2) {
        let is_child = pair[1].depth > pair[0].depth;
        assert!(!is_child || pair[1].totals[0] <= pair[0].totals[0], "a callee is no larger");
    }
    let zstd = zstd::bulk::compress(&bytes, api::limits::ZSTD_LEVEL).unwrap().len();
    let gzip = formats::gzip(&bytes).len();
    for size in [zstd, gzip] {
        assert!(size <= 300 << 10, "{size} bytes compressed of {}", bytes.len());
    }
}

#[test]
fn a_cut_counts_every_node_that_it_leaves_out() {
    let mut taken = Taken::new();
    taken.add(&testkit::fixture("go-compiler/cpu.pb.gz"), 1_767_225_600_000_000_000);
    let whole = taken.flame(0).data;
    assert!(whole.rest.is_empty() && whole.other.is_none());
    for nodes_max in [1, 2, 50, 500] {
        let cut = taken.flame(nodes_max).data;
        let kept = cut.nodes.iter().filter(|node| !cut.is_other(node)).count();
        let counted: u64 = cut.rest.iter().map(|rest| rest.count).sum();
        assert_eq!((kept, counted), (nodes_max, (whole.nodes.len() - nodes_max) as u64));
    }
}

#[test]
fn the_reader_refuses_what_the_format_does_not_allow() {
    let bytes = encode_flame(&cut(), &stats(4_004, 42)).unwrap();
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        read_flame(&bytes)
    };
    let section = |kind: usize| {
        let entry = 16 + 12 * (kind - 1) + 4;
        u32::from_le_bytes([bytes[entry], bytes[entry + 1], bytes[entry + 2], bytes[entry + 3]]) as usize
    };
    assert!(changed(&|_| {}).is_ok());
    assert!(changed(&|bytes| bytes[0] = b'X').is_err(), "magic");
    assert!(changed(&|bytes| bytes[4] = 2).is_err(), "version");
    assert!(changed(&|bytes| bytes.truncate(bytes.len() - 1)).is_err(), "length");
    assert!(changed(&|bytes| bytes[6] = 0).is_err(), "flags");
    assert!(changed(&|bytes| bytes[16 + 4] += 1).is_err(), "an offset that is not aligned");
    assert!(changed(&|bytes| bytes[section(4)] = 255).is_err(), "a string that is not there");
    assert!(changed(&|bytes| bytes[section(11) + 4] = 255).is_err(), "a frame that is not there");
    assert!(changed(&|bytes| bytes[section(10) + 2] = 9).is_err(), "a jump in depth");
    assert!(changed(&|bytes| bytes[section(14)] = 255).is_err(), "a parent that is not there");
    let mut random = Random::new(7, 0);
    let mut refused = 0;
    for _ in 0..20_000 {
        let mut bytes = bytes.clone();
        testkit::mutate(&mut bytes, &mut random);
        refused += usize::from(read_flame(&bytes).is_err());
    }
    assert!(refused > 10_000, "only {refused} of 20,000 damaged replies were refused");
}

#[test]
fn a_tree_that_is_too_deep_is_refused() {
    let chain = |depth: u32| {
        let nodes: Vec<(u32, &str, i64)> = (0..=depth).map(|node| (node.saturating_sub(1), "f", 1)).collect();
        encode_flame(&tree(&nodes), &stats(0, 0))
    };
    assert!(read_flame(&chain(65_535).unwrap()).is_ok());
    let error = chain(65_536).unwrap_err();
    assert_eq!(error.status(), 413);
    assert!(error.message.contains("max_nodes"), "{error}");
}

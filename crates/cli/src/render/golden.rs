//! Golden files of drawings; `BLESS=1` writes them anew.

use std::path::PathBuf;

use query::{DiffNode, DiffTree, FlameNode, FlameTree, TopRow, TopTable};

use super::{text::display_width, *};

/// Compares with `tests/golden/NAME`, or writes it where `BLESS` is set.
fn assert_golden(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, actual).expect("golden file can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name} differs; BLESS=1 writes it anew");
}

/// Builds a tree from `(parent, name, own value)`; totals are summed up.
fn tree(nodes: &[(u32, &str, i64)], unit: &str) -> FlameTree {
    let mut names: Vec<String> = Vec::new();
    let mut built: Vec<FlameNode> = Vec::new();
    for &(parent, name, self_value) in nodes {
        let position = names.iter().position(|known| known == name).unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        let name = u32::try_from(position).unwrap();
        built.push(FlameNode { parent, name, self_value, total: self_value });
    }
    for position in (1..built.len()).rev() {
        let FlameNode { parent, total, .. } = built[position];
        built[parent as usize].total += total;
    }
    let files = names.iter().map(|_| String::new()).collect();
    let other =
        names.iter().position(|name| name == "other").map(|position| u32::try_from(position).unwrap());
    FlameTree { nodes: built, names, files, unit: unit.into(), other, ..FlameTree::default() }
}

fn small() -> FlameTree {
    tree(
        &[
            (0, "total", 0),
            (0, "main.main", 120_000_000),
            (1, "main.busyLoop", 7_100_000_000),
            (1, "net/http.(*conn).serve", 200_000_000),
            (3, "encoding/json.(*decodeState).object", 640_000_000),
            (3, "std::vec<&T>::push \"x\" \u{1b}[31m", 90_000_000),
            (0, "other", 150_000_000),
            (0, "runtime.mcall", 10_000_000),
            (7, "火焰图::プロファイル", 1_490_000_000),
        ],
        "nanoseconds",
    )
}

fn small_diff() -> DiffTree {
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
            node(0, 0, 0, 20, 0, 21),
            node(0, 1, 10, 10, 4, 4),
            node(0, 2, 0, 0, 7, 7),
            node(0, 3, 10, 10, 10, 10),
        ],
        names: ["total", "main.A", "main.B<&>", "main.C"].map(String::from).to_vec(),
        unit: "count".into(),
        ..DiffTree::default()
    }
}

fn options(columns: usize, palette: Palette) -> IcicleOptions {
    IcicleOptions { columns, rows_max: 0, paths_max: 4, palette }
}

fn svg_options() -> SvgOptions {
    SvgOptions { title: "cpu <of> \"a\"".into(), subtitle: "9.80 s".into(), width: 800, rows_max: 0 }
}

#[test]
fn icicle_plain() {
    assert_golden("icicle_plain.txt", &icicle_flame(&small(), &options(80, Palette::Plain)));
    assert_golden("icicle_narrow.txt", &icicle_flame(&small(), &options(40, Palette::Plain)));
}

#[test]
fn icicle_colours() {
    assert_golden("icicle_256.txt", &icicle_flame(&small(), &options(80, Palette::Indexed)));
    assert_golden("icicle_full.txt", &icicle_flame(&small(), &options(80, Palette::Full)));
}

#[test]
fn diffs() {
    assert_golden("diff_plain.txt", &icicle_diff(&small_diff(), &options(80, Palette::Plain)));
    assert_golden("diff.svg", &svg_diff(&small_diff(), &svg_options()));
    let table = TableOptions { columns: Some(80), rows_max: 10, palette: Palette::Plain };
    assert_golden("diff_table.txt", &diff_table(&diff_functions(&small_diff()), "count", &table));
}

#[test]
fn svg() {
    assert_golden("flame.svg", &svg_flame(&small(), &svg_options()));
}

#[test]
fn folded_stacks() {
    let mut out = Vec::new();
    folded(&small(), &mut out).unwrap();
    assert_golden("flame.folded", &String::from_utf8(out).unwrap());
}

#[test]
fn json_documents() {
    let mut out = Vec::new();
    flame_json(&small(), &mut out).unwrap();
    diff_json(&small_diff(), &mut out).unwrap();
    let row =
        |name: &str, self_value, total| TopRow { name: name.into(), file: String::new(), self_value, total };
    let table = TopTable {
        unit: "bytes".into(),
        total: i64::MAX,
        rows: vec![row("a\"<\n", 7, i64::MAX), row("b", 0, 9)],
    };
    top_json(&table, 1, &mut out).unwrap();
    assert_golden("documents.json", &String::from_utf8(out).unwrap());
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for columns in 24..120 {
        let drawing = icicle_flame(&small(), &options(columns, Palette::Plain))
            + &icicle_diff(&small_diff(), &options(columns, Palette::Plain));
        for line in drawing.lines() {
            assert!(display_width(line) <= columns, "{columns}: {line}");
        }
    }
}

#[test]
fn c026_deep_recursion_is_drawn_without_recursion() {
    let nodes: Vec<(u32, &str, i64)> = (0..16_385u32)
        .map(|depth| (depth.saturating_sub(1), "main.recurse", i64::from(depth == 16_384)))
        .collect();
    let deep = tree(&nodes, "count");
    let drawing = icicle_flame(&deep, &IcicleOptions { rows_max: 40, ..options(80, Palette::Plain) });
    assert!(drawing.contains("… 16345 deeper rows are not shown"), "{drawing}");
    assert!(svg_flame(&deep, &svg_options()).ends_with("</svg>\n"));
    let mut out = Vec::new();
    folded(&deep, &mut out).unwrap();
    assert_eq!(out.split(|&byte| byte == b';').count(), 16_384);
}

#[test]
fn empty_and_all_zero_trees() {
    let empty = FlameTree::default();
    let zero = tree(&[(0, "total", 0), (0, "a", 0)], "count");
    for nothing in [empty, zero] {
        assert_eq!(icicle_flame(&nothing, &options(80, Palette::Plain)), "no samples\n");
        assert!(svg_flame(&nothing, &svg_options()).contains("no samples"));
        let mut out = Vec::new();
        folded(&nothing, &mut out).unwrap();
        assert!(out.is_empty());
    }
}

#[test]
fn c091_an_other_node_is_drawn_as_no_function() {
    let drawing = svg_flame(&small(), &svg_options());
    let other = drawing.lines().find(|line| line.contains("<title>other&#10;")).unwrap();
    assert!(other.contains("#d4d4d8"), "{other}");
}

//! Cases and decisions that a query answers for, each named after its row. What else a question answers is in
//! `answers.rs`.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use profile::MappingIndex;
use query::{
    Aggregation, Engine, NameMode, QueryError, SampleLabels, Selection, StepRange, TypeSelector, limits,
    nodes_max,
};
use support::*;

#[test]
fn c006_pprof_sample_without_locations() {
    let mut service = Service::new("a");
    service.cpu(&[], 0, &[("main;work", 5), ("", 3)]);
    let engine = service.engine();
    assert_eq!(
        flame_lines(&engine, &select("{}")),
        ["total 0 8", "total;(no stack) 3 3", "total;main 0 5", "total;main;work 5 5"]
    );
}

/// A dataset none of whose samples has a stack has no nodes at all.
#[test]
fn profiles_of_empty_stacks_alone_are_answered() {
    let mut service = Service::new("a");
    service.cpu(&[], 0, &[("", 3)]);
    let engine = service.engine();
    assert_eq!(flame_lines(&engine, &select("{}")), ["total 0 3", "total;(no stack) 3 3"]);
    let cut = engine.flame(&select("{}"), NameMode::Raw, 1, &control()).unwrap().data;
    assert_eq!(lines(&cut), ["total 0 3", "total;other* 3 3"]);
    assert_eq!(engine.top(&select("{}"), NameMode::Raw, &control()).unwrap().data.rows.len(), 1);
}

#[test]
fn c013_pprof_inline_chain_leaf() {
    let mut made = Made::new(&[("cpu", "nanoseconds")]);
    let lines: Vec<_> = ["b", "a", "main"].map(|name| made.function(name, "", "")).to_vec();
    let leaf = made.location(MappingIndex::NONE, 0x10, &lines);
    made.sample(&[leaf], &[7]);
    let mut service = Service::new("a");
    service.push("process_cpu", &[], 0, &made.profile());
    assert_eq!(
        flame_lines(&service.engine(), &select("{}")),
        ["total 0 7", "total;main 0 7", "total;main;a 0 7", "total;main;a;b 7 7"]
    );
}

#[test]
fn c016_the_second_of_two_equal_columns_is_not_added() {
    let body = {
        let mut made = Made::new(&[("samples", "count"), ("samples", "count")]);
        made.stack("main", &[3, 40]);
        formats::encode_pprof(&made.profile())
    };
    let mut service = Service::new("a");
    decode(&body, |profile| service.push("process_cpu", &[], 0, profile)).unwrap();
    let engine = service.engine();
    let answer = engine.flame(&select("samples{}"), NameMode::Display, 0, &control()).unwrap();
    assert_eq!(answer.data.nodes[0].total, 3);
    assert_eq!(engine.profile_types(&select("{}"), &control()).unwrap().data.len(), 2);
}

#[test]
fn c026_deep_recursion() {
    let names = vec!["f"; 16_384].join(";");
    let mut service = Service::new("a");
    service.cpu(&[], 0, &[(&names, 2)]);
    let engine = service.engine();
    let flame = engine.flame(&select("{}"), NameMode::Display, 0, &control()).unwrap().data;
    assert_eq!(flame.nodes.len(), 16_385);
    let cut = engine.flame(&select("{}"), NameMode::Display, 100, &control()).unwrap().data;
    assert_eq!((cut.nodes.len(), cut.nodes[0].total), (101, 2));
    let top = engine.top(&select("{}"), NameMode::Display, &control()).unwrap().data;
    assert_eq!((top.rows.len(), top.rows[0].self_value, top.rows[0].total), (1, 2, 2));
    let body = engine.pprof(&select("{}"), &control()).unwrap().data;
    assert_eq!(decode(&body, |profile| profile.sample(0).stack.len()).unwrap(), 16_384);
}

#[test]
fn c028_diff_signs() {
    let mut service = Service::new("a");
    service.cpu(&[("side", "base")], 0, &[("A", 10)]);
    service.cpu(&[("side", "new")], 0, &[("A", 4), ("B", 7)]);
    let diff = service
        .engine()
        .diff(&select("{side=\"base\"}"), &select("{side=\"new\"}"), NameMode::Display, 0, &control())
        .unwrap()
        .data;
    let rows: Vec<(&str, i64, i64)> = diff
        .nodes
        .iter()
        .map(|node| (diff.names[node.name as usize].as_str(), node.left_total, node.right_total))
        .collect();
    assert_eq!(rows, [("total", 10, 11), ("A", 10, 4), ("B", 0, 7)]);
}

#[test]
fn c033_per_second_maths() {
    // 190 samples at 19 Hz over 10 s, each worth a period of 1/19 s.
    let mut service = Service::new("a");
    service.cpu(&[], 0, &[("main", 190 * 1_000_000_000 / 19)]);
    let steps = steps(0, 10, 10);
    let timeline = service.engine().timeline(&select("{}"), steps, &[], &control()).unwrap().data;
    let (_, value) = timeline.series[0].points[0];
    assert_eq!(value as f64 / steps.rate_divisor(&timeline.unit), 1.0);
    assert_eq!(190.0 / steps.rate_divisor("count"), 19.0);
    assert_eq!(10_000.0 / steps.rate_divisor("milliseconds"), 1.0);
}

#[test]
fn c034_instant_types_are_averaged_and_never_summed() {
    let mut service = Service::new("a");
    for (at, alloc, inuse) in [(0, 100, 50), (15, 50, 40), (30, 50, 60)] {
        let mut made = Made::new(&[("alloc_space", "bytes"), ("inuse_space", "bytes")]);
        made.stack("main", &[alloc, inuse]);
        service.push("memory", &[], at, &made.profile());
    }
    let engine = service.engine();
    let total = |selector: &str, aggregation| {
        let selection = Selection { aggregation, ..select(selector) };
        let answer = engine.flame(&selection, NameMode::Display, 0, &control()).unwrap();
        (answer.data.nodes[0].total, answer.stats.aggregation, answer.stats.rounds)
    };
    assert_eq!(total("alloc_space", Aggregation::Native), (200, "sum", 1));
    assert_eq!(total("inuse_space", Aggregation::Native), (50, "avg", 3));
    assert_eq!(total("inuse_space", Aggregation::Sum), (150, "sum", 1));
    assert_eq!(total("inuse_space", Aggregation::Last), (60, "last", 1));
    let points = |aggregation| {
        let selection = Selection { aggregation, ..select("inuse_space") };
        engine.timeline(&selection, steps(0, 60, 30), &[], &control()).unwrap().data.series[0].points.clone()
    };
    assert_eq!(points(Aggregation::Native), [(0, 45), (1, 60)]);
    assert_eq!(points(Aggregation::Sum), [(0, 90), (1, 60)]);
    assert_eq!(points(Aggregation::Last), [(0, 40), (1, 60)]);
}

/// D7: rounds are the distinct start times of each series; series are added up; small values do not round away.
#[test]
fn averages_of_several_series_are_exact_in_sum() {
    let mut service = Service::new("a");
    let goroutines = |names: &[&str]| {
        let mut made = Made::new(&[("goroutine", "count")]);
        for name in names {
            made.stack(name, &[1]);
        }
        made
    };
    for at in 0..3 {
        service.push(
            "goroutines",
            &[("pod", "a")],
            at,
            &goroutines(&["main;x", "main;y"][..2 - (at as usize).min(1)]).profile(),
        );
    }
    for at in 0..2 {
        service.push("goroutines", &[("pod", "b")], at, &goroutines(&["main;z"]).profile());
    }
    let answer = service.engine().flame(&select("goroutine"), NameMode::Display, 0, &control()).unwrap();
    // x: 3/3, y: 1/3, z: 2/2 → 2⅓ in all.
    assert_eq!(
        lines(&answer.data),
        ["total 0 2", "total;main 0 2", "total;main;x 1 1", "total;main;y 0 0", "total;main;z 1 1"]
    );
    assert_eq!((answer.stats.rounds, answer.stats.series), (3, 2));
    let top = service.engine().top(&select("goroutine"), NameMode::Display, &control()).unwrap().data;
    assert_eq!((top.total, top.rows[0].self_value, top.rows[1].self_value), (2, 1, 1));
}

#[test]
fn c081_quoted_labels_choose_profiles() {
    let mut service = Service::new("a");
    service.cpu(&[("温度", "热"), ("k8s-app", "x")], 0, &[("main", 1)]);
    service.cpu(&[("温度", "冷")], 0, &[("main", 2)]);
    let engine = service.engine();
    assert_eq!(flame_lines(&engine, &select("{\"温度\"=\"热\"}"))[0], "total 0 1");
    assert_eq!(flame_lines(&engine, &select("{\"k8s-app\"!=\"x\"}"))[0], "total 0 2");
    let names = engine.label_names(&select("{}"), &control()).unwrap().data;
    assert_eq!(names, ["k8s-app", "service_name", "温度"]);
    assert_eq!(engine.label_values(&select("{}"), "温度", &control()).unwrap().data, ["冷", "热"]);
}

#[test]
fn c086_max_nodes_extremes() {
    assert_eq!(nodes_max(Some(i64::MAX), 8_192).unwrap(), limits::FLAME_NODES_MAX);
    assert_eq!(nodes_max(Some(0), 8_192).unwrap(), 8_192);
    assert_eq!(nodes_max(None, 200).unwrap(), 200);
    assert_eq!(nodes_max(Some(-1), 8_192).unwrap_err().to_string(), "max_nodes: -1 is negative");
    let mut service = Service::new("a");
    service.cpu(&[], 0, &[("main;a", 1), ("main;b", 2)]);
    let engine = service.engine();
    for nodes in [usize::MAX, 1_000, 4] {
        let flame = engine.flame(&select("{}"), NameMode::Display, nodes, &control()).unwrap().data;
        assert_eq!((flame.nodes.len(), flame.other), (4, None), "{nodes}");
    }
    let flame = engine.flame(&select("{}"), NameMode::Display, 1, &control()).unwrap().data;
    assert_eq!(lines(&flame), ["total 0 3", "total;other* 3 3"]);
}

#[test]
fn c087_empty_result_forms() {
    let mut service = Service::new("a");
    service.cpu(&[], 0, &[("main", 1)]);
    for engine in [service.engine(), Engine::over(Vec::new())] {
        for nothing in [select("{service_name=\"none\"}"), Selection { range: range(5, 6), ..select("{}") }] {
            let control = control();
            let flame = engine.flame(&nothing, NameMode::Display, 100, &control).unwrap();
            assert_eq!(lines(&flame.data), ["total 0 0"]);
            assert_eq!((flame.stats.profiles, flame.stats.notices.len()), (0, 1));
            assert!(engine.top(&nothing, NameMode::Raw, &control).unwrap().data.rows.is_empty());
            let callers = engine.callers(&nothing, NameMode::Raw, "main", &control).unwrap().data;
            assert_eq!((callers.function.total, callers.callers.len()), (0, 0));
            assert!(
                engine.timeline(&nothing, steps(0, 60, 1), &[], &control).unwrap().data.series.is_empty()
            );
            let diff = engine.diff(&nothing, &nothing, NameMode::Display, 9, &control).unwrap().data;
            assert_eq!((diff.nodes.len(), diff.names[0].as_str()), (1, "total"));
            assert!(engine.profiles(&nothing, 0, &control).unwrap().data.is_empty());
            assert!(engine.services(&nothing, &control).unwrap().data.is_empty());
            assert!(engine.label_names(&nothing, &control).unwrap().data.is_empty());
            assert!(engine.series(&nothing, &[], SampleLabels::All, &control).unwrap().data.is_empty());
            assert!(engine.profile_types(&nothing, &control).unwrap().data.is_empty());
            for (profile_type, column) in
                [("", "samples/count"), ("cpu", "cpu/nanoseconds"), ("x", "x/count")]
            {
                let profile_type = match profile_type {
                    "" => TypeSelector::Default,
                    short => TypeSelector::Short(short.into()),
                };
                let nothing = Selection { profile_type, ..nothing.clone() };
                let body = engine.pprof(&nothing, &control).unwrap().data;
                decode(&body, |profile| {
                    let [only] = profile.columns.sample_types.as_slice() else {
                        panic!("pprof wants a column")
                    };
                    let text = format!("{}/{}", profile.text_of(only.kind), profile.text_of(only.unit));
                    assert_eq!((text.as_str(), profile.columns.sample_count()), (column, 0));
                })
                .unwrap();
            }
        }
    }
}

#[test]
fn c095_function_without_name() {
    let mut made = Made::new(&[("cpu", "nanoseconds")]);
    let mapping = made.mapping("/lib/linux-vdso.so", "");
    let system = made.function("", "_ZN3foo3barEv", "");
    let nameless = made.function("", "", "");
    let with_system = made.location(mapping, 0x1010, &[system]);
    let without = made.location(mapping, 0x1a4c, &[nameless]);
    let bare = made.location(mapping, 0x1b00, &[]);
    let nowhere = made.location(MappingIndex::NONE, 0xffff_ffff_8100_0000, &[]);
    for (location, value) in [(with_system, 1), (without, 2), (bare, 4), (nowhere, 8)] {
        made.sample(&[location], &[value]);
    }
    let mut service = Service::new("a");
    service.push("process_cpu", &[], 0, &made.profile());
    let engine = service.engine();
    let answer = engine.flame(&select("{}"), NameMode::Display, 0, &control()).unwrap();
    assert_eq!(
        lines(&answer.data),
        [
            "total 0 15",
            "total;0xffffffff81000000 8 8",
            "total;foo::bar() 1 1",
            "total;linux-vdso.so 0xa4c 2 2",
            "total;linux-vdso.so 0xb00 4 4",
        ]
    );
    assert_eq!(answer.stats.unsymbolised_value, 14);
    let raw = engine.top(&select("{}"), NameMode::Raw, &control()).unwrap().data;
    let rows: Vec<(&str, i64)> = raw.rows.iter().map(|row| (row.name.as_str(), row.self_value)).collect();
    assert_eq!(rows, [("<unknown>", 8), ("[linux-vdso.so]", 7)]);
}

#[test]
fn c110_time_filter_honoured() {
    let mut service = Service::new("a");
    service.cpu(&[], 9 * 3_600, &[("main", 1)]);
    service.cpu(&[], 10 * 3_600, &[("main", 2)]);
    let engine = service.engine();
    let at =
        |from, to| flame_lines(&engine, &Selection { range: range(from, to), ..select("{}") })[0].clone();
    assert_eq!(at(9 * 3_600 + 1_800, 9 * 3_600 + 2_700), "total 0 0");
    assert_eq!(at(9 * 3_600, 9 * 3_600 + 1), "total 0 1");
    // Half-open (D10): the start is inside, the end is not.
    assert_eq!(at(9 * 3_600, 10 * 3_600), "total 0 1");
    assert_eq!(at(9 * 3_600, 10 * 3_600 + 1), "total 0 3");
}

/// D5: a sum that does not fit is an error and no wrap; beside it smaller selections work.
#[test]
fn sums_that_do_not_fit_are_an_error() {
    let mut service = Service::new("a");
    service.cpu(&[("pod", "a")], 0, &[("main", i64::MAX - 1)]);
    service.cpu(&[("pod", "b")], 1, &[("main", 2)]);
    let engine = service.engine();
    let error = engine.flame(&select("{}"), NameMode::Display, 0, &control()).unwrap_err();
    assert!(matches!(error, QueryError::Overflow), "{error}");
    assert!(matches!(engine.top(&select("{}"), NameMode::Raw, &control()), Err(QueryError::Overflow)));
    assert!(matches!(engine.pprof(&select("{}"), &control()), Err(QueryError::Overflow)));
    assert_eq!(flame_lines(&engine, &select("{pod=\"a\"}"))[0], format!("total 0 {}", i64::MAX - 1));
    let timeline = engine.timeline(&select("{}"), steps(0, 4, 2), &[], &control());
    assert!(matches!(timeline, Err(QueryError::Overflow)));
}

/// D5: what does not fit harms its own group alone, be it in a step, in the total, or only in both groups together.
#[test]
fn groups_that_do_not_fit_are_named_and_the_others_answered() {
    let mut service = Service::new("a");
    for (pod, at, value) in [
        ("good", 0, 7),
        ("large", 0, i64::MAX),
        ("step", 1, i64::MAX),
        ("step", 1, 1),
        ("total", 0, i64::MAX),
        ("total", 2, 1),
    ] {
        service.cpu(&[("pod", pod)], at, &[("main", value)]);
    }
    let engine = service.engine();
    let group_by = ["pod".to_owned()];
    let answer = engine.timeline(&select("{}"), steps(0, 4, 2), &group_by, &control()).unwrap();
    let totals: Vec<(String, i64)> =
        answer.data.series.iter().map(|series| (series.labels.to_string(), series.total)).collect();
    assert_eq!(totals, [("{pod=\"large\"}".to_owned(), i64::MAX), ("{pod=\"good\"}".to_owned(), 7)]);
    let named: Vec<String> = answer.data.overflowing.iter().map(ToString::to_string).collect();
    assert_eq!(named, ["{pod=\"step\"}", "{pod=\"total\"}"]);
    assert_eq!(answer.stats.notices, ["groups left out because their values do not fit in 64 bits: 2"]);
    assert!(matches!(answer.data.whole(), Err(QueryError::Overflow)));
    // A range without the step that is too large has the group again.
    let early = StepRange { range: range(0, 2), step_nanos: 2_000_000_000 };
    let answer = engine.timeline(&select("{pod=\"total\"}"), early, &group_by, &control()).unwrap().data;
    assert_eq!((answer.series[0].total, answer.overflowing.len()), (i64::MAX, 0));
}

//! What each question answers: names joined, labels of samples, spans, call sites, listings, pprof; and what ends a query.
//! Documented cases are in `cases.rs`.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use profile::{LabelSet, MappingIndex, TimeRange};
use query::{Control, NameMode, QueryError, SampleLabels, Selection, SpanFilter, StepRange, TypeSelector};
use support::*;

/// R6: functions of one display name are one; raw names stay apart.
#[test]
fn functions_of_one_display_name_are_joined() {
    let mut service = Service::new("a");
    service.cpu(&[], 0, &[("_ZN3foo3barEv;x", 1), ("foo::bar();x", 2)]);
    let engine = service.engine();
    assert_eq!(
        flame_lines(&engine, &select("{}")),
        ["total 0 3", "total;foo::bar() 0 3", "total;foo::bar();x 3 3"]
    );
    let raw = engine.top(&select("{}"), NameMode::Raw, &control()).unwrap().data;
    assert_eq!(raw.rows.len(), 3);
}

#[test]
fn callers_and_callees_count_each_stack_once() {
    let mut service = Service::new("a");
    service.cpu(&[], 0, &[("main;f;g", 1), ("main;f;f;g", 2), ("f", 4), ("other;f;g;f", 8), ("main;g", 16)]);
    let table = service.engine().callers(&select("{}"), NameMode::Display, "f", &control()).unwrap().data;
    let pairs = |sides: &[query::FunctionSide]| -> Vec<(String, i64)> {
        sides.iter().map(|side| (side.name.clone(), side.value)).collect()
    };
    assert_eq!((table.total, table.function.self_value, table.function.total), (31, 12, 15));
    let callers =
        [("g", 8), ("other", 8), ("", 4), ("main", 3)].map(|(name, value)| (name.to_owned(), value));
    assert_eq!(pairs(&table.callers), callers);
    assert_eq!(pairs(&table.callees), [("g".to_owned(), 11)]);
}

/// D6: sample labels make no series and answer to matchers, names, values, group-by and series.
#[test]
fn sample_labels_answer_wherever_labels_are_named() {
    let mut made = Made::new(&[("cpu", "nanoseconds")]);
    for (names, value, endpoint) in
        [("main;a", 1, "/x"), ("main;a", 2, "/y"), ("main;b", 4, "/x"), ("main;b", 8, "")]
    {
        made.stack(names, &[value]);
        if endpoint.is_empty() { made.label("thread", "7") } else { made.label("endpoint", endpoint) }
    }
    let mut service = Service::new("a");
    service.push("process_cpu", &[("pod", "p")], 0, &made.profile());
    service.cpu(&[("endpoint", "/x")], 1, &[("main;c", 16)]);
    let engine = service.engine();
    let total = |selector: &str| flame_lines(&engine, &select(selector))[0].clone();
    assert_eq!(total("{endpoint=\"/x\"}"), "total 0 21");
    assert_eq!(total("{endpoint=\"\"}"), "total 0 8");
    assert_eq!(total("{endpoint!~\"/x|/y\"}"), "total 0 8");
    assert_eq!(total("{pod=\"p\",endpoint=~\"/.\"}"), "total 0 7");
    assert_eq!(total("{endpoint=\"/z\"}"), "total 0 0");
    assert_eq!(
        engine.label_names(&select("{}"), &control()).unwrap().data,
        ["endpoint", "pod", "service_name", "thread"]
    );
    assert_eq!(engine.label_values(&select("{}"), "endpoint", &control()).unwrap().data, ["/x", "/y"]);
    let group_by = ["endpoint".to_owned()];
    let timeline = engine.timeline(&select("{}"), steps(0, 10, 10), &group_by, &control()).unwrap().data;
    let groups: Vec<(Option<&str>, i64)> =
        timeline.series.iter().map(|series| (series.labels.get("endpoint"), series.total)).collect();
    assert_eq!(groups, [(Some("/x"), 21), (None, 8), (Some("/y"), 2)]);
    let series = engine
        .series(&select("{}"), &["endpoint".into(), "pod".into()], SampleLabels::All, &control())
        .unwrap()
        .data;
    let expected: Vec<LabelSet> = vec![
        labels(&[("endpoint", "/x")]),
        labels(&[("endpoint", "/x"), ("pod", "p")]),
        labels(&[("endpoint", "/y"), ("pod", "p")]),
        labels(&[("pod", "p")]),
    ];
    assert_eq!(series, expected);
    assert_eq!(engine.profiles(&select("{endpoint=\"/y\"}"), 0, &control()).unwrap().data.len(), 1);
    assert!(engine.profiles(&select("{endpoint=\"/z\"}"), 0, &control()).unwrap().data.is_empty());
}

#[test]
fn spans_and_traces_choose_rows() {
    let mut made = Made::new(&[("cpu", "nanoseconds")]);
    for (names, value, span, trace) in [("main;a", 1, 1, 9), ("main;b", 2, 2, 9), ("main;c", 4, 3, 8)] {
        made.stack(names, &[value]);
        made.link(span, trace);
    }
    let mut service = Service::new("a");
    service.push("process_cpu", &[], 0, &made.profile());
    service.cpu(&[], 1, &[("main;d", 8)]);
    let engine = service.engine();
    let total = |spans| flame_lines(&engine, &Selection { spans, ..select("{}") })[0].clone();
    assert_eq!(total(SpanFilter::None), "total 0 15");
    assert_eq!(total(SpanFilter::Spans(vec![[2; 8], [3; 8]])), "total 0 6");
    assert_eq!(total(SpanFilter::Traces(vec![[9; 16]])), "total 0 3");
    assert_eq!(total(SpanFilter::Spans(vec![[7; 8]])), "total 0 0");
    assert_eq!(flame_lines(&engine, &select("{span_id=\"0202020202020202\"}"))[0], "total 0 2");
    // No id has the empty text, and no text of zeros.
    assert_eq!(flame_lines(&engine, &select("{span_id=\"\"}"))[0], "total 0 8");
    assert_eq!(flame_lines(&engine, &select("{span_id=\"0000000000000000\"}"))[0], "total 0 0");
    let selection = Selection { spans: SpanFilter::Traces(vec![[9; 16]]), ..select("{}") };
    let timeline = engine.timeline(&selection, steps(0, 10, 10), &[], &control()).unwrap().data;
    assert_eq!(timeline.series[0].total, 3);
}

#[test]
fn a_call_site_keeps_what_begins_with_it() {
    let mut service = Service::new("a");
    service.cpu(&[], 0, &[("main;a;x", 1), ("main;b;a", 2), ("main;a", 4), ("a;x", 8), ("", 16)]);
    let engine = service.engine();
    let call_site = |names: &[&str]| Selection {
        call_site: names.iter().map(|name| (*name).to_owned()).collect(),
        ..select("{}")
    };
    assert_eq!(
        flame_lines(&engine, &call_site(&["main", "a"])),
        ["total 0 5", "total;main 0 5", "total;main;a 4 5", "total;main;a;x 1 1"]
    );
    assert_eq!(flame_lines(&engine, &call_site(&["x"]))[0], "total 0 0");
    let timeline =
        engine.timeline(&call_site(&["main", "a"]), steps(0, 10, 10), &[], &control()).unwrap().data;
    assert_eq!(timeline.series[0].total, 5);
    let body = engine.pprof(&call_site(&["main", "a"]), &control()).unwrap().data;
    assert_eq!(decode(&body, |profile| profile.columns.values.iter().sum::<i64>()).unwrap(), 5);
}

#[test]
fn timelines_group_and_order_by_total() {
    let mut service = Service::new("a");
    for (pod, at, value) in [("p", 0, 1), ("q", 3, 5), ("p", 14, 2), ("q", 15, 3)] {
        service.cpu(&[("pod", pod)], at, &[("main", value)]);
    }
    let engine = service.engine();
    let group_by = ["pod".to_owned(), "zone".to_owned()];
    let answer = engine.timeline(&select("{}"), steps(0, 30, 15), &group_by, &control()).unwrap();
    let groups: Vec<(String, Vec<(u32, i64)>)> =
        answer.data.series.iter().map(|series| (series.labels.to_string(), series.points.clone())).collect();
    assert_eq!(
        groups,
        [("{pod=\"q\"}".to_owned(), vec![(0, 5), (1, 3)]), ("{pod=\"p\"}".to_owned(), vec![(0, 3)])]
    );
    // Totals alone answer: no row was read.
    assert_eq!((answer.stats.samples, answer.stats.bytes_scanned, answer.stats.profiles), (0, 0, 4));
    assert!(engine.timeline(&select("{}"), steps(0, 30, 0), &[], &control()).is_err());
    let all = StepRange { range: TimeRange::ALL, step_nanos: 1_000_000_000 };
    assert!(engine.timeline(&select("{}"), all, &[], &control()).is_err());
}

#[test]
fn listings_name_what_is_there() {
    let mut service = Service::new("a");
    let first = service.cpu(&[("pod", "p")], 0, &[("main", 1)]);
    let second = service.cpu(&[("pod", "q")], 5, &[("main", 2), ("main;x", 3)]);
    let mut made = Made::new(&[("inuse_objects", "count"), ("inuse_space", "bytes")]);
    made.stack("main", &[1, 64]);
    service.push("memory", &[], 6, &made.profile());
    let engine = service.engine();
    let cpu_only = engine.profiles(&select("cpu"), 0, &control()).unwrap();
    let ids: Vec<_> = cpu_only.data.iter().map(|item| item.id).collect();
    assert_eq!(ids, [first, second]);
    assert_eq!((cpu_only.data[1].samples, cpu_only.data[1].totals.as_slice()), (2, &[5][..]));
    let newest = engine.profiles(&select("cpu"), 1, &control()).unwrap();
    assert_eq!(newest.data[0].id, second);
    let by_id = Selection { profile_ids: vec![first], ..select("{}") };
    assert_eq!(flame_lines(&engine, &by_id)[0], "total 0 1");
    let services = engine.services(&select("{}"), &control()).unwrap().data;
    assert_eq!((services.len(), services[0].types.len(), services[0].profiles), (1, 3, 3));
    assert_eq!(services[0].last, seconds(6));
    assert_eq!(
        engine.label_values(&select("{}"), "__name__", &control()).unwrap().data,
        ["memory", "process_cpu"]
    );
    let wanted = ["service_name".to_owned(), "__profile_type__".to_owned()];
    let series = engine.series(&select("{}"), &wanted, SampleLabels::All, &control()).unwrap().data;
    let types: Vec<_> = series.iter().filter_map(|labels| labels.get("__profile_type__")).collect();
    assert_eq!(
        types,
        [
            "memory:inuse_objects:count:inuse_space:bytes",
            "memory:inuse_space:bytes:inuse_space:bytes",
            "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
        ]
    );
    let only = engine
        .series(&select("{__type__=\"inuse_space\"}"), &wanted, SampleLabels::All, &control())
        .unwrap()
        .data;
    assert_eq!(only.len(), 1);
    let error = engine.flame(&select("memory"), NameMode::Display, 0, &control()).unwrap_err();
    assert!(matches!(error, QueryError::Ambiguous { .. }), "{error}");
}

#[test]
fn deadline_cancellation_and_budget_end_a_query() {
    let mut service = Service::new("a");
    service.cpu(&[], 0, &[("main", 1)]);
    let engine = service.engine();
    let ends = |control: Control| engine.flame(&select("{}"), NameMode::Display, 0, &control).unwrap_err();
    let gone = Control { cancelled: Arc::new(AtomicBool::new(true)), ..Control::default() };
    assert!(matches!(ends(gone), QueryError::Cancelled));
    let past = Instant::now().checked_sub(Duration::from_secs(1));
    assert!(matches!(ends(Control { deadline: past, ..Control::default() }), QueryError::Deadline));
    let small = Control { bytes_max: 1, ..Control::default() };
    assert!(matches!(ends(small), QueryError::Budget { limit: 1 }));
}

#[test]
fn pprof_holds_all_columns_or_the_one_asked_for() {
    let mut service = Service::new("a");
    for at in 0..2 {
        let mut made = Made::new(&[("samples", "count"), ("cpu", "nanoseconds")]);
        let mapping = made.mapping("/bin/app", "abc");
        let function = made.function("main", "", "main.go");
        let location = made.location(mapping, 0x1100, &[function]);
        made.sample(&[location], &[1, 10]);
        made.label("thread", "1");
        made.sample(&[location], &[2, 20]);
        service.push("process_cpu", &[], at, &made.profile());
    }
    let engine = service.engine();
    let body = engine.pprof(&select("cpu"), &control()).unwrap().data;
    decode(&body, |profile| {
        let mut rows: Vec<&[i64]> = profile.columns.values.chunks(2).collect();
        rows.sort_unstable();
        assert_eq!(rows, [[2, 20], [4, 40]]);
        assert_eq!(profile.columns.mappings[0].flags.0, 15);
        assert_eq!(profile.columns.labels.len(), 1);
        assert_eq!(profile.columns.header.time_nanos, seconds(0).0);
    })
    .unwrap();
    let one = Selection { profile_type: TypeSelector::Short("cpu".into()), ..select("{}") };
    let body = engine.pprof(&one, &control()).unwrap().data;
    let mut values = decode(&body, |profile| profile.columns.values.clone()).unwrap();
    values.sort_unstable();
    assert_eq!(values, [20, 40]);
}

/// D4: a single profile comes back equal in content.
#[test]
fn one_profile_by_id_is_equal_in_content() {
    let mut made = Made::new(&[("samples", "count"), ("cpu", "nanoseconds")]);
    let mapping = made.mapping("/bin/app", "X");
    let twin = made.mapping("/bin/app", "Y");
    let lines: Vec<_> = ["b", "a"].map(|name| made.function(name, "_sys", "f.go")).to_vec();
    let inlined = made.location(mapping, 0x1100, &lines);
    let bare = made.location(twin, 0xffff_ffff_8100_0000, &[]);
    made.sample(&[inlined, bare], &[1, 10]);
    made.label("thread", "main");
    made.sample(&[bare], &[0, 5]);
    made.link(3, 4);
    made.sample(&[], &[2, 0]);
    let header = {
        let mut header = made.columns.header.clone();
        header.time_nanos = seconds(0).0;
        header.duration_nanos = 10_000_000_000;
        header.period = 77;
        header.comments = vec![made.string("one"), made.string("two")];
        header.doc_url = made.string("https://example.org/doc");
        header.default_sample_type = made.string("samples");
        header.drop_frames = made.string("runtime\\..*");
        header.keep_frames = made.string("runtime\\.main");
        header
    };
    made.columns.header = header;
    let mut service = Service::new("a");
    let sent = formats::encode_pprof(&made.profile());
    let id = decode(&sent, |profile| service.push("process_cpu", &[], 0, profile)).unwrap();
    let engine = service.engine();
    let (item, body) = engine.profile_pprof(&[], id, &control()).unwrap().data;
    assert_eq!((item.id, item.samples), (id, 3));
    assert_eq!(content(&body), content(&sent));
    let missing = engine.profile_pprof(&[], profile::ProfileId(7), &control()).unwrap_err();
    assert!(matches!(missing, QueryError::NotFound(_)), "{missing}");
}

#[test]
fn raw_views_drop_frames_as_pprof_does() {
    let mut made = Made::new(&[("cpu", "nanoseconds")]);
    made.stack("runtime.goexit;main;runtime.mallocgc;memclr", &[1]);
    made.stack("main;runtime.main;x", &[2]);
    made.columns.header.drop_frames = made.string("runtime\\..*");
    made.columns.header.keep_frames = made.string("runtime\\.main");
    let mut service = Service::new("a");
    service.push("process_cpu", &[], 0, &made.profile());
    let engine = service.engine();
    let raw = engine.flame(&select("{}"), NameMode::Raw, 0, &control()).unwrap().data;
    assert_eq!(
        lines(&raw),
        [
            "total 0 3",
            "total;main 0 2",
            "total;main;runtime.main 0 2",
            "total;main;runtime.main;x 2 2",
            "total;runtime.goexit 0 1",
            "total;runtime.goexit;main 1 1",
        ]
    );
    let shown = engine.flame(&select("{}"), NameMode::Display, 0, &control()).unwrap().data;
    assert!(lines(&shown).contains(&"total;runtime.goexit;main;runtime.mallocgc;memclr 1 1".to_owned()));
}

/// A profile's content as lines, without ids and positions.
fn content(body: &[u8]) -> Vec<String> {
    decode(body, |profile| {
        let columns = profile.columns;
        let header = &columns.header;
        let mut lines = vec![format!(
            "{} {} {} {:?} {:?} {} {} {} {}",
            header.time_nanos,
            header.duration_nanos,
            header.period,
            header.period_type.map(|of| (profile.text_of(of.kind), profile.text_of(of.unit))),
            header.comments.iter().map(|&comment| profile.text_of(comment)).collect::<Vec<_>>(),
            profile.text_of(header.doc_url),
            profile.text_of(header.default_sample_type),
            profile.text_of(header.drop_frames),
            profile.text_of(header.keep_frames),
        )];
        let mapping = |index: MappingIndex| {
            columns.mappings.get(index.position()).map(|one| {
                let names = (profile.text_of(one.file), profile.text_of(one.build_id));
                format!("{names:?} {:x} {:x} {:x} {}", one.start, one.limit, one.offset, one.flags.0)
            })
        };
        lines.extend(
            (0..columns.mappings.len() as u32).map(|index| format!("{:?}", mapping(MappingIndex(index)))),
        );
        let mut samples: Vec<String> = profile
            .samples()
            .map(|sample| {
                let stack: Vec<String> = sample
                    .stack
                    .iter()
                    .map(|&at| {
                        let location = &columns.locations[at.position()];
                        let names: Vec<String> = columns
                            .location_lines(location)
                            .iter()
                            .map(|line| {
                                let function = &columns.functions[line.function.position()];
                                format!(
                                    "{}/{}/{}:{}",
                                    profile.text_of(function.name),
                                    profile.text_of(function.system_name),
                                    profile.text_of(function.file),
                                    line.line
                                )
                            })
                            .collect();
                        format!("{:x} {names:?} in {:?}", location.address, mapping(location.mapping))
                    })
                    .collect();
                let labels: Vec<String> = sample
                    .labels
                    .iter()
                    .map(|label| match label.value {
                        profile::LabelValue::Text(text) => {
                            format!("{}={}", profile.text_of(label.key), profile.text_of(text))
                        }
                        profile::LabelValue::Number { value, unit } => {
                            format!("{}={value} {}", profile.text_of(label.key), profile.text_of(unit))
                        }
                    })
                    .collect();
                format!("{:?} {labels:?} {:?} {stack:?}", sample.values, sample.link)
            })
            .collect();
        samples.sort();
        lines.extend(samples);
        lines
    })
    .unwrap()
}

//! Odd pprof bodies of the case log over sockets, by each of the four ways in. What is refused names its field and stores
//! nothing; what is taken in part says so in `Everflame-Altered` and in a counter (D14); what is legal comes back whole.
//!
//! The decoder's own answers to these cases are in `crates/formats/tests/cases.rs` and `body_cases.rs`; cases of stacks of
//! names are in `stack_cases.rs` beside this file.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod pyroscope;
mod support;
mod ways;

use pyroscope::*;
use support::{TestServer, encoded, now_nanos};
use testkit::proto::{Function, Label, Line, Location, Mapping, Message as _, Profile, Sample, ValueType};
use ways::*;

#[test]
fn c001_pprof_many_empty_strings() {
    let mut body = small();
    body.string_table = ["", "foo", "", "", "bar", "cpu", "nanoseconds"]
        .iter()
        .map(|text| text.as_bytes().to_vec())
        .collect();
    body.sample_type = vec![ValueType { r#type: 5, unit: 6 }];
    body.function = [(1, 3), (2, 4)].map(|(id, name)| Function { filename: 2, ..named(id, name) }).to_vec();
    body.period_type = Some(ValueType { r#type: 5, unit: 6 });
    body.sample[0].label = vec![Label { key: 1, str: 4, ..Label::default() }];
    for back in there_and_back(&body) {
        let label = &back.sample[0].label[0];
        assert_eq!((text(&back, label.key), text(&back, label.str)), ("foo".into(), "bar".into()));
        let mut names: Vec<String> = back.function.iter().map(|one| text(&back, one.name)).collect();
        names.sort();
        assert_eq!(names, ["", "bar"]);
    }
}

#[test]
fn c002_pprof_string0_not_empty() {
    let server = TestServer::start(&[]);
    let mut body = small();
    body.string_table[0] = b"hmmm".to_vec();
    assert_refused(&server, &body.encode_to_vec(), &["string_table[0]", "hmmm"]);
    // What is given out begins with the empty string, also where tables that have little in common are merged.
    let mut other = small();
    other.string_table[3] = b"another".to_vec();
    other.string_table[4] = b"other still".to_vec();
    other.sample[0].location_id = vec![1];
    for body in [small(), other] {
        Way::Push.send(&server, &body.encode_to_vec()).expect(200);
    }
    let message = Message::default().bytes(1, CPU).bytes(2, "{}").number(3, 1).number(4, 4_000_000_000_000);
    let merged = connect(&server, "/querier.v1.QuerierService/SelectMergeProfile", &message.0).expect(200);
    for profile in [
        Profile::decode(merged.body.as_slice()).unwrap(),
        inflated(&server.get("/api/v1/pprof").expect(200).body),
        inflated(&server.get("/pprof/push/debug/pprof/profile").expect(200).body),
    ] {
        assert_eq!(profile.sample.len(), 2);
        assert!(profile.string_table[0].is_empty());
        assert!(profile.string_table[1..].iter().all(|string| !string.is_empty()));
    }
}

#[test]
#[allow(clippy::type_complexity, reason = "a table of names and changes, used once")]
fn c003_pprof_index_out_of_range() {
    const WRONG: i64 = 100_500;
    let variants: [(&str, fn(&mut Profile)); 9] = [
        ("sample_type[0].type", |body| body.sample_type[0].r#type = WRONG),
        ("period_type.type", |body| body.period_type = Some(ValueType { r#type: WRONG, unit: 0 })),
        ("function[1].name", |body| body.function[1].name = WRONG),
        ("function[0].system_name", |body| body.function[0].system_name = WRONG),
        ("function[0].filename", |body| body.function[0].filename = WRONG),
        ("mapping[0].filename", |body| {
            body.mapping = vec![Mapping { id: 1, filename: WRONG, ..Mapping::default() }];
        }),
        ("mapping[0].build_id", |body| {
            body.mapping = vec![Mapping { id: 1, build_id: WRONG, ..Mapping::default() }];
        }),
        ("sample[0].label[0].key", |body| {
            body.sample[0].label = vec![Label { key: WRONG, str: 1, ..Label::default() }];
        }),
        ("sample[0].label[0].str", |body| {
            body.sample[0].label = vec![Label { key: 1, str: WRONG, ..Label::default() }];
        }),
    ];
    let server = TestServer::start(&[]);
    for (field, change) in variants {
        let mut body = small();
        change(&mut body);
        assert_refused(&server, &body.encode_to_vec(), &[field, "string index 100500 out of range"]);
    }
}

#[test]
fn c004_pprof_location_without_mapping() {
    let server = TestServer::start(&[]);
    let mut jit = small();
    jit.location[1] = Location { id: 2, address: 0xffff_ffff_8123_4567, ..Location::default() };
    let mut mapped = small();
    let file = string(&mut mapped, "/bin/app");
    mapped.mapping = vec![Mapping { id: 1, memory_limit: 0x9000, filename: file, ..Mapping::default() }];
    for location in &mut mapped.location {
        location.mapping_id = 1;
        location.address = 0x1000 + location.id;
    }
    for body in [&jit, &mapped] {
        Way::Push.send(&server, &body.encode_to_vec()).expect(200);
    }
    let flame = server.get("/api/v1/flame?type=cpu").expect(200).json();
    let names: Vec<&str> =
        flame["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(names.contains(&"0xffffffff81234567") && names.contains(&"leaf"), "{names:?}");
    assert_eq!(flame["total"], 20);
    let merged = inflated(&server.get("/api/v1/pprof").expect(200).body);
    let of = |address: u64| merged.location.iter().find(|location| location.address == address).unwrap();
    assert_eq!((of(0xffff_ffff_8123_4567).mapping_id, of(0xffff_ffff_8123_4567).line.len()), (0, 0));
    let mapping = merged.mapping.iter().find(|mapping| mapping.id == of(0x1002).mapping_id).unwrap();
    assert_eq!(text(&merged, mapping.filename), "/bin/app");
}

#[test]
fn c005_pprof_sparse_ids() {
    let server = TestServer::start(&[]);
    let mut body = small();
    body.mapping = vec![Mapping { id: 5, filename: 5, ..Mapping::default() }];
    body.function = vec![named(9_000_000_000, 4)];
    body.location = vec![located(10, 9_000_000_000), located(7, 9_000_000_000)];
    body.location[1].mapping_id = 5;
    body.sample[0].location_id = vec![7, 10];
    let mut dangling = body.clone();
    dangling.sample[0].location_id = vec![7, 11];
    assert_refused(&server, &dangling.encode_to_vec(), &["sample[0].location_id[1]", "11"]);
    let mut dangling = body.clone();
    dangling.location[1].mapping_id = 4;
    assert_refused(&server, &dangling.encode_to_vec(), &["location[1].mapping_id", "4"]);
    let mut dangling = body.clone();
    dangling.location[0].line[0].function_id = 8_999_999_999;
    assert_refused(&server, &dangling.encode_to_vec(), &["location[0].line[0].function_id", "8999999999"]);
    assert_altered(&server, &body, &[], 10);
}

#[test]
fn c006_pprof_sample_without_locations() {
    let mut body = small();
    body.sample = vec![body.sample[0].clone(); 45];
    body.sample[44] = Sample { location_id: vec![], value: vec![0], label: vec![] };
    assert_altered(&TestServer::start(&[]), &body, &[("zero_value", 1)], 440);
    body.sample[44].value = vec![7];
    let server = TestServer::start(&[]);
    assert_altered(&server, &body, &[("no_stack", 1)], 447);
    let q = encoded("cpu{service_name=\"native\"}");
    let top = server.get(&format!("/api/v1/top?q={q}")).expect(200).json();
    let rows = top["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["name"] == "(no stack)" && row["self"] == 7), "{top}");
}

#[test]
fn c008_pprof_value_count_mismatch() {
    let mut body = small();
    let samples = string(&mut body, "samples");
    let count = string(&mut body, "count");
    body.sample_type.insert(0, ValueType { r#type: samples, unit: count });
    body.sample = [vec![1, 20], vec![3], vec![4, 5, 6], vec![7, 80]]
        .into_iter()
        .map(|value| Sample { location_id: vec![1], value, label: vec![] })
        .collect();
    assert_altered(&TestServer::start(&[]), &body, &[("value_count_mismatch", 2)], 100);
}

#[test]
fn c009_pprof_negative_in_cumulative() {
    let mut body = small();
    let template = body.sample[0].clone();
    body.sample = [10, 10, -10, 0].map(|value| Sample { value: vec![value], ..template.clone() }).to_vec();
    let server = TestServer::start(&[]);
    assert_altered(&server, &body, &[("negative_value", 1), ("zero_value", 1)], 20);
    // A profile that is said to be a difference keeps them, whether the client says it or the profile itself.
    body.sample.push(Sample { value: vec![-25], ..template });
    let reply = server.post("/api/v1/push?service=said&negative=keep", &body.encode_to_vec()).expect(200);
    assert_eq!(reply.header("everflame-altered"), Some("zero_value=1"));
    assert_eq!(total(&server, CPU, "{service_name=\"said\"}"), -15);
    let (key, value) = (string(&mut body, "pprof::base"), string(&mut body, "true"));
    for sample in body.sample.iter_mut().filter(|sample| sample.value[0] < 0) {
        sample.label = vec![Label { key, str: value, ..Label::default() }];
    }
    let reply = server.post("/api/v1/push?service=marked", &body.encode_to_vec()).expect(200);
    assert_eq!(reply.header("everflame-altered"), Some("zero_value=1"));
    assert_eq!(total(&server, CPU, "{service_name=\"marked\"}"), -15);
}

#[test]
fn c010_pprof_time_zero() {
    let server = TestServer::start(&[]);
    let before = now_nanos();
    assert_altered(&server, &Profile { time_nanos: 0, ..small() }, &[("no_time", 1)], 10);
    let listed = server.get("/api/v1/profiles").expect(200).json();
    let profiles = listed["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), WAYS.len(), "all are within the last hour");
    for profile in profiles {
        let time: jiff::Timestamp = profile["time"].as_str().unwrap().parse().unwrap();
        assert!(time.as_nanosecond() >= i128::from(before) && time <= jiff::Timestamp::now(), "{profile}");
    }
}

#[test]
fn c011_pprof_invalid_utf8() {
    let server = TestServer::start(&[]);
    let mut body = small();
    body.string_table[4] = vec![0x66, 0xff, 0x6f];
    body.string_table[7] = vec![b'a', 0x80];
    body.sample[0].label = vec![Label { key: 6, str: 7, ..Label::default() }];
    assert_altered(&server, &body, &[("invalid_utf8", 2)], 10);
    let top = server.get("/api/v1/top?type=cpu").expect(200).json();
    assert_eq!(top["rows"][0]["name"], "f\u{fffd}o");
    for way in WAYS {
        let back = downloaded(&server, way);
        for raw in [&body.string_table[4], &body.string_table[7]] {
            assert!(back.string_table.contains(raw), "{way:?}: {:?}", back.string_table);
        }
    }
    // Who wants to know at once says so.
    let strict = "/api/v1/push?service=strict&utf8=strict";
    for (right, index) in [(None, 4), (Some(4), 7)] {
        if let Some(right) = right {
            body.string_table[right] = "füü".into();
        }
        let refused = server.post(strict, &body.encode_to_vec()).expect(400).json();
        assert_eq!(refused["field"], format!("string_table[{index}]"), "{refused}");
        assert!(refused["message"].as_str().unwrap().contains("invalid UTF-8"), "{refused}");
    }
    let folded = server.post(&format!("{strict}&format=folded"), b"a;f\xffo 1\n").expect(400).json();
    assert!(folded["message"].as_str().unwrap().contains("invalid UTF-8"), "{folded}");
    body.string_table[7] = "ü".into();
    assert_eq!(
        server.get("/api/v1/labels/service_name").json()["values"].as_array().unwrap().len(),
        WAYS.len()
    );
    server.post(strict, &body.encode_to_vec()).expect(200);
    let wrong = server.post("/api/v1/push?service=a&utf8=yes", &body.encode_to_vec()).expect(400).json();
    assert_eq!(wrong["field"], "utf8");
}

#[test]
fn c012_pprof_location_empty_lines() {
    let mut body = small();
    body.mapping = vec![Mapping { id: 1, memory_start: 0x1000, memory_limit: 0x2000, ..Mapping::default() }];
    body.location[1] = Location { id: 2, mapping_id: 1, address: 0x1234, ..Location::default() };
    for back in there_and_back(&body) {
        let bare = back.location.iter().find(|location| location.address == 0x1234).unwrap();
        assert!(bare.line.is_empty() && bare.mapping_id == back.mapping[0].id, "{bare:?}");
        assert_eq!((back.mapping[0].memory_start, back.mapping[0].memory_limit), (0x1000, 0x2000));
    }
}

#[test]
fn c013_pprof_inline_chain_leaf() {
    let mut body = small();
    let inner = string(&mut body, "inner");
    // `inner` inlined in `leaf` inlined in `root`, at one address.
    body.function = vec![named(1, inner), named(2, 4), named(3, 3)];
    let line = (1..=3).map(|function_id| Line { function_id, line: 5, column: 0 }).collect();
    body.location = vec![Location { id: 1, address: 0x10, line, ..Location::default() }];
    body.sample[0].location_id = vec![1];
    let server = TestServer::start(&[]);
    assert_altered(&server, &body, &[], 10);
    for way in WAYS {
        let q = encoded(&format!("cpu{{service_name=\"{}\"}}", way.service()));
        let flame = server.get(&format!("/api/v1/flame?q={q}")).expect(200).json();
        let names: Vec<&str> = flame["name"]
            .as_array()
            .unwrap()
            .iter()
            .map(|index| flame["names"][usize::try_from(index.as_u64().unwrap()).unwrap()].as_str().unwrap())
            .collect();
        assert_eq!(names, ["total", "root", "leaf", "inner"], "{way:?}");
        assert_eq!(flame["parent"], serde_json::json!([0, 0, 1, 2]), "{way:?}");
        assert_eq!(
            flame["self"],
            serde_json::json!([0, 0, 0, 10]),
            "only the innermost has it itself: {way:?}"
        );
        let back = downloaded(&server, way);
        let [location] = back.location.as_slice() else { panic!("{way:?}: {:?}", back.location) };
        let of_line = |line: &Line| {
            let function = back.function.iter().find(|one| one.id == line.function_id).unwrap();
            text(&back, function.name)
        };
        let lines: Vec<String> = location.line.iter().map(of_line).collect();
        assert_eq!(lines, ["inner", "leaf", "root"], "{way:?}");
    }
}

/// The table of a profile whose column nobody names is that of its default, be it read as a file or asked of a server.
#[test]
fn c014_pprof_default_sample_type() {
    let mut body = small();
    // The name is string 3, and column 3 is another one.
    body.string_table[3] = b"alloc_space".to_vec();
    let [alloc_objects, inuse_objects, inuse_space, bytes, odd] =
        ["alloc_objects", "inuse_objects", "inuse_space", "bytes", "bananas"]
            .map(|name| string(&mut body, name));
    body.sample_type = [alloc_objects, 3, inuse_objects, inuse_space]
        .map(|r#type| ValueType { r#type, unit: bytes })
        .to_vec();
    body.sample[0].value = vec![1, 20, 300, 4_000];
    let server = TestServer::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    for (service, default_sample_type, wanted) in [("named", 3, 20), ("odd", odd, 4_000), ("none", 0, 4_000)]
    {
        body.default_sample_type = default_sample_type;
        let raw = body.encode_to_vec();
        server.post(&format!("/api/v1/push?service={service}"), &raw).expect(200);
        let selector = format!("{{service_name=\"{service}\"}}");
        let top = server.get(&format!("/api/v1/top?q={}", encoded(&selector))).expect(200).json();
        assert_eq!((&top["total"], &top["unit"]), (&wanted.into(), &"bytes".into()), "{service}: {top}");
        let file = folder.path().join(service);
        std::fs::write(&file, &raw).unwrap();
        let asked = support::run(&["top", "--server", &server.url, &selector, "--json"]);
        let read = support::run(&["top", file.to_str().unwrap(), "--json"]);
        for finished in [asked, read] {
            let table: serde_json::Value = serde_json::from_str(&finished.stdout).expect("one document");
            assert_eq!(table["total"], wanted, "{service}: {finished:?}");
        }
    }
}

#[test]
fn c015_pprof_line_not_startline() {
    let mut body = small();
    body.function[1].start_line = 10;
    body.location[1].line[0].line = 37;
    for back in there_and_back(&body) {
        let leaf = back.function.iter().find(|one| text(&back, one.name) == "leaf").unwrap();
        let lines = back.location.iter().flat_map(|location| &location.line);
        let line = lines.into_iter().find(|line| line.function_id == leaf.id).unwrap();
        assert_eq!((leaf.start_line, line.line), (10, 37));
    }
}

#[test]
fn c016_pprof_duplicate_sample_types() {
    let server = TestServer::start(&[]);
    let mut body = small();
    body.sample_type.push(body.sample_type[0].clone());
    body.sample[0].value = vec![10, 400];
    assert_altered(&server, &body, &[("duplicate_sample_type", 1)], 10);
    for (name, sum) in [("cpu", 10), ("cpu_2", 400)] {
        let q = encoded("{service_name=\"native\"}");
        let top = server.get(&format!("/api/v1/top?q={q}&type={name}")).expect(200).json();
        assert_eq!(top["total"], sum);
        let said = top["stats"]["profile_type"].as_str().unwrap().to_owned();
        assert_eq!(said, format!("process_cpu:{name}:nanoseconds:cpu:nanoseconds"), "which one is said");
    }
}

#[test]
fn c017_pprof_short_build_id() {
    for build_id in ["X", "", &"b".repeat(300), "../../etc/passwd"] {
        let mut body = small();
        let index = string(&mut body, build_id);
        body.mapping = vec![Mapping { id: 1, memory_limit: 9, build_id: index, ..Mapping::default() }];
        body.location[1].mapping_id = 1;
        body.location[1].line.clear();
        for back in there_and_back(&body) {
            assert_eq!(text(&back, back.mapping[0].build_id), build_id);
        }
    }
}

#[test]
fn c018_pprof_high_half_addresses() {
    let start = 0xffff_ffff_8100_0000;
    let mut body = small();
    let kernel = string(&mut body, "[kernel.kallsyms]");
    let limit = u64::MAX;
    body.mapping = vec![Mapping {
        id: 1,
        memory_start: start,
        memory_limit: limit,
        filename: kernel,
        ..Mapping::default()
    }];
    body.location[1] = Location { id: 2, mapping_id: 1, address: start + 0x42, ..Location::default() };
    for back in there_and_back(&body) {
        let mapping = &back.mapping[0];
        assert_eq!((mapping.memory_start, mapping.memory_limit), (start, u64::MAX));
        assert!(back.location.iter().any(|location| location.address == start + 0x42));
    }
    let server = TestServer::start(&[]);
    Way::Native.send(&server, &body.encode_to_vec()).expect(200);
    let top = server.get("/api/v1/top?type=cpu").expect(200).json();
    assert_eq!(top["rows"][0]["name"], "[kernel.kallsyms] 0x42", "the address within the file");
}

#[test]
fn c019_pprof_numeric_label_without_unit() {
    let mut body = small();
    let [bytes, iter] = ["bytes", "iter"].map(|key| string(&mut body, key));
    let number = |key, num| Label { key, num, ..Label::default() };
    body.sample[0].label = vec![number(bytes, 16), number(iter, 3), number(iter, 4)];
    for back in there_and_back(&body) {
        let labels: Vec<(String, i64, i64)> = back.sample[0]
            .label
            .iter()
            .map(|label| (text(&back, label.key), label.num, label.num_unit))
            .collect();
        assert_eq!(labels, [("bytes".into(), 16, 0), ("iter".into(), 3, 0), ("iter".into(), 4, 0)]);
    }
    // Where labels are shown, each number stands as it came, and is found by that.
    let server = TestServer::start(&[]);
    Way::Native.send(&server, &body.encode_to_vec()).expect(200);
    for (key, values) in [("bytes", &["16"][..]), ("iter", &["3", "4"])] {
        let shown = server.get(&format!("/api/v1/labels/{key}")).expect(200).json();
        assert_eq!(shown["values"], serde_json::json!(values), "{shown}");
        for value in values {
            assert_eq!(total(&server, CPU, &format!("{{{key}=\"{value}\"}}")), 10, "{key}={value}");
        }
    }
}

#[test]
fn c020_text_dump_posted_as_pprof() {
    let server = TestServer::start(&[]);
    let dump = b"goroutine 1 [running]:\nmain.main()\n\t/src/main.go:7 +0x1d\n";
    for body in [dump.to_vec(), formats::gzip(dump)] {
        assert_refused(&server, &body, &["looks like a Go text dump; use debug=0"]);
    }
}

/// What a header says of the compression is a hint; the bytes decide.
#[test]
fn c021_pprof_uncompressed() {
    let server = TestServer::start(&[]);
    for (path, service) in [
        ("/api/v1/push?service=n", "n"),
        ("/api/0/profiles?service=p&type=cpu", "p"),
        ("/ingest?name=i&format=pprof", "i"),
    ] {
        let mut sum = 0;
        for (header, is_packed) in [
            (None, false),
            (None, true),
            (Some("gzip"), false),
            (Some("gzip"), true),
            (Some("identity"), true),
        ] {
            // The time is another one each time, so it is another profile.
            let raw = small().encode_to_vec();
            let body = if is_packed { formats::gzip(&raw) } else { raw };
            let headers: Vec<(&str, &str)> =
                header.iter().map(|&value| ("content-encoding", value)).collect();
            server.call("POST", path, &headers, Some(&body)).expect(200);
            sum += 10;
            let selector = format!("{{service_name=\"{service}\"}}");
            assert_eq!(total(&server, CPU, &selector), sum, "{path} {header:?} {is_packed}");
        }
    }
}

#[test]
fn c023_gzip_truncated() {
    let server = TestServer::start(&[]);
    let whole = formats::gzip(&small().encode_to_vec());
    let cut = &whole[..whole.len() * 6 / 10];
    assert_refused(&server, cut, &[&format!("truncated gzip at byte {}", cut.len())]);
    let mut wrong_sum = whole.clone();
    wrong_sum[whole.len() - 6] ^= 1;
    assert_refused(&server, &wrong_sum, &["corrupt gzip at byte "]);
}

#[test]
fn c026_deep_recursion() {
    for (depth, changes) in [(16_384, &[][..]), (100_000, &[("stack_too_deep", 1)])] {
        let server = TestServer::start(&[]);
        let mut body = small();
        body.sample[0].location_id = vec![2; depth];
        assert_altered(&server, &body, changes, 10);
        let is_cut = !changes.is_empty();
        let q = encoded("cpu{service_name=\"native\"}");
        let render = encoded(&format!("{CPU}{{service_name=\"native\"}}"));
        for path in [
            format!("/api/v1/flame?q={q}&max_nodes=200000"),
            format!("/api/v1/top?q={q}"),
            format!("/pyroscope/render?query={render}&max-nodes=200000"),
        ] {
            let text = server.get(&path).expect(200).text();
            assert!(text.contains("leaf") && text.contains("(truncated)") == is_cut, "{path}");
        }
        let callers = server.get(&format!("/api/v1/callers?q={q}&function=leaf")).expect(200).json();
        assert_eq!(callers["function"]["total"], 10, "each stack counts once");
        assert_eq!(downloaded(&server, Way::Native).sample[0].location_id.len(), 16_384);
    }
}

#[test]
fn c027_go_stack_cut() {
    for depth in [32, 64, 128] {
        let mut body = small();
        let names: Vec<i64> =
            (0..130).map(|number| string(&mut body, format!("runtime.f{number}"))).collect();
        body.function = (1..).zip(names).map(|(id, name)| named(id, name)).collect();
        body.location = (1..=130).map(|id| located(id, id)).collect();
        let sample = |end| Sample { location_id: (1..=end).collect(), value: vec![10], label: vec![] };
        body.sample = vec![sample(130), sample(depth)];
        let server = TestServer::start(&[]);
        assert_altered(&server, &body, &[("cut_by_profiler", 1)], 20);
        let kept: Vec<usize> =
            downloaded(&server, Way::Push).sample.iter().map(|sample| sample.location_id.len()).collect();
        assert!(kept.contains(&130) && kept.contains(&usize::try_from(depth).unwrap()), "{kept:?}");
        // Every picture and table says so too, and names how much of it that is.
        let q = encoded("cpu{service_name=\"push\"}");
        for path in ["flame?", "flame?max_nodes=2&", "top?", "top?names=raw&", "callers?function=runtime.f0&"]
        {
            let stats = &server.get(&format!("/api/v1/{path}q={q}")).expect(200).json()["stats"];
            let notice = stats["notices"][0].as_str().unwrap();
            assert!(notice.starts_with("stacks of 10 nanoseconds lack their callers"), "{path}: {stats}");
        }
        let finished = support::run(&["flame", "--server", &server.url, "cpu{service_name=\"push\"}"]);
        assert!(finished.stderr.contains("lack their callers"), "{finished:?}");
        // A stack of another depth with the same first function makes that a root.
        body.sample.push(Sample { location_id: vec![depth], value: vec![10], label: vec![] });
        ingest(&server, "name=whole&format=pprof", &body.encode_to_vec()).expect(200);
        let q = encoded("cpu{service_name=\"whole\"}");
        let stats = &server.get(&format!("/api/v1/flame?q={q}")).expect(200).json()["stats"];
        assert_eq!(stats["notices"], serde_json::json!([]), "{stats}");
    }
}

/// 190 samples at 19 Hz over 10 s are one core, whichever way they come in and whichever way they are asked for.
#[test]
fn c033_per_second_maths() {
    const CORE: i64 = 10_000_000_000;
    let server = TestServer::start(&[]);
    let text = b"main;work 190\n";
    server.post("/api/v1/push?service=native&format=folded&sample_rate=19", text).expect(200);
    ingest(&server, "name=ingest&sampleRate=19", text).expect(200);
    let mut body = Profile { duration_nanos: CORE, period: CORE / 190, ..small() };
    body.sample[0].value = vec![CORE];
    Way::Push.send(&server, &body.encode_to_vec()).expect(200);
    for service in ["native", "ingest", "push"] {
        let selector = format!("{{service_name=\"{service}\"}}");
        assert_eq!(total(&server, CPU, &selector), CORE, "{service}");
        let q = encoded(&format!("cpu{selector}"));
        let timeline = server.get(&format!("/api/v1/timeline?q={q}&step=10s")).expect(200).json();
        let value = timeline["series"][0]["points"][0][1].as_f64().unwrap();
        assert_eq!(value / timeline["rate_divisor"].as_f64().unwrap(), 1.0, "{service}: {timeline}");
    }
}

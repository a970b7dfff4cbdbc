//! Cases of the case log that are about decoding pprof, each under its name. `body_cases.rs` has those about what a body is
//! packed in, `stack_cases.rs` those about stacks of names.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use formats::{DecodeErrorKind, Decoder, Limits, encode_pprof, gzip};
use profile::{AlteredReason, LabelValue, MappingIndex};
use support::*;
use testkit::{
    Oracle, Plain,
    proto::{Function, Label, Line, Location, Mapping, Message, Profile, Sample, ValueType},
};

#[test]
fn c001_pprof_many_empty_strings() {
    let mut body = small();
    body.string_table = ["", "foo", "", "", "bar"].iter().map(|text| text.as_bytes().to_vec()).collect();
    body.sample_type = vec![ValueType { r#type: 1, unit: 4 }];
    body.function = vec![
        Function { id: 1, name: 3, ..Function::default() },
        Function { id: 2, name: 4, ..Function::default() },
    ];
    body.sample[0].label = vec![Label { key: 1, str: 4, ..Label::default() }];
    let (plain, _) = good(&body);
    assert_eq!(plain.sample_types, [("foo".to_owned(), "bar".to_owned())]);
    assert_eq!(plain.samples[0].labels, [("foo".to_owned(), Ok("bar".to_owned()))]);
    assert_eq!(plain.samples[0].stack[0].2[0].0, "bar");
    assert_eq!(plain.samples[0].stack[1].2[0].0, "");
    // What is written may hold each string once; every reference says the same.
    let encoded = body.encode_to_vec();
    let mut decoder = Decoder::new();
    let (profile, _) = decoder.pprof(&encoded, &Limits::default()).unwrap();
    assert_eq!(decode(&encode_pprof(&profile)).unwrap().0, plain);
}

#[test]
fn c002_pprof_string0_not_empty() {
    let mut body = small();
    body.string_table[0] = b"hmmm".to_vec();
    let error = bad(&body);
    assert_eq!((error.kind, error.field.as_str()), (DecodeErrorKind::Malformed, "string_table[0]"));
    assert!(error.reason.contains("hmmm"), "{error}");
    let mut decoder = Decoder::new();
    let encoded = small().encode_to_vec();
    let (profile, _) = decoder.pprof(&encoded, &Limits::default()).unwrap();
    let written = Profile::decode(encode_pprof(&profile).as_slice()).unwrap();
    assert!(written.string_table[0].is_empty());
}

#[test]
#[allow(clippy::type_complexity, reason = "a table of names and changes, used once")]
fn c003_pprof_index_out_of_range() {
    const WRONG: i64 = 100_500;
    let variants: [(&str, fn(&mut Profile)); 14] = [
        ("sample_type[0].type", |body| body.sample_type[0].r#type = WRONG),
        ("sample_type[0].unit", |body| body.sample_type[0].unit = WRONG),
        ("period_type.type", |body| body.period_type = Some(ValueType { r#type: WRONG, unit: 0 })),
        ("function[1].name", |body| body.function[1].name = WRONG),
        ("function[0].system_name", |body| body.function[0].system_name = WRONG),
        ("function[0].filename", |body| body.function[0].filename = WRONG),
        ("mapping[0].filename", |body| {
            body.mapping = vec![Mapping { id: 1, filename: WRONG, ..Mapping::default() }]
        }),
        ("mapping[0].build_id", |body| {
            body.mapping = vec![Mapping { id: 1, build_id: WRONG, ..Mapping::default() }]
        }),
        ("sample[0].label[0].key", |body| {
            body.sample[0].label = vec![Label { key: WRONG, str: 1, ..Label::default() }]
        }),
        ("sample[0].label[1].str", |body| {
            body.sample[0].label = vec![
                Label { key: 1, str: 1, ..Label::default() },
                Label { key: 1, str: WRONG, ..Label::default() },
            ];
        }),
        ("sample[0].label[0].num_unit", |body| {
            body.sample[0].label = vec![Label { key: 1, num: 1, num_unit: WRONG, ..Label::default() }];
        }),
        ("comment[0]", |body| body.comment = vec![WRONG]),
        ("default_sample_type", |body| body.default_sample_type = -1),
        ("drop_frames", |body| body.drop_frames = WRONG),
    ];
    for (field, change) in variants {
        let mut body = small();
        change(&mut body);
        let error = bad(&body);
        assert_eq!(error.kind, DecodeErrorKind::Malformed);
        assert_eq!(error.field, field);
        let index = if field == "default_sample_type" { -1 } else { WRONG };
        assert_eq!(error.reason, format!("string index {index} out of range (table has 8)"));
    }
}

#[test]
fn c004_pprof_location_without_mapping() {
    let mut body = small();
    body.location[0].line.clear();
    body.location[0].address = 0xffff_ffff_8123_4567;
    let (plain, altered) = good(&body);
    assert!(altered.is_empty());
    assert_eq!(plain.samples[0].stack[1], (None, 0xffff_ffff_8123_4567, vec![], false));
    assert!(plain.mappings.is_empty());
    let encoded = body.encode_to_vec();
    let mut decoder = Decoder::new();
    let (profile, _) = decoder.pprof(&encoded, &Limits::default()).unwrap();
    assert_eq!(profile.columns.locations[0].mapping, MappingIndex::NONE);
}

#[test]
fn c005_pprof_sparse_ids() {
    let mut body = small();
    let name = string(&mut body, "x.so");
    body.mapping = vec![Mapping { id: 5, filename: name, ..Mapping::default() }];
    body.function.truncate(1);
    body.function[0].id = 9_000_000_000;
    for (location, (id, mapping_id)) in body.location.iter_mut().zip([(10, 0), (7, 5)]) {
        location.id = id;
        location.mapping_id = mapping_id;
        location.line[0].function_id = 9_000_000_000;
    }
    body.sample[0].location_id = vec![7, 10];
    let (plain, _) = good(&body);
    assert_eq!(plain.samples[0].stack[0].0.as_ref().unwrap().3, "x.so");
    assert_eq!(plain.samples[0].stack[1].0, None);
    assert_eq!(plain.samples[0].stack[1].2[0].0, "root");

    let mut dangling = body.clone();
    dangling.sample[0].location_id = vec![7, 11];
    let error = bad(&dangling);
    assert_eq!(error.field, "sample[0].location_id[1]");
    assert!(error.reason.contains("11"), "{error}");
    let mut dangling = body.clone();
    dangling.location[1].mapping_id = 4;
    let error = bad(&dangling);
    assert_eq!(error.field, "location[1].mapping_id");
    assert!(error.reason.contains('4'), "{error}");
    let mut dangling = body.clone();
    dangling.location[0].line[0].function_id = 123;
    let error = bad(&dangling);
    assert_eq!(error.field, "location[0].line[0].function_id");
    assert!(error.reason.contains("123"), "{error}");
    let mut twice = body.clone();
    twice.location[1].id = 10;
    assert_eq!(bad(&twice).field, "location[1].id");
}

#[test]
fn ids_may_start_at_zero_where_that_is_no_reserved_word() {
    let mut body = small();
    for (id, function) in (0..).zip(&mut body.function) {
        function.id = id;
    }
    for (id, location) in (0..).zip(&mut body.location) {
        location.id = id;
        location.line[0].function_id = id;
    }
    body.sample[0].location_id = vec![1, 0];
    let (plain, _) = good(&body);
    let names: Vec<&str> = plain.samples[0].stack.iter().map(|location| location.2[0].0.as_str()).collect();
    assert_eq!(names, ["leaf", "root"]);
    body.mapping = vec![Mapping::default()];
    assert_eq!(bad(&body).field, "mapping[0].id");
}

/// Old .NET profilers: no function has an id, and lines name it by the id of its location.
#[test]
fn functions_without_ids_go_by_those_of_their_locations() {
    let mut body = small();
    for (location, id) in body.location.iter_mut().zip([7, 4]) {
        location.id = id;
        location.line[0].function_id = id;
    }
    body.sample[0].location_id = vec![4, 7];
    body.function.iter_mut().for_each(|function| function.id = 0);
    let names = |body: &Profile| -> Vec<String> {
        good(body).0.samples[0].stack.iter().map(|location| location.2[0].0.clone()).collect()
    };
    assert_eq!(names(&body), ["leaf", "root"]);
    // One function and one location: its line may name it either way.
    let mut one = body.clone();
    one.function.truncate(1);
    one.location.truncate(1);
    one.sample[0].location_id = vec![7];
    for id in [7, 0] {
        one.location[0].line[0].function_id = id;
        assert_eq!(names(&one), ["root"], "{id}");
    }
    // A line that names neither, one location more than functions, and one id among none are as wrong as ever.
    let mut wrong = body.clone();
    wrong.location[1].line[0].function_id = 0;
    assert_eq!(bad(&wrong).field, "location[1].line[0].function_id");
    let mut more = body.clone();
    more.location.push(Location { id: 9, ..Location::default() });
    assert_eq!(bad(&more).to_string(), "function[1].id: 0 is the id of function[0] already");
    let mut mixed = body;
    mixed.function.push(Function { id: 3, name: 3, ..Function::default() });
    mixed.location.push(Location { id: 1, ..Location::default() });
    assert_eq!(bad(&mixed).field, "function[1].id");
}

#[test]
fn dashes_in_names_of_columns_become_underscores_where_asked_for() {
    let mut body = small();
    let [dashed, plain] = ["inuse-space", "inuse_space"].map(|text| string(&mut body, text));
    body.sample_type = [dashed, plain, 1].map(|kind| ValueType { r#type: kind, unit: 2 }).to_vec();
    body.sample[0].value = vec![1, 2, 3];
    let types = |without_dashes: bool| -> Vec<String> {
        let limits = Limits { without_dashes, ..Limits::default() };
        let encoded = body.encode_to_vec();
        let mut decoder = Decoder::new();
        let (profile, _) = decoder.pprof(&encoded, &limits).unwrap();
        let kinds = profile.columns.sample_types.iter();
        kinds.map(|typed| profile.text_of(typed.kind).into_owned()).collect()
    };
    assert_eq!(types(false), ["inuse-space", "inuse_space", "samples"]);
    // Two that become one are told apart as any twins.
    assert_eq!(types(true), ["inuse_space", "inuse_space_2", "samples"]);
}

#[test]
fn c006_pprof_sample_without_locations() {
    let mut body = small();
    body.sample = (0..45).map(|_| body.sample[0].clone()).collect();
    body.sample[44] = Sample { location_id: vec![], value: vec![0], label: vec![] };
    let (plain, altered) = good(&body);
    assert_eq!(plain.samples.len(), 44);
    assert_eq!(altered.count(AlteredReason::ZeroValue), 1);
    body.sample[44].value = vec![7];
    let (plain, altered) = good(&body);
    assert_eq!(plain.samples.len(), 45);
    assert!(plain.samples[44].stack.is_empty());
    assert_eq!(altered.count(AlteredReason::NoStack), 1);
}

#[test]
fn c007_pprof_without_samples() {
    let mut body = small();
    body.sample.clear();
    assert!(good(&body).0.samples.is_empty());
    assert_eq!(decode(&[]).unwrap_err().kind, DecodeErrorKind::Malformed);
    body.sample = small().sample;
    body.sample_type.clear();
    assert_eq!(bad(&body).field, "sample_type");
}

#[test]
fn c008_pprof_value_count_mismatch() {
    let mut body = small();
    body.sample_type.push(ValueType { r#type: 6, unit: 2 });
    body.sample = [vec![1, 2], vec![3], vec![4, 5, 6], vec![7, 8]]
        .into_iter()
        .map(|value| Sample { location_id: vec![1], value, label: vec![] })
        .collect();
    let (plain, altered) = good(&body);
    let values: Vec<&[i64]> = plain.samples.iter().map(|sample| sample.values.as_slice()).collect();
    assert_eq!(values, [&[1, 2][..], &[7, 8]]);
    assert_eq!(altered.count(AlteredReason::ValueCountMismatch), 2);
}

#[test]
fn c009_pprof_negative_in_cumulative() {
    let mut body = small();
    let template = body.sample[0].clone();
    body.sample = [10, 10, -10, 0].map(|value| Sample { value: vec![value], ..template.clone() }).to_vec();
    let (plain, altered) = good(&body);
    assert_eq!(plain.samples.iter().map(|sample| sample.values[0]).sum::<i64>(), 20);
    assert_eq!(altered.count(AlteredReason::NegativeValue), 1);
    assert_eq!(altered.count(AlteredReason::ZeroValue), 1);

    let encoded = body.encode_to_vec();
    let limits = Limits { keep_negative: true, ..Limits::default() };
    let mut decoder = Decoder::new();
    let (profile, _) = decoder.pprof(&encoded, &limits).unwrap();
    assert_eq!(profile.columns.values, [10, 10, -10]);

    let key = string(&mut body, "pprof::base");
    let value = string(&mut body, "true");
    body.sample[2].label = vec![Label { key, str: value, ..Label::default() }];
    let (plain, altered) = good(&body);
    assert_eq!(plain.samples[2].values, [-10]);
    assert_eq!(altered.count(AlteredReason::NegativeValue), 0);
}

#[test]
fn c010_pprof_time_zero() {
    for time_nanos in [0, 1_000_000_000] {
        let (_, altered) = good(&Profile { time_nanos, ..small() });
        assert_eq!(altered.count(AlteredReason::NoTime), 1);
    }
    assert_eq!(good(&small()).1.count(AlteredReason::NoTime), 0);
}

#[test]
fn c011_pprof_invalid_utf8() {
    let mut body = small();
    body.string_table[4] = vec![0x66, 0xff, 0x6f];
    body.string_table[7] = vec![b'a', 0x80];
    body.sample[0].label = vec![Label { key: 6, str: 7, ..Label::default() }];
    let encoded = body.encode_to_vec();
    let mut decoder = Decoder::new();
    let (profile, decoded) = decoder.pprof(&encoded, &Limits::default()).unwrap();
    assert_eq!(decoded.altered.count(AlteredReason::InvalidUtf8), 2);
    assert_eq!(profile.string(profile.columns.functions[1].name), [0x66, 0xff, 0x6f]);
    assert_eq!(profile.text_of(profile.columns.functions[1].name), "f\u{fffd}o");
    let strict = Limits { strict_utf8: true, ..Limits::default() };
    assert_eq!(Decoder::new().pprof(&encoded, &strict).unwrap_err().field, "string_table[4]");
    body.string_table[4] = "ƒøø".as_bytes().to_vec();
    body.string_table[7] = "ü".as_bytes().to_vec();
    assert!(good(&body).1.is_empty());
}

#[test]
fn c012_pprof_location_empty_lines() {
    let mut body = small();
    body.mapping = vec![Mapping { id: 1, memory_start: 0x1000, memory_limit: 0x2000, ..Mapping::default() }];
    body.location[1] = Location { id: 2, mapping_id: 1, address: 0x1234, ..Location::default() };
    let encoded = body.encode_to_vec();
    let mut decoder = Decoder::new();
    let (profile, _) = decoder.pprof(&encoded, &Limits::default()).unwrap();
    let again = Profile::decode(encode_pprof(&profile).as_slice()).unwrap();
    assert_eq!(again.location, body.location);
    assert_eq!(again.mapping, body.mapping);
}

#[test]
fn c013_pprof_inline_chain_leaf() {
    let mut body = small();
    let names = ["b", "a", "main"].map(|name| string(&mut body, name));
    body.function = (1..).zip(names).map(|(id, name)| Function { id, name, ..Function::default() }).collect();
    let line = |function_id| Line { function_id, line: 1, column: 0 };
    body.location = vec![Location { id: 1, line: vec![line(1), line(2), line(3)], ..Location::default() }];
    body.sample[0].location_id = vec![1];
    let encoded = body.encode_to_vec();
    let mut decoder = Decoder::new();
    let (profile, _) = decoder.pprof(&encoded, &Limits::default()).unwrap();
    let table = Oracle::of(&profile).table(0);
    assert_eq!(table["b"], (1, 1));
    assert_eq!(table["a"], (0, 1));
    assert_eq!(table["main"], (0, 1));
    let path: Vec<String> = Oracle::of(&profile).samples[0].0.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(path, ["main", "a", "b"]);
}

#[test]
fn c014_pprof_default_sample_type() {
    let mut body = small();
    let names =
        ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"].map(|name| string(&mut body, name));
    body.sample_type = names.iter().map(|&kind| ValueType { r#type: kind, unit: 2 }).collect();
    body.sample[0].value = vec![1, 2, 3, 4];
    body.default_sample_type = names[3];
    assert_eq!(good(&body).0.texts[0], "inuse_space");
}

#[test]
fn c015_pprof_line_not_startline() {
    let mut body = small();
    body.function[1].start_line = 10;
    body.location[1].line[0].line = 37;
    let (plain, _) = good(&body);
    let (.., start_line, line, _) = &plain.samples[0].stack[0].2[0];
    assert_eq!((*start_line, *line), (10, 37));
}

#[test]
fn c016_pprof_duplicate_sample_types() {
    let mut body = small();
    body.sample_type = vec![ValueType { r#type: 1, unit: 2 }; 3];
    body.sample[0].value = vec![1, 20, 300];
    for encoded in [body.encode_to_vec(), gzip(&body.encode_to_vec())] {
        let (plain, altered) = decode(&encoded).unwrap();
        let names: Vec<&str> = plain.sample_types.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["samples", "samples_2", "samples_3"]);
        assert_eq!(plain.samples[0].values, [1, 20, 300]);
        assert_eq!(altered.count(AlteredReason::DuplicateSampleType), 2);
        assert_eq!(plain.samples[0].stack[0].2[0].0, "leaf");
    }
}

#[test]
fn c017_pprof_short_build_id() {
    for build_id in ["X", "", &"b".repeat(300)] {
        let mut body = small();
        let index = string(&mut body, build_id);
        body.mapping = vec![Mapping { id: 1, build_id: index, ..Mapping::default() }];
        assert_eq!(good(&body).0.mappings[0].4, build_id);
    }
}

#[test]
fn c018_pprof_high_half_addresses() {
    let mut body = small();
    let start = 0xffff_ffff_8100_0000;
    body.mapping = vec![Mapping { id: 1, memory_start: start, memory_limit: u64::MAX, ..Mapping::default() }];
    body.location[0].mapping_id = 1;
    body.location[0].address = start + 0x42;
    let (plain, _) = good(&body);
    let (mapping, address, ..) = &plain.samples[0].stack[1];
    assert_eq!(address - mapping.as_ref().unwrap().0, 0x42);
    assert_eq!(mapping.as_ref().unwrap().1, u64::MAX);
}

#[test]
fn c019_pprof_numeric_label_without_unit() {
    let mut body = small();
    let [bytes, iter] = ["bytes", "iter"].map(|key| string(&mut body, key));
    body.sample[0].label = vec![
        Label { key: bytes, num: 16, ..Label::default() },
        Label { key: iter, num: 3, ..Label::default() },
        Label { key: iter, num: 4, ..Label::default() },
        Label { key: iter, num: 0, ..Label::default() },
    ];
    let (plain, _) = good(&body);
    let number = |key: &str, number: i64| (key.to_owned(), Err((number, String::new())));
    assert_eq!(
        plain.samples[0].labels,
        [number("bytes", 16), number("iter", 3), number("iter", 4), number("iter", 0)]
    );
}

#[test]
fn c026_deep_recursion() {
    let limit = Limits::default().stack_depth_max;
    for (depth, is_cut) in [(limit, false), (limit + 1, true), (100_000, true)] {
        let mut body = small();
        // all frames are `leaf`, the one at the root is `root`
        body.sample[0].location_id = vec![2; depth];
        body.sample[0].location_id[depth - 1] = 1;
        body.sample.push(Sample { location_id: vec![2, 1], value: vec![5], label: vec![] });
        for encoded in [body.encode_to_vec(), gzip(&body.encode_to_vec())] {
            let (plain, altered) = decode(&encoded).unwrap();
            assert_eq!(plain.samples[0].stack.len(), depth.min(limit));
            assert_eq!(altered.count(AlteredReason::StackTooDeep), u64::from(is_cut));
            let root = &plain.samples[0].stack.last().unwrap().2[0].0;
            assert_eq!(root, if is_cut { "(truncated)" } else { "root" });
            assert_eq!(plain.samples[0].stack[0].2[0].0, "leaf");
            assert_eq!(plain.samples[1].stack.len(), 2);
            assert_eq!(plain.samples[1].values, [5]);
        }
    }
}

#[test]
fn c026_inlined_frames_count_as_depth() {
    let mut body = small();
    body.location[1].line = vec![Line { function_id: 2, line: 1, column: 0 }; 100];
    body.sample[0].location_id = vec![2; 200];
    let (plain, altered) = good(&body);
    assert_eq!(altered.count(AlteredReason::StackTooDeep), 1);
    // 163 locations of 100 frames, and the marker
    assert_eq!(plain.samples[0].stack.len(), 164);
}

#[test]
fn bodies_that_expand_to_far_more_frames_than_bytes_are_refused() {
    let mut body = small();
    body.location[1].line = vec![Line { function_id: 2, line: 0, column: 0 }; 16_000];
    body.sample = vec![body.sample[0].clone(); 20_000];
    let error = bad(&body);
    assert_eq!((error.kind, error.field.as_str()), (DecodeErrorKind::TooLarge, "location.line"));
}

#[test]
fn c027_go_stack_cut() {
    let mut body = small();
    let names: Vec<i64> = (0..70).map(|number| string(&mut body, format!("runtime.f{number}"))).collect();
    body.function =
        (1..).zip(&names).map(|(id, &name)| Function { id, name, ..Function::default() }).collect();
    body.location = (1..=70)
        .map(|id| Location {
            id,
            line: vec![Line { function_id: id, line: 1, column: 0 }],
            ..Location::default()
        })
        .collect();
    let sample = |ids: std::ops::RangeInclusive<u64>| Sample {
        location_id: ids.collect(),
        value: vec![1],
        label: vec![],
    };
    // a whole stack, one cut at 64 frames, one of 64 frames that reaches the root
    body.sample = vec![sample(1..=70), sample(1..=64), sample(7..=70)];
    let (plain, altered) = good(&body);
    assert_eq!(altered.count(AlteredReason::CutByProfiler), 1);
    assert_eq!(plain.samples.iter().map(|sample| sample.stack.len()).collect::<Vec<_>>(), [70, 64, 64]);
    // nothing but cut stacks: no root is known
    body.sample = vec![sample(1..=64), sample(3..=66)];
    assert_eq!(good(&body).1.count(AlteredReason::CutByProfiler), 2);
}

/// Go's limit counts frames, and a location stands for several where functions were inlined.
#[test]
fn c027_go_stack_cut_with_inlined_frames() {
    let mut body = small();
    let names: Vec<i64> = (0..200).map(|number| string(&mut body, format!("runtime.f{number}"))).collect();
    body.function =
        (1..).zip(&names).map(|(id, &name)| Function { id, name, ..Function::default() }).collect();
    let line = |function_id| Line { function_id, line: 1, column: 0 };
    body.location = (1..=100)
        .map(|id| Location { id, line: vec![line(2 * id - 1), line(2 * id)], ..Location::default() })
        .collect();
    let sample = |count: u64| Sample { location_id: (1..=count).collect(), value: vec![1], label: vec![] };
    for depth in [32, 64, 128] {
        body.sample = vec![sample(100), sample(depth / 2), sample(depth / 2)];
        assert_eq!(good(&body).1.count(AlteredReason::CutByProfiler), 2, "{depth}");
        body.sample = vec![sample(100), sample(depth / 2 - 1)];
        assert_eq!(good(&body).1.count(AlteredReason::CutByProfiler), 0, "{depth}");
    }
    // The limit may fall between the frames of a location, which is written whole: 65 frames.
    body.location[0].line.truncate(1);
    body.sample = vec![sample(100), sample(33)];
    assert_eq!(good(&body).1.count(AlteredReason::CutByProfiler), 1);
}

#[test]
fn span_and_trace_labels_become_links_and_come_back() {
    let mut body = small();
    let [span, trace] = ["span_id", "trace_id"].map(|key| string(&mut body, key));
    let [span_value, trace_value, other] =
        ["00f067aa0ba902b7", "4bf92f3577b34da6a3ce929d0e0e4736", "no id"].map(|text| string(&mut body, text));
    body.sample[0].label = vec![
        Label { key: 6, str: 7, ..Label::default() },
        Label { key: span, str: span_value, ..Label::default() },
        Label { key: trace, str: trace_value, ..Label::default() },
        Label { key: span, str: other, ..Label::default() },
    ];
    body.sample.push(Sample { location_id: vec![1], value: vec![2], label: vec![] });
    let encoded = body.encode_to_vec();
    let mut decoder = Decoder::new();
    let (profile, _) = decoder.pprof(&encoded, &Limits::default()).unwrap();
    let sample = profile.sample(0);
    assert_eq!(sample.link.span_id, [0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7]);
    assert_eq!(sample.link.trace_id[..2], [0x4b, 0xf9]);
    assert_eq!(sample.labels.len(), 2);
    assert!(matches!(sample.labels[1].value, LabelValue::Text(text) if profile.string(text) == b"no id"));
    assert_eq!(profile.sample(1).link, profile::Link::default());
    let written = Profile::decode(encode_pprof(&profile).as_slice()).unwrap();
    assert_eq!(written.sample[0].label.len(), 4);
    assert_eq!(decode(&encode_pprof(&profile)).unwrap().0, Plain::of(&profile));
}

#[test]
fn wire_errors_name_field_index_and_byte() {
    let raw = small().encode_to_vec();
    let error = decode(&raw[..raw.len() - 3]).unwrap_err();
    assert!(error.reason.contains("byte"), "{error}");
    // a sample whose second field has a fixed-size wire type
    let error = decode(&[0x0a, 0x00, 0x12, 0x09, 0x11, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap_err();
    assert_eq!(error.to_string(), "sample[0]: field 2 has the wrong wire type (in the field at byte 2)");
    let error = decode(&[0x0a, 0x00, 0x12, 0x02, 0x0a, 0x7f]).unwrap_err();
    assert_eq!(error.field, "sample[0]");
    let error = decode(&[0x0a, 0x00, 0x12, 0x03, 0x08, 0x80, 0x80]).unwrap_err();
    assert_eq!(error.field, "sample[0]");
}

#[test]
fn strings_beyond_the_limit_lose_their_head() {
    let mut body = small();
    body.string_table[4] = ["é".repeat(40_000).into_bytes(), b"tail".to_vec()].concat();
    let (plain, altered) = good(&body);
    let name = &plain.samples[0].stack[0].2[0].0;
    assert!(name.len() <= 65_535 && name.len() > 65_530 && name.ends_with("étail"));
    assert_eq!(altered.count(AlteredReason::StringTooLong), 1);
    assert_eq!(altered.count(AlteredReason::InvalidUtf8), 0);
}

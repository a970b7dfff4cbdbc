//! Cases of the case log that are about decoding, each under its name.
//!
//! Long because it is one list of cases, each a short test of its own.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use formats::{
    DecodeError, DecodeErrorKind, Decoder, Limits, Measure, SniffedFormat, encode_pprof, gzip, sniff_inside,
};
use profile::{AlteredReason, LabelValue, MappingIndex};
use testkit::{
    Oracle, Plain,
    proto::{Function, Label, Line, Location, Mapping, Message, Profile, Sample, ValueType},
};

/// `root` calls `leaf`: two functions, two locations, one sample of value 1, all indices in order.
fn small() -> Profile {
    let strings = ["", "samples", "count", "root", "leaf", "file.c", "key", "text"];
    Profile {
        sample_type: vec![ValueType { r#type: 1, unit: 2 }],
        sample: vec![Sample { location_id: vec![2, 1], value: vec![1], label: vec![] }],
        mapping: vec![],
        location: (1..=2)
            .map(|id| Location {
                id,
                line: vec![Line { function_id: id, line: 5, column: 0 }],
                ..Location::default()
            })
            .collect(),
        function: vec![
            Function { id: 1, name: 3, filename: 5, ..Function::default() },
            Function { id: 2, name: 4, filename: 5, ..Function::default() },
        ],
        string_table: strings.iter().map(|text| text.as_bytes().to_vec()).collect(),
        time_nanos: 1_700_000_000_000_000_000,
        ..Profile::default()
    }
}

fn string(profile: &mut Profile, text: impl AsRef<[u8]>) -> i64 {
    profile.string_table.push(text.as_ref().to_vec());
    profile.string_table.len() as i64 - 1
}

fn decode(body: &[u8]) -> Result<(Plain, profile::Altered), DecodeError> {
    Decoder::new()
        .pprof(body, &Limits::default())
        .map(|(profile, decoded)| (Plain::of(&profile), decoded.altered))
}

fn good(profile: &Profile) -> (Plain, profile::Altered) {
    decode(&profile.encode_to_vec()).unwrap()
}

fn bad(profile: &Profile) -> DecodeError {
    decode(&profile.encode_to_vec()).unwrap_err()
}

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
fn c020_text_dump_posted_as_pprof() {
    let dumps = [
        "goroutine 1 [running]:\nmain.main()\n\t/tmp/x.go:5 +0x1d\n",
        "goroutine profile: total 3\n1 @ 0x43 0x44\n",
        "heap profile: 1: 2 [3: 4] @ heap/1048576\n",
    ];
    for dump in dumps {
        for body in [dump.as_bytes().to_vec(), gzip(dump.as_bytes())] {
            let error = decode(&body).unwrap_err();
            assert_eq!(error.kind, DecodeErrorKind::Unsupported);
            assert!(error.reason.contains("looks like a Go text dump; use debug=0"), "{error}");
        }
    }
}

#[test]
fn c021_pprof_uncompressed() {
    let raw = small().encode_to_vec();
    let plain = decode(&raw).unwrap().0;
    assert_eq!(decode(&gzip(&raw)).unwrap().0, plain);
    assert_eq!(decode(&zstd::bulk::compress(&raw, 3).unwrap()).unwrap().0, plain);
    assert_eq!(decode(&gzip(&gzip(&raw))).unwrap().0, plain);
    assert_eq!(decode(&gzip(&gzip(&gzip(&raw)))).unwrap_err().kind, DecodeErrorKind::Unsupported);
}

#[test]
fn c022_gzip_multi_member() {
    let raw = small().encode_to_vec();
    let plain = decode(&raw).unwrap().0;
    let (first, second) = raw.split_at(raw.len() / 2);
    let mut members = [gzip(first), gzip(second)].concat();
    assert_eq!(decode(&members).unwrap().0, plain);
    members.extend_from_slice(&[0; 512]);
    assert_eq!(decode(&members).unwrap().0, plain);
    let padded = [gzip(&raw), vec![0; 3]].concat();
    assert_eq!(decode(&padded).unwrap().0, plain);
    let with_empty_member = [gzip(&[]), gzip(&raw), gzip(&[])].concat();
    assert_eq!(decode(&with_empty_member).unwrap().0, plain);
    let error = decode(&[gzip(&raw), b"rubbish".to_vec()].concat()).unwrap_err();
    assert_eq!(error.field, "gzip");
    assert!(error.reason.contains(&format!("at byte {}", gzip(&raw).len())), "{error}");
}

#[test]
fn two_profiles_glued_together_are_refused() {
    let raw = small().encode_to_vec();
    for body in [[raw.clone(), raw.clone()].concat(), [gzip(&raw), gzip(&raw)].concat()] {
        let error = decode(&body).unwrap_err();
        assert_eq!((error.kind, error.field.as_str()), (DecodeErrorKind::Malformed, "time_nanos"));
        assert!(error.reason.contains("two profiles glued together"), "{error}");
    }
}

#[test]
fn c023_gzip_truncated() {
    let mut body = small();
    for count in 0..2000_u64 {
        string(&mut body, (count.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_string());
    }
    let whole = gzip(&body.encode_to_vec());
    let cut = &whole[..whole.len() * 6 / 10];
    let error = decode(cut).unwrap_err();
    assert_eq!((error.kind, error.field.as_str()), (DecodeErrorKind::Malformed, "gzip"));
    assert_eq!(error.reason, format!("truncated gzip at byte {}", cut.len()));
    let mut wrong_checksum = whole.clone();
    let at = whole.len() - 6;
    wrong_checksum[at] ^= 1;
    let error = decode(&wrong_checksum).unwrap_err();
    assert!(error.reason.starts_with("corrupt gzip at byte "), "{error}");
    let mut damaged = whole.clone();
    damaged[40] ^= 0xff;
    assert_eq!(decode(&damaged).unwrap_err().field, "gzip");
    assert_eq!(decode(&whole[..5]).unwrap_err().reason, "truncated gzip at byte 5");
    let compressed = zstd::bulk::compress(&body.encode_to_vec(), 3).unwrap();
    let error = decode(&compressed[..compressed.len() / 2]).unwrap_err();
    assert_eq!((error.kind, error.field.as_str()), (DecodeErrorKind::Malformed, "zstd"));
}

#[test]
fn limits_of_bodies_are_exact() {
    let raw = small().encode_to_vec();
    let limits = Limits { inflated_bytes_max: raw.len(), ..Limits::default() };
    let less = Limits { inflated_bytes_max: raw.len() - 1, ..Limits::default() };
    let compressed =
        [raw.clone(), gzip(&raw), zstd::bulk::compress(&raw, 3).unwrap(), [gzip(&raw), gzip(&[])].concat()];
    for body in compressed {
        assert!(Decoder::new().pprof(&body, &limits).is_ok());
        assert_eq!(Decoder::new().pprof(&body, &less).unwrap_err().kind, DecodeErrorKind::InflatesTooFar);
        let short = Limits { body_bytes_max: body.len() - 1, ..Limits::default() };
        assert_eq!(Decoder::new().pprof(&body, &short).unwrap_err().field, "body");
    }
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

fn folded(text: &[u8]) -> Result<(Vec<(String, i64)>, profile::Altered), DecodeError> {
    stacks_by(Decoder::folded, text)
}

type TextDecoder = for<'a> fn(
    &'a mut Decoder,
    &'a [u8],
    Measure<'_>,
    &Limits,
) -> Result<(profile::Profile<'a>, formats::Decoded), DecodeError>;

fn stacks_by(
    decode: TextDecoder,
    body: &[u8],
) -> Result<(Vec<(String, i64)>, profile::Altered), DecodeError> {
    let mut decoder = Decoder::new();
    let (profile, decoded) =
        decode(&mut decoder, body, Measure::plain("samples", "count"), &Limits::default())?;
    let stacks = Oracle::of(&profile)
        .samples
        .into_iter()
        .map(|(path, values)| {
            (path.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(";"), values[0])
        })
        .collect();
    Ok((stacks, decoded.altered))
}

#[test]
fn c057_folded_comments_blank() {
    let text = b"a;b 1\r\n\n   \n# comment 5\nno count\na;b;c 10\nmain 2 x\n;; 3\nlast;line 4";
    let (stacks, altered) = folded(text).unwrap();
    let expected =
        [("a;b", 1), ("a;b;c", 10), ("last;line", 4)].map(|(stack, value)| (stack.to_owned(), value));
    assert_eq!(stacks, expected);
    assert_eq!(altered.count(AlteredReason::BadLine), 3);
    let error = folded(b"one\ntwo\n").unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::Malformed);
    assert!(error.reason.contains("none of 2 lines"), "{error}");
    assert!(folded(b"# only a comment\n\n").is_err());
    assert!(folded(b"").is_err());
}

#[test]
fn c058_text_utf16_bom() {
    let expected = [("första;b".to_owned(), 7)];
    let text = "första;b 7\n";
    let little: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let big: Vec<u8> =
        [0xfe, 0xff].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect();
    let marked: Vec<u8> = [0xef, 0xbb, 0xbf].into_iter().chain(text.bytes()).collect();
    for body in [little, big, marked, text.as_bytes().to_vec()] {
        assert_eq!(folded(&body).unwrap().0, expected);
        assert_eq!(folded(&gzip(&body)).unwrap().0, expected);
    }
}

#[test]
fn c061_line_numbers_in_names() {
    let mut decoder = Decoder::new();
    let text = b"run file.py:41;work (lib/w.py:7) 1\nrun file.py:42;work (lib/w.py:7) 2\n";
    let (profile, _) = decoder.folded(text, Measure::plain("samples", "count"), &Limits::default()).unwrap();
    assert_eq!(profile.columns.functions.len(), 2);
    let names: Vec<_> = profile
        .columns
        .functions
        .iter()
        .map(|function| {
            (profile.text_of(function.name).into_owned(), profile.text_of(function.file).into_owned())
        })
        .collect();
    assert!(names.contains(&("run".to_owned(), "file.py".to_owned())));
    assert!(names.contains(&("work".to_owned(), "lib/w.py".to_owned())));
    let mut lines: Vec<i64> = profile.columns.lines.iter().map(|line| line.line).collect();
    lines.sort_unstable();
    assert_eq!(lines, [7, 41, 42]);
}

#[test]
fn lines_are_stacks_of_weight_one() {
    let mut decoder = Decoder::new();
    let (profile, _) = decoder
        .lines(b"a;b\na;b\n\na;c 5\n", Measure::plain("samples", "count"), &Limits::default())
        .unwrap();
    let tree = Oracle::of(&profile).tree(0);
    let frames = |names: [&str; 2]| names.map(|name| (name.to_owned(), String::new())).to_vec();
    assert_eq!(tree[&frames(["a", "b"])], 2);
    assert_eq!(tree[&frames(["a", "c 5"])], 1);
    assert_eq!(profile.text_of(profile.columns.sample_types[0].kind), "samples");
    assert_eq!(profile.text_of(profile.columns.sample_types[0].unit), "count");
}

#[test]
fn folded_stacks_deeper_than_the_limit_keep_the_leaf() {
    let limits = Limits { stack_depth_max: 4, ..Limits::default() };
    let mut decoder = Decoder::new();
    let (profile, decoded) =
        decoder.folded(b"a;b;c;d;e;f 2\na;b;c;d 1\n", Measure::plain("samples", "count"), &limits).unwrap();
    assert_eq!(decoded.altered.count(AlteredReason::StackTooDeep), 1);
    let paths: Vec<String> = Oracle::of(&profile)
        .samples
        .iter()
        .map(|(path, _)| path.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";"))
        .collect();
    assert_eq!(paths, ["(truncated);d;e;f", "a;b;c;d"]);
}

#[test]
fn compressed_text_is_told_from_a_compressed_profile() {
    let raw = small().encode_to_vec();
    let text = b"main;a;b 10\nmain;c 5\n".as_slice();
    let zstd = |bytes: &[u8]| zstd::bulk::compress(bytes, 3).unwrap();
    for (inside, format) in [(text, SniffedFormat::Text), (&raw, SniffedFormat::Pprof)] {
        let bodies = [inside.to_vec(), gzip(inside), zstd(inside), gzip(&gzip(inside)), gzip(&zstd(inside))];
        for body in bodies {
            assert_eq!(sniff_inside(&body), format);
        }
    }
    // what is damaged, or nothing known, is left to the decoder
    assert_eq!(sniff_inside(&gzip(text)[..8]), SniffedFormat::Gzip);
    assert_eq!(sniff_inside(&gzip(&[0xf8, 0, 0xf8])), SniffedFormat::Gzip);
}

#[test]
fn c059_tree_length_attack() {
    let attack = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    for decode in [Decoder::tree as TextDecoder, Decoder::trie] {
        for body in [attack.to_vec(), [&[0, 0, 1][..], &attack].concat(), gzip(&attack)] {
            let error = stacks_by(decode, &body).unwrap_err();
            assert_eq!(error.kind, DecodeErrorKind::Malformed);
            assert!(error.field.ends_with(".name length"), "{error}");
        }
    }
}

#[test]
fn trees_and_tries_are_stacks() {
    let owned = |stacks: &[(&str, i64)]| -> Vec<(String, i64)> {
        stacks.iter().map(|(stack, value)| ((*stack).to_owned(), *value)).collect()
    };
    let tree = b"\x00\x00\x01\x01a\x00\x02\x01b\x01\x00\x01c\x02\x00";
    assert_eq!(stacks_by(Decoder::tree, tree).unwrap().0, owned(&[("a;b", 1), ("a;c", 2)]));
    // "a;" and below it "b", "bc;d" and "c": `b` is a frame of its own and the beginning of another
    let trie = b"\x00\x00\x01\x02a;\x00\x02\x01b\x05\x01\x03c;d\x07\x00\x01c\x02\x00";
    let expected = owned(&[("a;b", 5), ("a;bc;d", 7), ("a;c", 2)]);
    assert_eq!(stacks_by(Decoder::trie, trie).unwrap().0, expected);
    for decode in [Decoder::tree as TextDecoder, Decoder::trie] {
        for empty in [&b""[..], b"\0", b"\0\0\0", b"\0\0\x01\x01a\0\0"] {
            assert_eq!(stacks_by(decode, empty).unwrap().0, []);
        }
        let (stacks, altered) = stacks_by(decode, b"\x00\x04\x00").unwrap();
        assert_eq!((stacks, altered.count(AlteredReason::NoStack)), (owned(&[("", 4)]), 1));
        let huge = [&[0][..], &[0xff; 9], &[1, 0]].concat();
        assert_eq!(stacks_by(decode, &huge).unwrap_err().field, "node[0].self");
    }
}

#[test]
fn c061_line_numbers_in_names_of_trees() {
    let body = testkit::tree_body(
        [(vec![&b"run file.py:41"[..]], 1), (vec![&b"run file.py:42"[..]], 2)],
        testkit::Siblings::FirstFirst,
    );
    let mut decoder = Decoder::new();
    let (profile, _) = decoder.tree(&body, Measure::plain("samples", "count"), &Limits::default()).unwrap();
    assert_eq!((profile.columns.functions.len(), profile.columns.lines.len()), (1, 2));
}

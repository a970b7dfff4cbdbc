//! speedscope files: recorded ones, and the odd ones of the case log.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use formats::{DecodeError, DecodeErrorKind, Decoder, Limits, Measure, SpeedscopeUnit, gzip};
use profile::{Altered, AlteredReason};
use testkit::Oracle;

/// Folded stacks of a profile, in the order of its samples.
type Stacks = Vec<(String, i64)>;

/// Name, unit and stacks of every profile.
fn read(file: &[u8]) -> Result<Vec<(String, SpeedscopeUnit, Stacks, Altered)>, DecodeError> {
    let mut decoder = Decoder::new();
    let limits = Limits::default();
    let mut file = decoder.speedscope(file, &limits)?;
    let mut profiles = Vec::new();
    for index in 0..file.len() {
        let (name, unit) = (file.name(index), file.unit(index));
        let (profile, decoded) = file.decode(index, Measure::plain("samples", "count"), &limits)?;
        let stacks = Oracle::of(&profile).samples.into_iter().map(|(path, values)| {
            let names: Vec<String> = path.into_iter().map(|(name, _)| name).collect();
            (names.join(";"), values[0])
        });
        profiles.push((name, unit, stacks.collect(), decoded.altered));
    }
    Ok(profiles)
}

fn file(profiles: &str) -> String {
    format!(
        r#"{{"exporter":"x","profiles":[{profiles}],"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{{"frames":[{{"name":"a"}},{{"name":"b"}},{{"name":"c"}}]}}}}"#
    )
}

fn evented(unit: &str, events: &[(char, u32, &str)]) -> String {
    let events: Vec<String> = events
        .iter()
        .map(|(kind, frame, at)| format!(r#"{{"type":"{kind}","frame":{frame},"at":{at}}}"#))
        .collect();
    let events = events.join(",");
    format!(
        r#"{{"type":"evented","name":"e","unit":"{unit}","startValue":0,"endValue":9,"events":[{events}]}}"#
    )
}

fn sampled(unit: &str, samples: &str, weights: &str) -> String {
    format!(r#"{{"type":"sampled","name":"s","unit":"{unit}","samples":{samples},"weights":{weights}}}"#)
}

/// The one profile of a file.
fn one(profile: &str) -> Result<(Stacks, Altered), DecodeError> {
    let mut profiles = read(file(profile).as_bytes())?;
    assert_eq!(profiles.len(), 1);
    profiles.pop().map(|(_, _, stacks, altered)| (stacks, altered)).ok_or_else(|| unreachable!())
}

fn owned(stacks: &[(&str, i64)]) -> Stacks {
    stacks.iter().map(|(stack, value)| ((*stack).to_owned(), *value)).collect()
}

#[test]
fn recorded_files_are_read() {
    let Some(shared) = testkit::skip_without_shared("recorded_files_are_read") else { return };
    let body = |name: &str| std::fs::read(shared.join("corpus/speedscope").join(name)).unwrap();
    let simple = read(&body("simple.speedscope.json")).unwrap();
    let (name, unit, stacks, altered) = &simple[0];
    assert_eq!((name.as_str(), *unit, altered.is_empty()), ("simple.txt", SpeedscopeUnit::None, true));
    assert_eq!(*stacks, owned(&[("a;b", 5), ("a;b;c", 5), ("a;b;d", 4)]));
    let sampled = owned(&[
        ("a;b;c", 1_000_000_000),
        ("a;b;c", 1_000_000_000),
        ("a;b;d", 4_000_000_000),
        ("a;b;c", 3_000_000_000),
        ("a;b", 5_000_000_000),
    ]);
    let two = read(&gzip(&body("two-sampled.speedscope.json"))).unwrap();
    assert_eq!(two.iter().map(|profile| profile.0.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert!(two.iter().all(|profile| profile.2 == sampled && profile.1.word() == "seconds"));
    assert_eq!(read(&body("duplicates.speedscope.json")).unwrap().len(), 3);
}

#[test]
fn c054_speedscope_unknown_unit() {
    for profile in [sampled("lightyears", "[[0]]", "[1]"), evented("lightyears", &[])] {
        let error = one(&profile).unwrap_err();
        assert_eq!((error.kind, error.field.as_str()), (DecodeErrorKind::Malformed, "profiles[0].unit"));
        assert!(error.reason.contains("\"lightyears\" is no unit"), "{error}");
    }
    let second = format!("{},{}", sampled("none", "[]", "[]"), sampled("hours", "[]", "[]"));
    assert_eq!(read(file(&second).as_bytes()).unwrap_err().field, "profiles[1].unit");
}

#[test]
fn c056_speedscope_unbalanced() {
    type Events = &'static [(char, u32, &'static str)];
    let cases: [(Events, &str, &str); 5] = [
        (&[('O', 0, "0"), ('C', 0, "1"), ('C', 1, "2")], "profiles[0].events[2]", "not open"),
        (&[('O', 0, "0"), ('O', 1, "1"), ('C', 0, "2")], "profiles[0].events[2]", "while frame 1 is open"),
        (&[('O', 0, "5"), ('C', 0, "4.5")], "profiles[0].events[1]", "goes back"),
        (&[('O', 0, "0"), ('O', 9, "1")], "profiles[0].events[1].frame", "there are 3"),
        (&[('X', 0, "0")], "profiles[0].events[0].type", "neither O"),
    ];
    for (events, field, word) in cases {
        let error = one(&evented("none", events)).unwrap_err();
        assert_eq!((error.kind, error.field.as_str()), (DecodeErrorKind::Malformed, field));
        assert!(error.reason.contains(word), "{error}");
    }
    // a program that was ended: what is open ends with the profile
    let (stacks, altered) = one(&evented("none", &[('O', 0, "1"), ('O', 1, "3")])).unwrap();
    assert_eq!(stacks, owned(&[("a", 2), ("a;b", 6)]));
    assert_eq!(altered.count(AlteredReason::NotClosed), 2);
}

#[test]
fn numbers_of_any_unit_are_exact() {
    for (unit, weights, values) in [
        ("seconds", "[1.5,1e-9,2]", [1_500_000_000, 1, 2_000_000_000]),
        ("milliseconds", "[1.5,0.000001,2]", [1_500_000, 1, 2_000_000]),
        ("microseconds", "[1.5,1,2]", [1_500, 1_000, 2_000]),
        ("nanoseconds", "[1,1000000000000000001,2]", [1, 1_000_000_000_000_000_001, 2]),
        ("bytes", "[4096,1,2]", [4_096, 1, 2]),
        // the half goes on to the next
        ("none", "[1.4,1.4,1.4]", [1, 2, 1]),
    ] {
        let (stacks, _) = one(&sampled(unit, "[[0],[1],[2]]", weights)).unwrap();
        assert_eq!(stacks.iter().map(|(_, value)| *value).collect::<Vec<_>>(), values, "{unit}");
    }
    // times since 1970 keep their digits
    let events = [('O', 0, "1730000000.000000001"), ('C', 0, "1730000000.000000003")];
    assert_eq!(one(&evented("seconds", &events)).unwrap().0, owned(&[("a", 2)]));
    for (weights, field) in
        [("[1e300]", "profiles[0].weights[0]"), ("[true]", "json"), ("[9e18,9e18]", "profiles[0].weights[1]")]
    {
        let error = one(&sampled("none", "[[0],[0]]", weights)).unwrap_err();
        assert_eq!(error.field, field, "{error}");
    }
}

#[test]
fn odd_samples_are_kept_dropped_or_refused_by_name() {
    let (stacks, altered) = one(&sampled("none", "[[],[0],[1],[2]]", "[5,0,-3,1]")).unwrap();
    assert_eq!(stacks, owned(&[("", 5), ("c", 1)]));
    let count = |reason| altered.count(reason);
    assert_eq!(count(AlteredReason::NoStack), 1);
    assert_eq!((count(AlteredReason::ZeroValue), count(AlteredReason::NegativeValue)), (1, 1));
    for (samples, weights, field) in [
        ("[[0],[0]]", "[1]", "profiles[0].weights"),
        ("[[0]]", "[1,2]", "profiles[0].samples"),
        ("[[0,3]]", "[1]", "profiles[0].samples[0][1]"),
        ("[[0],[-1]]", "[1,1]", "profiles[0].samples[1][0]"),
    ] {
        assert_eq!(one(&sampled("none", samples, weights)).unwrap_err().field, field);
    }
    assert_eq!(read(file("").as_bytes()).unwrap().len(), 0);
    assert_eq!(one(&sampled("none", "[]", "[]")).unwrap().0, []);
}

#[test]
fn what_is_no_speedscope_file_is_told_so() {
    for (text, field, word) in [
        (r#"{"nodes":[]}"#, "$schema", "is missing"),
        (r#"{"$schema":"https://example.org/x","profiles":[]}"#, "$schema", "example.org"),
        (r#"{"$schema":"https://www.speedscope.app/file-format-schema.json"}"#, "profiles", "missing"),
        ("[1]", "json", "byte 0"),
        ("", "json", "byte 0"),
    ] {
        let error = read(text.as_bytes()).unwrap_err();
        assert_eq!(error.field, field, "{error}");
        assert!(error.reason.contains(word), "{error}");
    }
    let whole = file(&sampled("none", "[[0]]", "[1]"));
    for cut in 1..whole.len() {
        assert_eq!(read(&whole.as_bytes()[..cut]).unwrap_err().kind, DecodeErrorKind::Malformed, "{cut}");
    }
    assert!(read(format!("{whole} x").as_bytes()).unwrap_err().reason.contains("more behind it"));
}

#[test]
fn names_with_escapes_files_and_lines() {
    let text = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[
        {"name":"f \"q\" \ud83d\udd25","file":"lib\\f.py","line":41,"col":3},
        {"name":"f \"q\" \ud83d\udd25","file":"lib\\f.py","line":42},{"file":null,"line":null,"name":"g;h"}]},
        "profiles":[{"type":"sampled","unit":"none","name":"t \u00e9","samples":[[0],[1],[2]],"weights":[1,1,1]}]}"#;
    let mut decoder = Decoder::new();
    let limits = Limits::default();
    for marked in [text.as_bytes().to_vec(), [b"\xef\xbb\xbf", text.as_bytes()].concat()] {
        let mut file = decoder.speedscope(&marked, &limits).unwrap();
        assert_eq!(file.name(0), "t é");
        let (profile, _) = file.decode(0, Measure::plain("samples", "count"), &limits).unwrap();
        let functions: Vec<_> = profile
            .columns
            .functions
            .iter()
            .map(|function| (profile.text_of(function.name), profile.text_of(function.file)))
            .collect();
        assert_eq!(functions, [("f \"q\" 🔥".into(), "lib\\f.py".into()), ("g;h".into(), "".into())]);
        assert_eq!(profile.columns.lines.iter().map(|line| line.line).collect::<Vec<_>>(), [41, 42, 0]);
    }
}

#[test]
fn a_million_openings_of_one_stack_are_one_sample() {
    let mut events = Vec::new();
    for turn in 0..10_000 {
        for (kind, frame, at) in [('O', 0, 0), ('O', 1, 0), ('C', 1, 1), ('C', 0, 1)] {
            events.push(format!(r#"{{"type":"{kind}","frame":{frame},"at":{}}}"#, turn + at));
        }
    }
    let profile = format!(r#"{{"type":"evented","unit":"none","events":[{}]}}"#, events.join(","));
    assert_eq!(one(&profile).unwrap().0, owned(&[("a;b", 10_000)]));
}

#[test]
fn deeper_stacks_than_the_limit_keep_the_leaf() {
    let limits = Limits { stack_depth_max: 3, ..Limits::default() };
    let events: Vec<_> = [0, 1, 2, 0].into_iter().map(|frame| ('O', frame, "0")).collect();
    let mut decoder = Decoder::new();
    let text = file(&format!("{},{}", evented("none", &events), sampled("none", "[[0,1,2,0]]", "[9]")));
    let mut opened = decoder.speedscope(text.as_bytes(), &limits).unwrap();
    for index in 0..2 {
        let (profile, decoded) = opened.decode(index, Measure::plain("samples", "count"), &limits).unwrap();
        let path: Vec<String> =
            Oracle::of(&profile).samples[0].0.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(path, ["(truncated)", "c", "a"]);
        assert_eq!(decoded.altered.count(AlteredReason::StackTooDeep), 1);
    }
}

//! Selectors: what parses, what does not and how the error says so, and what matches.

use proptest::prelude::*;

use super::*;

fn labels(pairs: &[(&str, &str)]) -> LabelSet {
    LabelSet::from_pairs(pairs.iter().copied()).unwrap()
}

fn reason(text: &str) -> String {
    Selector::parse(text).unwrap_err().to_string()
}

#[test]
fn forms_that_parse() {
    let cases = [
        ("", None, 0),
        ("{}", None, 0),
        (" { } ", None, 0),
        ("cpu", Some("cpu"), 0),
        ("cpu{}", Some("cpu"), 0),
        (
            "process_cpu:cpu:nanoseconds:cpu:nanoseconds{a=\"b\"}",
            Some("process_cpu:cpu:nanoseconds:cpu:nanoseconds"),
            1,
        ),
        ("off_cpu:off_cpu:nanoseconds::{a=\"b\"}", Some("off_cpu:off_cpu:nanoseconds::"), 1),
        ("team/app.v2{a=\"b\"}", Some("team/app.v2"), 1),
        ("{a=\"b\",}", None, 1),
        ("{ a = \"b\" , c != 'd',e=~`f\\d`, g!~\"h\" }", None, 4),
        ("{\"process_cpu\",a=\"b\"}", Some("process_cpu"), 1),
        ("{foo.bar=\"v\", k8s-app=\"w\"}", None, 2),
    ];
    for (text, profile_type, matchers) in cases {
        let parsed = Selector::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((parsed.profile_type(), parsed.matchers().len()), (profile_type, matchers), "{text}");
    }
}

#[test]
fn errors_name_the_byte_and_what_was_expected() {
    let cases = [
        ("{a}", "selector: at byte 2: expected =, !=, =~ or !~, found '}'"),
        ("{a=b}", "selector: at byte 3: expected a quoted string, found 'b'"),
        ("{a=\"b\"", "selector: at byte 6: expected ',' or '}', found the end"),
        ("{a=\"b", "selector: at byte 3: the string has no end"),
        ("{a=\"b\"} x", "selector: at byte 8: expected the end, found 'x'"),
        ("{,}", "selector: at byte 1: expected a label name or '}', found ','"),
        ("{=\"b\"}", "selector: at byte 1: expected a label name or '}', found '='"),
        ("{\"\"=\"b\"}", "selector: at byte 1: the label name is empty"),
        ("cpu{\"wall\"}", "selector: at byte 4: a second profile type"),
        ("{a=\"\\q\"}", "selector: at byte 4: unknown escape \\q"),
        ("{a=\"\\xff\"}", "selector: at byte 3: the string is no valid UTF-8"),
        ("{a=\"\\u12\"}", "selector: at byte 4: the escape needs 4 digits of base 16"),
        ("(a)", "selector: at byte 0: expected a profile type or '{', found '('"),
        ("{a=~\"(\"}", "selector: at byte 4: not a regular expression: unclosed group"),
        ("{a=~\"b)|(c\"}", "selector: at byte 4: not a regular expression: unopened group"),
        ("{温=\"x}", "selector: at byte 5: the string has no end"),
    ];
    for (text, expected) in cases {
        assert_eq!(reason(text), expected, "{text}");
    }
}

#[test]
fn matching_is_anchored_and_a_missing_label_is_empty() {
    let set = labels(&[("pod", "a-1"), ("service_name", "api")]);
    let cases = [
        ("{}", true),
        ("{pod=\"a-1\"}", true),
        ("{pod=\"a\"}", false),
        ("{pod!=\"a\"}", true),
        ("{pod=~\"a.*\"}", true),
        ("{pod=~\"a\"}", false),
        ("{pod=~\"a-1|b\"}", true),
        ("{pod!~\"b|a.1\"}", false),
        ("{zone=\"\"}", true),
        ("{zone!=\"x\"}", true),
        ("{zone=~\".*\"}", true),
        ("{zone=~\".+\"}", false),
        ("{pod=\"a-1\",service_name=\"web\"}", false),
    ];
    for (text, expected) in cases {
        assert_eq!(Selector::parse(text).unwrap().matches(&set), expected, "{text}");
    }
}

#[test]
fn escapes_are_those_of_go() {
    let parsed = Selector::parse(r#"{a="\a\b\f\n\r\t\v\\\'\"\x41\101\u6e29\U0001F525"}"#).unwrap();
    assert_eq!(parsed.matchers()[0].value(), "\u{7}\u{8}\u{c}\n\r\t\u{b}\\'\"AA温🔥");
    let parsed = Selector::parse(r"{a='\xe6\xb8\xa9'}").unwrap();
    assert_eq!(parsed.matchers()[0].value(), "温");
    let parsed = Selector::parse(r"{a=`\n`}").unwrap();
    assert_eq!(parsed.matchers()[0].value(), r"\n");
}

#[test]
fn c081_dashes_and_unicode_labels() {
    let set = labels(&[("k8s-app", "x"), ("service_name", "a"), ("服务", "a"), ("温度", "热")]);
    for text in [
        r#"{"服务"="a"}"#,
        r#"{服务="a"}"#,
        r#"{"k8s-app"="x"}"#,
        r#"{k8s-app=~"x|y"}"#,
        r#"{"温度"=~"热.*"}"#,
    ] {
        let parsed = Selector::parse(text).unwrap();
        assert!(parsed.matches(&set), "{text}");
        assert_eq!(Selector::parse(&parsed.to_string()).unwrap(), parsed, "{text}");
    }
    assert!(!Selector::parse(r#"{"服务"="b"}"#).unwrap().matches(&set));
}

#[test]
fn c082_odd_values_are_matched_whole() {
    let odd = "v{id} = a, b \"c\" 🔥\\";
    let selector = Selector::default().with_profile_type("cpu").with_equal("service_name", odd);
    let parsed = Selector::parse(&selector.to_string()).unwrap();
    assert_eq!(parsed, selector);
    assert!(parsed.matches(&labels(&[("service_name", odd)])));
    assert_eq!(parsed.exact("service_name"), Some(odd));
}

#[test]
fn c089_regex_trap() {
    let parsed = Selector::parse(r#"{a=~"(a+)+$",b=~".*.*.*.*.*.*.*.*.*=.*"}"#).unwrap();
    let trap = "a".repeat(2_000) + "!";
    assert!(!parsed.matches(&labels(&[("a", &trap), ("b", &trap)])));
    let large = format!("{{a=~\"{}\"}}", "a".repeat(20_000));
    assert!(reason(&large).contains("has 20000 bytes (at most 16384 are allowed)"));
    assert!(reason(&format!("{{a=~\"{}\"}}", "a".repeat(1 << 20))).contains("at most 65536"));
    assert!(
        reason(r#"{a=~"(((a{100}){100}){100}){100}"}"#).contains("more than 1048576 bytes when compiled")
    );
    let deep = format!("{{a=~\"{}a{}\"}}", "(".repeat(5_000), ")".repeat(5_000));
    assert!(reason(&deep).contains("not a regular expression"));
}

#[test]
fn too_many_matchers_are_refused() {
    let many: Vec<String> = (0..129).map(|number| format!("l{number}=\"\"")).collect();
    assert!(reason(&format!("{{{}}}", many.join(","))).contains("more than 128 matchers"));
}

proptest! {
    #[test]
    fn what_is_written_parses_to_the_same(
        profile_type in proptest::option::of("[a-z:._/-]{1,12}|\\PC{1,6}"),
        pairs in proptest::collection::vec((".{1,8}", 0..2_u8, ".{0,12}"), 0..5),
    ) {
        let mut selector = Selector { profile_type, matchers: Vec::new() };
        for (name, operator, value) in pairs {
            let operator = if operator == 0 { MatchOperator::Equal } else { MatchOperator::NotEqual };
            selector.matchers.push(Matcher::new(&name, operator, &value).unwrap());
        }
        prop_assert_eq!(Selector::parse(&selector.to_string()).unwrap(), selector);
    }

    #[test]
    fn any_text_gives_a_selector_or_an_error(text in ".{0,200}") {
        crate::fuzz_selector(text.as_bytes());
    }
}

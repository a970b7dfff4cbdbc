//! C++ names against what they stand for: one for each rule of the grammar, those that a compiler made of
//! `cpp/compiled.cpp`, and those that demanglers have been brought down with.

use std::borrow::Cow;

use names::display_name;

fn shown(name: &str) -> String {
    display_name(name, "").map_or_else(String::new, Cow::into_owned)
}

#[test]
fn every_rule_of_the_grammar() {
    let lines = include_str!("cpp/productions.txt").lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for line in lines {
        let (name, text) = line.split_once('\t').unwrap_or((line, line));
        assert_eq!(shown(name), text, "{name}");
        count += 1;
    }
    assert!(count > 200, "only {count} names");
}

/// The second column is the output of `c++filt`, which shows the types of results, too; only templates have them.
#[test]
fn names_that_a_compiler_made_are_shown_as_by_another_tool() {
    for line in include_str!("cpp/compiled.txt").lines() {
        let (name, other) = line.split_once('\t').unwrap();
        let shown = shown(name);
        let result =
            other.strip_suffix(shown.as_str()).unwrap_or_else(|| panic!("{name}: {shown}, not {other}"));
        assert!(result.is_empty() || result.ends_with(' ') && shown.contains('<'), "{name}: {result}");
    }
}

/// [gimli-rs/cpp_demangle#282](https://github.com/gimli-rs/cpp_demangle/issues/282): took half a second.
#[test]
fn templates_nested_fifty_times_are_shown() {
    let depth = 50;
    let name = format!(
        "_ZN13QConcatenableI14QStringBuilderI{}7QStringS1_E{}E8appendToI5QCharEEvT_",
        "S0_I".repeat(depth - 1),
        "S1_E".repeat(depth - 1)
    );
    let text = shown(&name);
    assert!(text.starts_with("QConcatenable<QStringBuilder<QStringBuilder<"), "{text}");
    assert_eq!(text.matches("QStringBuilder<").count(), depth);
    assert!(text.ends_with(", QString> >::appendTo<QChar>(QChar)"), "{text}");
}

/// [getsentry/symbolic#477](https://github.com/getsentry/symbolic/issues/477), where it took gigabytes, and
/// [gimli-rs/cpp_demangle#215](https://github.com/gimli-rs/cpp_demangle/issues/215), where they hung: found by fuzzing.
#[test]
fn names_that_fuzzing_found_are_refused() {
    for name in [
        "_ZUlzjjlZZL1zStUlSt7j_Z3kjIIjIjL1vfIIEEEjzjjfjzSt7j_Z3kjIIjfjzL4t3kjIIjfjtUlSt7j_Z3kjIIjIjL1vfIIEEEjzjjfjzSt7j_Z3kjIIjfjzL4t3kjIIjfjzL4t7IjIjjzjjzSt7j_Z3kjIIjfjzStfjzSt7j_ZA3kjIIjIjL1vfIIEEEjzjjfjzSt7j_Z3kjIIjIjL1vfIIEEEjzjjfjzSt7j_Z3kjIIjfjzL4t3kjIIjzL4t7IjIjjzjjzSt7j_Z3kjIIjfjzStfjzSt7j_ZA3kjIIjIjL1vfIIEEEjzjjfjzSt7j_Z3kjIIjIjL1vfIIEEEjzjjfjzSt7j_Z3kjIIjfjzL4t3kjIIjfjzL4t7IjIjL1vfIIEEEjzjjSI",
        "_ZAnananananaatanananananaatanananagttiananananaatanananananaatanagttananagtti",
        "_ZAnw4Lf9Knwnw4_f9_4_f9q1R4Lf9Knwnw4_f9_4_f9_1RT_4__9Knwnw4_f9_4_f9q1RT_4_Zw4Lf9Knwnw4_f9_4_f9q1R4Lf9Knwnw4_f9_4_f9_1RT_4_",
    ] {
        assert_eq!(shown(name), name);
    }
}

/// The text of the reference to what was read as this number, counted from 0.
fn reference(number: u32) -> String {
    let digit = |value| char::from_digit(value, 36).map_or('0', |digit| digit.to_ascii_uppercase());
    match number {
        0 => "S_".to_owned(),
        1..=36 => format!("S{}_", digit(number - 1)),
        _ => format!("S{}{}_", digit((number - 1) / 36), digit((number - 1) % 36)),
    }
}

/// Types that each consist of the one before: what they stand for is nested far deeper than the name is. Each adds
/// so many things to refer to, itself as the last.
fn chain(first: &str, next: impl Fn(&str) -> String, numbers_each: u32, count: u32) -> String {
    let others = (1..=count).map(|position| next(&reference(position * numbers_each - 1)));
    format!("_Z1f{first}{}", others.collect::<String>())
}

/// A quarter of the stack of a thread (2 MiB) is enough for the deepest names that are followed, also without optimisation.
#[test]
fn the_deepest_names_fit_the_stack() {
    let units = [
        ("_Z1f", "P", "i"),
        ("_Z1f", "1AI", "i"),
        ("_Z1f", "N1AI", "i"),
        ("_Z1fI", "J", "i"),
        ("_Z1f", "PF", "vi"),
        ("_Z1f", "M1AF", "vi"),
        ("_Z1f", "Z1gIiEv", "1a"),
        ("_Z1fI", "XadL_Z1fI", "i"),
        ("_Z1fIX", "nt", "Lb1"),
        ("_Z1fIX", "cl1g", "Lb1"),
        ("_Z1f", "DTcvN1AIX", "Lb1"),
        ("_Z1f", "UlN1AI", "i"),
        ("_Z1f", "1AIXsr1AI", "i"),
    ];
    let names = units.into_iter().flat_map(|(start, unit, inner)| {
        // The deepest that is followed is somewhere between, whatever a unit is worth.
        (1..=150).map(move |count| {
            let name = format!("{start}{}{inner}", unit.repeat(count));
            (0..=2)
                .map(|ends| format!("{name}{}", "E".repeat(ends * count + 1)))
                .chain([name.clone()])
                .collect::<Vec<_>>()
        })
    });
    let mut names: Vec<String> = names.flatten().collect();
    for count in 1..=250 {
        names.push(chain("Pi", |last| format!("P{last}"), 1, count));
        names.push(chain("PFviE", |last| format!("PF{last}vE"), 2, count));
        names.push(chain("M1AFviE", |last| format!("M1AF{last}vE"), 3, count));
    }
    let run = move || names.iter().filter(|name| shown(name) != **name).count();
    let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap();
    assert!(thread.join().unwrap() > 100);
}

//! Names that a runtime generates: the parts that differ from run to run are taken away, so that a function has one name
//! over a thousand restarts (C052).
//!
//! Each rule looks for a fixed word first; a name without any of the words is returned as it is.

use std::borrow::Cow;

use crate::work;

/// Applies all rules.
pub(crate) fn normalise(name: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(name);
    for (word, rule) in RULES {
        if shown.contains(word) {
            let changed = rule(&shown);
            if changed != shown.as_ref() {
                shown = Cow::Owned(changed);
            }
        }
    }
    shown
}

/// A rule: the word without which it does nothing, and what it does.
type Rule = (&'static str, fn(&str) -> String);

const RULES: [Rule; 14] = [
    // Go: `F[go.shape.int_0]` is `F[...]`, as Go's own profiles write it
    ("[go.shape.", go_shapes),
    // Java lambdas: `$$Lambda$89+0x00007f5d08007c28/27319466`, `$$Lambda/0x…`, `$$Lambda$14.0x…`
    ("$$Lambda", |name| after(name, "$$Lambda", |rest| skip_ids(skip_dollar_number(rest)))),
    // hidden classes: `Foo+0x00000008000c2440.run`, `LambdaForm$DMH.0x000000080156c838.invokeStatic`
    ("0x", hidden_class_address),
    ("LambdaForm$", lambda_form_number),
    // reflection: accessors are numbered
    ("GeneratedMethodAccessor", |name| after(name, "GeneratedMethodAccessor", skip_digits)),
    ("ConstructorAccessor", |name| after(name, "ConstructorAccessor", skip_digits)),
    // proxies: `$Proxy26`, `jdk/proxy2/$Proxy24`
    ("$Proxy", |name| after(name, "$Proxy", skip_digits)),
    ("jdk/proxy", |name| after(name, "jdk/proxy", skip_digits)),
    ("jdk.proxy", |name| after(name, "jdk.proxy", skip_digits)),
    // byte code libraries: `$$EnhancerBySpringCGLIB$$1a2b3c`, `$$SpringCGLIB$$0`
    ("CGLIB$$", |name| after(name, "CGLIB", |rest| skip_tagged(rest, "$$"))),
    ("ByGuice$$", |name| after(name, "ByGuice", |rest| skip_tagged(rest, "$$"))),
    ("$HibernateProxy$", |name| after(name, "$HibernateProxy", |rest| skip_tagged(rest, "$"))),
    ("$ByteBuddy$", |name| after(name, "$ByteBuddy", |rest| skip_tagged(rest, "$"))),
    ("$MockitoMock$", |name| after(name, "$MockitoMock", |rest| skip_tagged(rest, "$"))),
];

/// Keeps `word` wherever it stands and replaces what follows it by what `skip` leaves of it.
fn after(name: &str, word: &str, skip: impl Fn(&str) -> &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(position) = rest.find(word) {
        let end = position + word.len();
        out.push_str(&rest[..end]);
        rest = skip(&rest[end..]);
    }
    out.push_str(rest);
    out
}

fn skip_digits(text: &str) -> &str {
    text.trim_start_matches(|character: char| character.is_ascii_digit())
}

/// `$14`
fn skip_dollar_number(text: &str) -> &str {
    match text.strip_prefix('$') {
        Some(rest) if rest.starts_with(|character: char| character.is_ascii_digit()) => skip_digits(rest),
        _ => text,
    }
}

/// A separator and an address or number, any times: `+0x00007f5d08007c28/27319466`
fn skip_ids(mut text: &str) -> &str {
    while let Some(rest) = text.strip_prefix(['/', '+', '.']) {
        let tail = match rest.strip_prefix("0x") {
            Some(address) => address.trim_start_matches(|character: char| character.is_ascii_hexdigit()),
            None => skip_digits(rest),
        };
        let is_whole = !tail.starts_with(|character: char| character.is_alphanumeric() || character == '_');
        if tail.len() == rest.len() || !is_whole {
            break;
        }
        text = tail;
    }
    text
}

/// `tag` and letters and digits
fn skip_tagged<'a>(text: &'a str, tag: &str) -> &'a str {
    match text.strip_prefix(tag) {
        Some(rest) => {
            let tail = rest.trim_start_matches(|character: char| character.is_ascii_alphanumeric());
            if tail.len() == rest.len() { text } else { tail }
        }
        None => text,
    }
}

/// The address in the name of a hidden class. It is one only before a method, so that `libfoo.so+0x00001234` keeps its
/// address.
fn hidden_class_address(name: &str) -> String {
    const DIGITS_MIN: usize = 8;
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(position) = rest.find("0x") {
        let digits = &rest[position + 2..];
        let tail = digits.trim_start_matches(|character: char| character.is_ascii_hexdigit());
        if digits.len() - tail.len() < DIGITS_MIN || !rest[..position].ends_with(['/', '+', '.']) {
            out.push_str(&rest[..position + 2]);
            rest = digits;
            continue;
        }
        let method = skip_ids(tail);
        work::count(rest.len() - method.len());
        let is_hidden_class = method.strip_prefix('.').is_some_and(|word| {
            word.starts_with(|character: char| character.is_alphabetic() || "_<$".contains(character))
        });
        // Addresses that follow end at the same place, so they need not be looked at one by one.
        let kept = if is_hidden_class { position - 1 } else { rest.len() - method.len() };
        out.push_str(&rest[..kept]);
        rest = method;
    }
    out.push_str(rest);
    out
}

/// `LambdaForm$MH/1581078471.invoke_MT` and, without a method, `LambdaForm$MH/0x000000080156c838`
fn lambda_form_number(name: &str) -> String {
    name.split_once("LambdaForm$")
        .map(|(before, behind)| {
            let kind_end =
                behind.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(behind.len());
            let (kind, rest) = behind.split_at(kind_end);
            format!("{before}LambdaForm${kind}{}", skip_ids(rest))
        })
        .unwrap_or_else(|| name.to_owned())
}

/// Type arguments that Go's compiler made up.
fn go_shapes(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(position) = rest.find("[go.shape.") {
        out.push_str(&rest[..position]);
        out.push_str("[...]");
        let inside = &rest[position..];
        let mut depth = 0_u32;
        let end = inside.bytes().position(|byte| {
            match byte {
                b'[' => depth += 1,
                b']' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        // a name that was cut has no closing bracket
        rest = end.map_or("", |end| &inside[end + 1..]);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c052_java_lambda_names() {
        let expected = [
            ("Foo$$Lambda$14/0x00000008000c2440.run", "Foo$$Lambda.run"),
            ("Work$$Lambda$89+0x00007f5d08007c28/27319466.run", "Work$$Lambda.run"),
            ("Work$$Lambda/0x00000000b2142c38.run", "Work$$Lambda.run"),
            ("Work$$Lambda$1364.0x000000080156c838.run", "Work$$Lambda.run"),
            ("Work$$Lambda.0x000000001b040438.run", "Work$$Lambda.run"),
            ("Work$$Lambda/0x00000000b2142c38", "Work$$Lambda"),
            ("Foo$$Lambda$14/1234567.run", "Foo$$Lambda.run"),
            ("Foo$$EnhancerBySpringCGLIB$$1a2b3c.bar", "Foo$$EnhancerBySpringCGLIB.bar"),
            ("Foo$$FastClassBySpringCGLIB$$5c3a.invoke", "Foo$$FastClassBySpringCGLIB.invoke"),
            ("Foo$$SpringCGLIB$$0.bar", "Foo$$SpringCGLIB.bar"),
            ("Foo$HibernateProxy$aB3.getId", "Foo$HibernateProxy.getId"),
            (
                "jdk/internal/reflect/GeneratedMethodAccessor31.invoke",
                "jdk/internal/reflect/GeneratedMethodAccessor.invoke",
            ),
            (
                "sun.reflect.GeneratedSerializationConstructorAccessor7.newInstance",
                "sun.reflect.GeneratedSerializationConstructorAccessor.newInstance",
            ),
            (
                "java/lang/invoke/LambdaForm$DMH.0x000000080156c838.invokeStatic",
                "java/lang/invoke/LambdaForm$DMH.invokeStatic",
            ),
            ("java.lang.invoke.LambdaForm$MH/0x000000080156c838", "java.lang.invoke.LambdaForm$MH"),
            (
                "java.lang.invoke.LambdaForm$MH/1581078471.invoke_MT",
                "java.lang.invoke.LambdaForm$MH.invoke_MT",
            ),
            ("com/sun/proxy/$Proxy0.f", "com/sun/proxy/$Proxy.f"),
            ("jdk/proxy2/$Proxy24.f", "jdk/proxy/$Proxy.f"),
            ("app.Hidden+0x00000008000c2440/1234.apply", "app.Hidden.apply"),
        ];
        for (raw, shown) in expected {
            assert_eq!(normalise(raw), shown);
        }
    }

    #[test]
    fn c052_a_thousand_restarts_are_one_name() {
        let names: std::collections::HashSet<String> = (0..1000_u64)
            .map(|run| format!("Foo$$Lambda${run}/0x{:016x}.run", run * 7919))
            .map(|raw| normalise(&raw).into_owned())
            .collect();
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["Foo$$Lambda.run"]);
    }

    #[test]
    fn addresses_that_are_the_name_stay() {
        for name in ["libfoo.so+0x00001234", "0xffffffff81000000", "foo/0x1234.bar", "[unknown] 0x00000000"] {
            assert_eq!(normalise(name), name);
        }
    }

    /// Wherever one begins, a row of addresses ends at the same place: it is walked once and not once for each of them.
    #[test]
    fn rows_of_addresses_are_walked_once() {
        for (row, end) in [("+0x00000001", ""), ("+0x00000001", ".run"), ("/0x1", ""), ("/0x1", ".run")] {
            let name = format!("a{}{end}", row.repeat(1_000));
            let _ = work::take_work();
            let shown = normalise(&name);
            assert!(work::take_work() <= 2 * name.len() as u64, "{row} {end}");
            let is_hidden_class = row.len() > 8 && !end.is_empty();
            assert_eq!(shown, if is_hidden_class { "a.run" } else { name.as_str() });
        }
    }

    #[test]
    fn go_type_parameters() {
        assert_eq!(normalise("a.(*C[go.shape.struct { X []int },go.shape.int_0]).M"), "a.(*C[...]).M");
        assert_eq!(normalise("a.F[go.shape.int_0].func2"), "a.F[...].func2");
        assert_eq!(normalise("a.F[go.shape.struct { cut"), "a.F[...]");
        assert_eq!(normalise("a.F[...].G[int]"), "a.F[...].G[int]");
    }
}

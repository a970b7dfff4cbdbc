//! Rules for every Rust file: a header, a bounded length, no unfinished work, no path of one machine.
//!
//! Generated files (first line `// @generated …`) are left to `codegen`. A file over the limit states why in its
//! header with a line that begins `//! Long because`.

use super::{Findings, Tree};

/// Lines of a file without a stated reason.
const LINES_MAX: usize = 600;

/// Text that means unfinished work or one person's machine, with what to do about it. Spelled in two parts, so that
/// this file does not find itself.
const BANNED: &[(&str, &str, &str)] = &[
    ("todo", "!(", "finish it"),
    ("unimplemented", "!(", "finish it"),
    ("FIX", "ME", "fix it, or say in a comment why it stays"),
    ("dbg", "!(", "remove it"),
    ("\"/ho", "me/", "no path of one machine"),
    ("\"/wo", "rk/", "no path of one machine"),
];

pub(super) fn check(tree: &Tree, findings: &mut Findings) -> Result<(), String> {
    for name in tree.ending(".rs") {
        let text = tree.read(name)?;
        if text.starts_with("// @generated") {
            continue;
        }
        one_file(name, &text, findings);
    }
    Ok(())
}

fn one_file(name: &str, text: &str, findings: &mut Findings) {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("#!"));
    if !lines.next().unwrap_or_default().starts_with("//! ") {
        findings.push(format!("{name}: begins without a `//!` header that says what the file is for"));
    }
    let length = text.lines().count();
    if length > LINES_MAX && !text.lines().any(|line| line.starts_with("//! Long because")) {
        findings.push(format!(
            "{name}: {length} lines (limit {LINES_MAX}); split it, or state a reason in the header: `//! Long because …`"
        ));
    }
    for (position, line) in text.lines().enumerate() {
        for (front, back, advice) in BANNED {
            let word = format!("{front}{back}");
            if line.contains(&word) {
                findings.push(format!("{name}:{}: `{word}`: {advice}", position + 1));
            }
        }
        // A note for later needs a number under which it can be found again.
        let note = ["TO", "DO"].concat();
        if line.contains(&note) && !line.contains(&format!("{note}(#")) {
            findings.push(format!(
                "{name}:{}: `{note}` without an issue number, write `{note}(#12)`",
                position + 1
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Findings {
        let mut found = Findings::new();
        one_file("a.rs", text, &mut found);
        found
    }

    #[test]
    fn a_headed_short_file_is_fine() {
        assert!(findings("//! What it is for.\n\nfn a() {}\n").is_empty());
    }

    #[test]
    fn a_file_without_header_is_found() {
        assert_eq!(findings("fn a() {}\n").len(), 1);
    }

    #[test]
    fn a_long_file_needs_a_reason() {
        let body = "fn a() {}\n".repeat(LINES_MAX);
        assert_eq!(findings(&format!("//! For.\n{body}")).len(), 1);
        assert!(findings(&format!("//! For.\n//! Long because it is one table.\n{body}")).is_empty());
    }

    #[test]
    fn unfinished_work_is_found() {
        assert_eq!(findings(&format!("//! For.\nfn a() {{ {}{} }}\n", "todo", "!()")).len(), 1);
    }
}

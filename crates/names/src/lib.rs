//! Display names: what a stored raw name is shown as.
//!
//! Rules are numbered sets ([`RULES_VERSION`]); they are applied on read, stored names never change (D41, R6). A rule only
//! takes away what the run of a program made up (hashes, addresses, counters of generated classes) or undoes mangling;
//! brackets and argument lists stay (C064).
//!
//! Beside them stand two guesses for pictures: the package of a function ([`package_of`]) and what kind of code it is
//! ([`frame_kind`]).
//!
//! Who calls this: `query`, once per function, and keeps the result.
//!
//! Not here: storage, and which names are joined (`query`).

mod demangle;
mod generated;
mod itanium;
mod kind;
mod limits;
mod package;
mod prune;
mod work;

use std::borrow::Cow;

pub use kind::{FrameKind, frame_kind};
pub use package::{package_of, stable_hash};
pub use prune::{FramePruner, PatternError, pprof_simplified};
pub use work::take_work;

/// Number of the rule set; caches of display names are keyed by it.
pub const RULES_VERSION: u32 = 2;

/// The name to show for a function: the raw name, demangled where it is mangled, else the demangled `system_name`.
/// `None` where both are empty: the caller shows the address (C095).
///
/// ```
/// assert_eq!(names::display_name("_ZN4core3fmt5write17h0123456789abcdefE", "").as_deref(), Some("core::fmt::write"));
/// assert_eq!(names::display_name("", "_Z3addii").as_deref(), Some("add(int, int)"));
/// assert_eq!(names::display_name("main.(*T).Method", "x").as_deref(), Some("main.(*T).Method"));
/// ```
#[must_use]
pub fn display_name<'a>(name: &'a str, system_name: &'a str) -> Option<Cow<'a, str>> {
    let raw = if name.is_empty() { system_name } else { name };
    if raw.is_empty() {
        return None;
    }
    let without_suffix = demangle::without_llvm_suffix(raw);
    if let Some(demangled) = demangle::demangle(without_suffix) {
        return Some(Cow::Owned(demangled));
    }
    Some(generated::normalise(without_suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str) -> String {
        display_name(name, "").unwrap().into_owned()
    }

    #[test]
    fn c095_function_without_name() {
        assert_eq!(display_name("", "_ZN3foo3barEv").as_deref(), Some("foo::bar()"));
        assert_eq!(display_name("", "plain").as_deref(), Some("plain"));
        assert_eq!(display_name("", ""), None);
    }

    #[test]
    fn c064_parens_in_names() {
        for name in [
            "main.(*T).Method",
            "main.(*Server).Serve.func1.(*x).y",
            "Foo::operator()(int)",
            "(anonymous namespace)::f",
            "std::function<void (int)>::operator()(int) const",
            "net/http.(*conn).serve",
        ] {
            assert_eq!(shown(name), name);
        }
        assert_eq!(shown("_ZN12_GLOBAL__N_11fEv"), "(anonymous namespace)::f()");
        assert_eq!(shown("_ZN3FooclEi"), "Foo::operator()(int)");
    }

    #[test]
    fn names_without_a_rule_are_borrowed() {
        assert!(matches!(display_name("runtime.mallocgc", ""), Some(Cow::Borrowed("runtime.mallocgc"))));
        assert!(matches!(display_name("java/lang/Thread.run", ""), Some(Cow::Borrowed(_))));
    }

    #[test]
    fn a_rule_applied_twice_changes_nothing() {
        for name in [
            "_ZN4core3fmt5write17h0123456789abcdefE.llvm.42",
            "Foo$$Lambda$14/0x00000008000c2440.run",
            "a.(*C[go.shape.int_0]).M",
        ] {
            let once = shown(name);
            assert_eq!(shown(&once), once);
        }
    }
}

//! Undoing the name mangling of Rust and C++, within a budget: mangled names come from anyone, a short one can stand for a
//! text of any length, and of a bad one a parser that tries one rule after the other may not see the end (R1, C062). What
//! is beyond the budget stays mangled.

use std::fmt::{self, Write};

use crate::{
    itanium,
    limits::{DEMANGLED_BYTES_MAX, DEMANGLED_BYTES_MIN, DEMANGLED_BYTES_PER_BYTE, MANGLED_BYTES_MAX},
    work,
};

/// Cuts `.llvm.1234`, which the optimiser adds to names that it moves between modules and which changes with every
/// build.
pub(crate) fn without_llvm_suffix(name: &str) -> &str {
    match name.rfind(".llvm.") {
        Some(position) if position > 0 => {
            let rest = &name[position + ".llvm.".len()..];
            let is_number = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
            if is_number { &name[..position] } else { name }
        }
        _ => name,
    }
}

/// The demangled name; `None` where the name is not mangled or cannot be undone.
pub(crate) fn demangle(name: &str) -> Option<String> {
    // macOS puts one more underscore in front
    let is_mangled = ["_Z", "_R", "__Z", "__R"].iter().any(|prefix| name.starts_with(prefix));
    if !is_mangled || name.len() > MANGLED_BYTES_MAX {
        return None;
    }
    rust(name).or_else(|| cpp(name))
}

fn rust(name: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(name).ok()?;
    // `_ZN3foo3barE` is good C++ as well; Rust's old mangling always ends with a hash
    let is_old = name.trim_start_matches('_').starts_with('Z');
    if is_old && !has_rust_hash(name) {
        return None;
    }
    let mut out = Bounded::of(name);
    let result = write!(out, "{demangled:#}");
    work::count(out.writes);
    result.ok()?;
    Some(out.text)
}

/// `17h` and sixteen hexadecimal digits before the closing `E`.
fn has_rust_hash(name: &str) -> bool {
    let Some(end) = name.rfind('E') else { return false };
    let bytes = &name.as_bytes()[..end];
    bytes.len() > 19
        && bytes[bytes.len() - 19..].starts_with(b"17h")
        && bytes[bytes.len() - 16..].iter().all(u8::is_ascii_hexdigit)
}

fn cpp(name: &str) -> Option<String> {
    itanium::demangle(if name.starts_with("__Z") { &name[1..] } else { name })
}

/// A text that refuses to grow beyond what is in proportion to its mangled name, and to be written to more often than that.
struct Bounded {
    text: String,
    bytes_max: usize,
    /// Also of nothing, because a name may refer to nothing any number of times.
    writes: usize,
}

impl Bounded {
    fn of(mangled: &str) -> Self {
        let bytes_max = DEMANGLED_BYTES_PER_BYTE * mangled.len() + DEMANGLED_BYTES_MIN;
        Self { text: String::new(), bytes_max: bytes_max.min(DEMANGLED_BYTES_MAX), writes: 0 }
    }
}

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.writes += 1;
        if self.text.len() + part.len() > self.bytes_max || self.writes > self.bytes_max {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{PARSE_STEPS_MIN, PARSE_STEPS_PER_BYTE};

    #[test]
    fn rust_old_and_new_mangling_without_hash() {
        assert_eq!(demangle("_ZN4core3fmt5write17h0123456789abcdefE").as_deref(), Some("core::fmt::write"));
        assert_eq!(demangle("_RNvCs1234_7mycrate3foo").as_deref(), Some("mycrate::foo"));
        assert_eq!(
            demangle("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE").as_deref(),
            Some("<Test + 'static as foo::Bar<Test>>::bar")
        );
    }

    #[test]
    fn cpp_with_arguments_and_without_return_type() {
        assert_eq!(demangle("_ZN3foo3barEv").as_deref(), Some("foo::bar()"));
        assert_eq!(demangle("__ZN3foo3barEv").as_deref(), Some("foo::bar()"));
        assert_eq!(demangle("_ZN3foo3barE").as_deref(), Some("foo::bar"));
        assert_eq!(demangle("_Z3maxIiET_S0_S0_").as_deref(), Some("max<int>(int, int)"));
        assert_eq!(demangle("plain"), None);
        assert_eq!(demangle("_Zzz"), None);
    }

    #[test]
    fn llvm_suffix() {
        assert_eq!(without_llvm_suffix("foo.llvm.1234567890"), "foo");
        assert_eq!(without_llvm_suffix("foo.llvm.x"), "foo.llvm.x");
        assert_eq!(without_llvm_suffix(".llvm.12"), ".llvm.12");
        assert_eq!(demangle(without_llvm_suffix("_ZN3foo3barEv.llvm.77")).as_deref(), Some("foo::bar()"));
    }

    #[test]
    fn bombs_stay_mangled() {
        // each level doubles the text that the substitution stands for
        let mut bomb = String::from("_Z1fI1AIi");
        for _ in 0..40 {
            bomb.push_str("S_S_");
        }
        bomb.push_str(&"E".repeat(41));
        bomb.push('v');
        assert!(demangle(&bomb).is_none_or(|text| text.len() <= DEMANGLED_BYTES_MAX));
        assert_eq!(demangle(&format!("_Z{}", "P".repeat(100_000))), None);
        assert_eq!(demangle(&format!("_Z1f{}i", "P".repeat(10_000))), None);
    }

    /// A parser that tries one rule after the other reads these for twice as long with every token, and is never done.
    #[test]
    fn names_that_double_the_work_stay_mangled() {
        for (start, token) in [
            ("_Z1fIX", "na"),
            ("_Z1fIX", "nanw"),
            ("_Z1f", "StI"),
            ("_Z1f", "StIL"),
            ("_Z1f", "trStUl"),
            ("_Z1fI", "LDTna"),
            ("_ZN1a", "S_I"),
            ("_Z1f", "cvKZ"),
        ] {
            for count in [12, 24, 30, 45, 100, 1_000] {
                let name = format!("{start}{}", token.repeat(count));
                let _ = work::take_work();
                assert_eq!(demangle(&name), None, "{start} {token}");
                let steps = work::take_work();
                let steps_max = PARSE_STEPS_PER_BYTE * name.len() + PARSE_STEPS_MIN;
                assert!(steps <= steps_max as u64, "{start} {token}: {steps} steps for {} bytes", name.len());
            }
        }
    }

    /// What compilers write is far from the limits.
    #[test]
    fn names_of_real_programs_are_demangled() {
        let name = "_ZSt4swapIiENSt9enable_ifIXsr6__and_ISt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructibleIS3_ESt18is_move_assignableIS3_EEE5valueEvE4typeERS3_SC_";
        assert_eq!(demangle(name).as_deref(), Some("std::swap<int>(int&, int&)"));
    }
}

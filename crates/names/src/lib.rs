//! Display names: what a stored raw name is shown as.
//!
//! Rules are numbered sets ([`RULES_VERSION`]); they are applied on read, stored names never change (D41, R6).
//!
//! Not here: storage, and which names are joined (`query`).

use std::borrow::Cow;

/// Number of the rule set; caches of display names are keyed by it.
pub const RULES_VERSION: u32 = 1;

/// The name to show for a function: the raw name, demangled where it is mangled, else the demangled `system_name`.
/// `None` where both are empty: the caller shows the address (C095).
#[must_use]
pub fn display_name<'a>(name: &'a str, system_name: &'a str) -> Option<Cow<'a, str>> {
    let _ = (name, system_name);
    todo!()
}

/// Simplification that pprof applies before `drop_frames` and `keep_frames`: leading dot and argument list cut.
#[must_use]
pub fn pprof_simplified(name: &str) -> Cow<'_, str> {
    let _ = name;
    todo!()
}

//! Frames that a profile asks to leave out: pprof's `drop_frames` and `keep_frames`.
//!
//! Both are regular expressions over simplified names and must match the whole name. The rule for a stack, as pprof has
//! it: walking from the root, frames up to the first one that is not dropped always stay; after that, the first dropped
//! frame goes together with everything it called ([`FramePruner::kept_frames`]).

use std::borrow::Cow;

use regex::{Regex, RegexBuilder};

use crate::limits::PATTERN_BYTES_MAX;

/// Names with brackets that do not begin an argument list.
const RESERVED: [&str; 2] = ["(anonymous namespace)", "operator()"];

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct PatternError {
    /// `drop_frames` or `keep_frames`.
    pub field: &'static str,
    /// Why.
    pub reason: String,
}

/// Tells which functions are dropped.
#[derive(Clone, Debug, Default)]
pub struct FramePruner {
    drop: Option<Regex>,
    keep: Option<Regex>,
}

impl FramePruner {
    /// Compiles the patterns; an empty `drop` drops nothing, an empty `keep` makes no exception.
    ///
    /// # Errors
    /// For a pattern that is wrong or too large.
    pub fn new(drop: &str, keep: &str) -> Result<Self, PatternError> {
        if drop.is_empty() {
            return Ok(Self::default());
        }
        let keep = if keep.is_empty() { None } else { Some(compile("keep_frames", keep)?) };
        Ok(Self { drop: Some(compile("drop_frames", drop)?), keep })
    }

    /// Whether nothing is ever dropped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.drop.is_none()
    }

    /// Whether a function of this raw name is dropped; one without a name never is.
    #[must_use]
    pub fn drops(&self, raw_name: &str) -> bool {
        let Some(drop) = &self.drop else { return false };
        if raw_name.is_empty() {
            return false;
        }
        let name = pprof_simplified(raw_name);
        drop.is_match(&name) && !self.keep.as_ref().is_some_and(|keep| keep.is_match(&name))
    }

    /// How many frames of a stack stay, counted from the root; `dropped` says of each frame, root first, whether
    /// [`FramePruner::drops`] holds for it.
    #[must_use]
    pub fn kept_frames(dropped: impl IntoIterator<Item = bool>) -> usize {
        let mut has_kept = false;
        let mut count = 0;
        for is_dropped in dropped {
            if is_dropped && has_kept {
                break;
            }
            has_kept |= !is_dropped;
            count += 1;
        }
        count
    }
}

fn compile(field: &'static str, pattern: &str) -> Result<Regex, PatternError> {
    RegexBuilder::new(&format!("^(?:{pattern})$"))
        .size_limit(PATTERN_BYTES_MAX)
        .build()
        .map_err(|error| PatternError { field, reason: error.to_string() })
}

/// Simplification that pprof applies before `drop_frames` and `keep_frames`: leading dot and argument list cut.
#[must_use]
pub fn pprof_simplified(name: &str) -> Cow<'_, str> {
    let name = name.strip_prefix('.').unwrap_or(name);
    let mut position = 0;
    while let Some(rest) = name.get(position..) {
        if let Some(reserved) = RESERVED.iter().find(|reserved| rest.starts_with(*reserved)) {
            position += reserved.len();
            continue;
        }
        match rest.chars().next() {
            None => break,
            Some('(') => return Cow::Borrowed(&name[..position]),
            Some(character) => position += character.len_utf8(),
        }
    }
    Cow::Borrowed(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simplified_names() {
        let expected = [
            (".foo", "foo"),
            ("foo(int, char)", "foo"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("Foo::operator()(int)", "Foo::operator()"),
            ("main.(*T).Method", "main."),
            ("plain", "plain"),
            ("", ""),
        ];
        for (raw, simplified) in expected {
            assert_eq!(pprof_simplified(raw), simplified, "{raw}");
        }
    }

    #[test]
    fn patterns_match_whole_simplified_names() {
        let pruner = FramePruner::new("malloc|.*alloc_impl", "my_alloc_impl").unwrap();
        assert!(pruner.drops("malloc"));
        assert!(pruner.drops(".malloc(unsigned long)"));
        assert!(pruner.drops("tc_alloc_impl"));
        assert!(!pruner.drops("my_alloc_impl"));
        assert!(!pruner.drops("malloc_usable"));
        assert!(!pruner.drops(""));
        assert!(!FramePruner::new("", "x").unwrap().drops("malloc"));
        assert_eq!(FramePruner::new("(", "").unwrap_err().field, "drop_frames");
        assert_eq!(FramePruner::new("a", "[").unwrap_err().field, "keep_frames");
    }

    #[test]
    fn huge_patterns_are_refused() {
        assert!(FramePruner::new(r"(\w{500}){500}", "").is_err());
    }

    #[test]
    fn frames_before_the_first_kept_one_stay() {
        assert_eq!(FramePruner::kept_frames([false, false, true, false]), 2);
        assert_eq!(FramePruner::kept_frames([true, true]), 2);
        assert_eq!(FramePruner::kept_frames([true, false, true]), 2);
        assert_eq!(FramePruner::kept_frames([]), 0);
    }
}

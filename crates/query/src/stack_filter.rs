//! Which stacks a query takes, by the functions on them: a call site they begin with, functions they have or lack.
//!
//! Names are display names (D41), because those are what a client was shown. A stack is taken or left whole. Samples
//! without a stack have no function, so that any filter leaves them out.

use std::{collections::HashMap, sync::Arc};

use regex::Regex;

use crate::{
    QueryError,
    display::NO_STACK,
    limits,
    name_table::NameTable,
    path_table::{PathTable, ROOT},
    progress::Progress,
    selector::search_pattern,
};

/// Rules about the functions of a stack, as text. Patterns fit anywhere in a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameRules {
    /// Names, each of which must be on the stack.
    pub include_names: Vec<String>,
    /// Names, none of which may be on the stack.
    pub exclude_names: Vec<String>,
    /// Patterns, each of which must fit a function of the stack.
    pub include_patterns: Vec<String>,
    /// Patterns, none of which may fit a function of the stack.
    pub exclude_patterns: Vec<String>,
}

/// Rules that were read; copies share them.
#[derive(Clone, Debug, Default)]
pub struct FrameFilter(Option<Arc<Rules>>);

#[derive(Debug)]
struct Rules {
    include_names: Vec<String>,
    exclude_names: Vec<String>,
    include_patterns: Vec<Regex>,
    exclude_patterns: Vec<Regex>,
}

impl FrameFilter {
    /// Reads rules; none at all take every stack.
    ///
    /// # Errors
    /// For a pattern that is none or too large, and for more rules than [`limits::FRAME_NAMES_MAX`] names,
    /// [`limits::FRAME_PATTERNS_MAX`] patterns and [`limits::FRAME_INCLUDES_MAX`] things that must be there.
    pub fn new(mut rules: FrameRules) -> Result<Self, QueryError> {
        if rules == FrameRules::default() {
            return Ok(Self(None));
        }
        for names in [&mut rules.include_names, &mut rules.exclude_names] {
            names.sort_unstable();
            names.dedup();
        }
        let names = rules.include_names.len() + rules.exclude_names.len();
        let patterns = rules.include_patterns.len() + rules.exclude_patterns.len();
        let includes = rules.include_names.len() + rules.include_patterns.len();
        for (what, count, limit) in [
            ("names", names, limits::FRAME_NAMES_MAX),
            ("patterns", patterns, limits::FRAME_PATTERNS_MAX),
            ("includes", includes, limits::FRAME_INCLUDES_MAX),
        ] {
            if count > limit {
                let reason = format!("has {count} {what} (at most {limit} are allowed)");
                return Err(QueryError::invalid("frame_filter", reason));
            }
        }
        let compiled = |field: &str, texts: &[String]| -> Result<Vec<Regex>, QueryError> {
            let compile = |text: &String| {
                let field = format!("frame_filter.{field}");
                search_pattern(text).map_err(|reason| QueryError::invalid(field, reason))
            };
            texts.iter().map(compile).collect()
        };
        Ok(Self(Some(Arc::new(Rules {
            include_patterns: compiled("include_function_name_regexes", &rules.include_patterns)?,
            exclude_patterns: compiled("exclude_function_name_regexes", &rules.exclude_patterns)?,
            include_names: rules.include_names,
            exclude_names: rules.exclude_names,
        }))))
    }
}

/// Which stacks a query takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackFilter<'a> {
    /// Names that a stack begins with, from the root on.
    pub call_site: &'a [String],
    /// Functions that must or must not be there.
    pub frames: &'a FrameFilter,
}

/// A node outside the call site; everything below it is, too.
const OUTSIDE: u32 = u32::MAX;

/// What names mean to a filter.
struct Meanings {
    /// Number of the call site's text that each name is, [`OUTSIDE`] = none.
    site: Vec<u32>,
    /// Bit per thing that must be there.
    includes: Vec<u64>,
    excluded: Vec<bool>,
}

impl StackFilter<'_> {
    /// Whether every stack is taken.
    pub fn is_empty(&self) -> bool {
        self.call_site.is_empty() && self.frames.0.is_none()
    }

    /// For each node of a tree whether a stack that ends there is taken.
    pub fn inside(
        &self,
        paths: &PathTable,
        names: &NameTable,
        progress: &Progress<'_>,
    ) -> Result<Vec<bool>, QueryError> {
        if self.call_site.len() > limits::CALL_SITE_MAX {
            let reason = format!(
                "has {} functions (at most {} are allowed)",
                self.call_site.len(),
                limits::CALL_SITE_MAX
            );
            return Err(QueryError::invalid("call_site", reason));
        }
        let (site, site_texts) = self.site();
        let meanings = self.meanings(&site_texts, names, progress)?;
        let rules = self.frames.0.as_deref();
        let include_count = rules.map_or(0, |rules| rules.include_names.len() + rules.include_patterns.len());
        let wanted = u64::MAX.checked_shr(64 - u32::try_from(include_count).unwrap_or(64)).unwrap_or(0);
        let count = paths.len();
        // Names of the call site behind each node, things that must be there, and whether something may not.
        let mut matched = vec![0_u32; count];
        let mut found = vec![0_u64; count];
        let mut refused = vec![false; count];
        for node in 1..count {
            if node % limits::NAMES_PER_CHECK == 0 {
                progress.check()?;
            }
            let parent = paths.parents()[node] as usize;
            let name = paths.names()[node] as usize;
            matched[node] = match site.get(matched[parent] as usize) {
                _ if matched[parent] == OUTSIDE => OUTSIDE,
                None => matched[parent],
                Some(&text) if meanings.site[name] == text => matched[parent] + 1,
                Some(_) => OUTSIDE,
            };
            if rules.is_some() {
                found[node] = found[parent] | meanings.includes[name];
                refused[node] = refused[parent] || meanings.excluded[name];
            }
        }
        let at_site = |node: usize| matched[node] != OUTSIDE && matched[node] as usize == site.len();
        let has_frames = |node: usize| node != ROOT as usize && node != NO_STACK as usize;
        Ok((0..count)
            .map(|node| {
                at_site(node)
                    && (rules.is_none() || has_frames(node) && found[node] == wanted && !refused[node])
            })
            .collect())
    }

    /// The call site with each distinct text as a number.
    fn site(&self) -> (Vec<u32>, HashMap<&str, u32>) {
        let mut texts: HashMap<&str, u32> = HashMap::new();
        let numbers = self.call_site.iter().map(|text| {
            let next = u32::try_from(texts.len()).unwrap_or(OUTSIDE);
            *texts.entry(text).or_insert(next)
        });
        (numbers.collect(), texts)
    }

    fn meanings(
        &self,
        site: &HashMap<&str, u32>,
        names: &NameTable,
        progress: &Progress<'_>,
    ) -> Result<Meanings, QueryError> {
        let count = names.len();
        let rules = self.frames.0.as_deref();
        let of_rules = if rules.is_some() { count } else { 0 };
        let mut meanings = Meanings {
            site: vec![OUTSIDE; count],
            includes: vec![0; of_rules],
            excluded: vec![false; of_rules],
        };
        for (position, number) in (0_u32..).zip(0..count) {
            if number % limits::NAMES_PER_CHECK == 0 {
                progress.check()?;
            }
            let text = &*names.get(position).text;
            if let Some(&known) = site.get(text) {
                meanings.site[number] = known;
            }
            let Some(rules) = rules else { continue };
            let by_name = rules.include_names.binary_search_by(|name| name.as_str().cmp(text)).ok();
            let by_pattern = (rules.include_names.len()..).zip(&rules.include_patterns);
            let by_pattern = by_pattern.filter(|(_, pattern)| pattern.is_match(text)).map(|(bit, _)| bit);
            for bit in by_pattern.chain(by_name) {
                meanings.includes[number] |= 1 << bit;
            }
            meanings.excluded[number] =
                rules.exclude_names.binary_search_by(|name| name.as_str().cmp(text)).is_ok()
                    || rules.exclude_patterns.iter().any(|pattern| pattern.is_match(text));
        }
        Ok(meanings)
    }
}

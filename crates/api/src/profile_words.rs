//! profefe's words for kinds of profiles and the last parts of Go's `/debug/pprof` paths, and the profile names that they
//! stand for (D24). The table is in `docs/api.md` too.
//!
//! The names are those that Pyroscope's clients use, so a service that changes its way of pushing keeps its series.

/// A word with the profile name that a push under it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProfileWord {
    /// As profefe and Go write it.
    pub word: &'static str,
    /// Profile name that is stored.
    pub name: &'static str,
    /// Names that a read of the word finds beside it, as a regular expression.
    pub names: &'static str,
}

/// profefe's words. `trace` is none of them: an execution trace is kept whole.
pub(crate) const PROFEFE_WORDS: [ProfileWord; 7] = [
    word("cpu", "process_cpu", "process_cpu|cpu"),
    word("heap", "memory", "memory|heap|allocs"),
    word("block", "block", "block"),
    word("mutex", "mutex", "mutex"),
    word("goroutine", "goroutines", "goroutines|goroutine"),
    word("threadcreate", "threadcreate", "threadcreate"),
    word("other", "other", "other"),
];

/// profefe's word for a Go execution trace.
pub(crate) const TRACE: &str = "trace";

/// Last parts of the URLs for `go tool pprof`.
pub(crate) const GO_PATHS: [ProfileWord; 7] = [
    word("profile", "process_cpu", "process_cpu|cpu"),
    word("heap", "memory", "memory|heap|allocs"),
    word("allocs", "memory", "memory|heap|allocs"),
    word("mutex", "mutex", "mutex"),
    word("block", "block", "block"),
    word("goroutine", "goroutines", "goroutines|goroutine"),
    word("threadcreate", "threadcreate", "threadcreate"),
];

const fn word(word: &'static str, name: &'static str, names: &'static str) -> ProfileWord {
    ProfileWord { word, name, names }
}

/// The entry of a word.
pub(crate) fn find(table: &[ProfileWord], word: &str) -> Option<ProfileWord> {
    table.iter().copied().find(|entry| entry.word == word)
}

/// profefe's word for a stored profile name; `other` for names that it has no word for.
pub(crate) fn profefe_word(name: &str) -> &'static str {
    let fits = |entry: &&ProfileWord| entry.names.split('|').any(|known| known == name || entry.name == name);
    PROFEFE_WORDS.iter().find(fits).map_or("other", |entry| entry.word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_names_go_back_and_forth() {
        for entry in PROFEFE_WORDS {
            assert_eq!(profefe_word(entry.name), entry.word);
            let selector = query::Selector::parse(&format!("{{x=~\"{}\"}}", entry.names)).unwrap();
            let labels = profile::LabelSet::from_pairs([("x", entry.name)]).unwrap();
            assert!(selector.matches(&labels), "{}", entry.word);
        }
        assert_eq!(profefe_word("goroutine"), "goroutine");
        assert_eq!(profefe_word("wall"), "other");
    }
}

//! Where answers come from: profile files that are read here, or a server. Commands do not see the difference (D12).
//!
//! An argument that is an existing file is a file, whatever its name looks like (C029); `-` is stdin; everything else
//! is a selector for the server.

mod files;
mod local;
mod nothing;
mod quick;
mod server;

use std::{ffi::OsString, path::PathBuf};

use query::{Aggregation, AnswerStats, CallersTable, DiffTree, FlameTree, NameMode, TopTable};

pub use files::{FileFormat, read as read_file, shown};
pub use local::Local;
pub use server::{FROM_ALWAYS, Remote, ServerArguments, TO_ALWAYS, label_map};

use crate::{failure::Failure, time};

/// What is asked, as typed.
#[derive(Clone, Debug, clap::Args)]
pub struct SourceArguments {
    /// Profile files (pprof, folded stacks or speedscope, `-` = stdin; several are merged), or one selector for the server
    #[arg(value_name = "FILE|SELECTOR")]
    pub sources: Vec<OsString>,
    /// Which values.
    #[command(flatten)]
    pub values: ValueArguments,
    /// Which server.
    #[command(flatten)]
    pub server: ServerArguments,
}

/// Which values of the profiles are meant.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Selection")]
pub struct ValueArguments {
    /// Profile type: cpu, inuse_space, … or all five parts; for files the sample type
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    pub profile_type: Option<String>,
    /// Sample type by name or position, as pprof has it [default: the profile's own default, else the last]
    #[arg(
        long,
        value_name = "NAME|N",
        alias = "sample_index",
        conflicts_with = "profile_type",
        allow_negative_numbers = true
    )]
    pub sample_index: Option<String>,
    /// What files are, where their bytes do not say it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub file_format: FileFormat,
    /// First instant: RFC 3339, ms since 1970, or now-1h [default: everything]
    #[arg(long, value_name = "TIME", value_parser = time::flag, allow_hyphen_values = true)]
    pub from: Option<String>,
    /// End, not included [default: now]
    #[arg(long, value_name = "TIME", value_parser = time::flag, allow_hyphen_values = true)]
    pub to: Option<String>,
    /// How states such as in-use memory are put together over time
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub agg: Together,
    /// Names as stored instead of names for people
    #[arg(long)]
    pub raw_names: bool,
    /// Only rows of these spans (16 hexadecimal digits each)
    #[arg(long = "span-id", value_name = "ID", value_delimiter = ',')]
    pub span_ids: Vec<String>,
    /// Only rows of these traces (32 hexadecimal digits each)
    #[arg(long = "trace-id", value_name = "ID", value_delimiter = ',', conflicts_with = "span_ids")]
    pub trace_ids: Vec<String>,
    /// Only these profiles
    #[arg(long = "profile-id", value_name = "ID", value_delimiter = ',')]
    pub profile_ids: Vec<String>,
}

/// How states are put together along time (D7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Together {
    /// Average over the collection rounds.
    #[default]
    Avg,
    /// Sum.
    Sum,
    /// The last round.
    Last,
}

impl Together {
    /// The word in the native API.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Avg => "avg",
            Self::Sum => "sum",
            Self::Last => "last",
        }
    }

    /// The engine's word.
    #[must_use]
    pub fn aggregation(self) -> Aggregation {
        match self {
            Self::Avg => Aggregation::Native,
            Self::Sum => Aggregation::Sum,
            Self::Last => Aggregation::Last,
        }
    }
}

impl ValueArguments {
    /// Which names are shown.
    #[must_use]
    pub fn name_mode(&self) -> NameMode {
        if self.raw_names { NameMode::Raw } else { NameMode::Display }
    }

    /// What was said of the type, by either flag.
    #[must_use]
    pub fn wanted_type(&self) -> Option<&str> {
        self.sample_index.as_deref().or(self.profile_type.as_deref())
    }
}

/// What the arguments turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// Files to read here.
    Files(Vec<PathBuf>),
    /// A selector for the server; empty = everything.
    Selector(String),
}

/// Tells files from selectors.
///
/// # Errors
/// For a mixture, several selectors, and what looks like a file that is not there.
pub fn named(sources: &[OsString]) -> Result<Named, Failure> {
    let is_file = |text: &OsString| text == "-" || std::path::Path::new(text).exists();
    if !sources.is_empty() && sources.iter().all(is_file) {
        return Ok(Named::Files(sources.iter().map(PathBuf::from).collect()));
    }
    // File names may hold any bytes, selectors are text.
    let is_missing = |text: &&OsString| !is_file(text) && text.to_str().is_none_or(looks_like_file);
    if let Some(missing) = sources.iter().find(is_missing) {
        return Err(Failure::Failed(format!(
            "there is no file {missing:?} (and a selector looks like 'cpu{{service_name=\"api\"}}', with single quotes around it)"
        )));
    }
    match sources {
        [] => Ok(Named::Selector(String::new())),
        [one] => Ok(Named::Selector(one.to_string_lossy().into_owned())),
        _ => {
            let missing = sources.iter().find(|text| !is_file(text));
            let missing = missing.map(|text| format!("{} is no file: ", text.to_string_lossy()));
            Err(Failure::Usage(format!(
                "{}give files, or one selector for the server, but not several selectors or both",
                missing.unwrap_or_default()
            )))
        }
    }
}

/// Whether a text that is no file was most likely meant as one.
fn looks_like_file(text: &str) -> bool {
    if text.contains('{') {
        return false;
    }
    // A profile type has letters, digits, `_`, `-` and colons; file names have dots, slashes or blanks.
    !text.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | ':'))
}

/// An answer with what is to be told about it.
#[derive(Clone, Debug)]
pub struct Told<T> {
    /// The answer.
    pub data: T,
    /// What it took.
    pub stats: AnswerStats,
}

/// Files or a server, ready to be asked.
pub enum Source {
    /// Files in memory.
    Local(Box<Local>),
    /// A server.
    Remote(Remote),
}

impl Source {
    /// Opens what the arguments name.
    ///
    /// # Errors
    /// When a file cannot be read or the arguments do not fit together.
    pub fn open(arguments: &SourceArguments) -> Result<Self, Failure> {
        match named(&arguments.sources)? {
            Named::Files(files) => Ok(Self::Local(Box::new(Local::open(&[&files], &arguments.values)?))),
            Named::Selector(selector) => {
                Ok(Self::Remote(Remote::new(&arguments.server, &arguments.values, vec![selector])?))
            }
        }
    }

    /// What is read, for headings: file names or the selector.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::Local(local) => local.title().to_owned(),
            Self::Remote(remote) => remote.title(),
        }
    }

    /// Why an answer of one side (0 = left, or the only one) is empty, for people; `None` where nothing better is known than
    /// that it is.
    #[must_use]
    pub fn why_nothing(&self, side: usize) -> Option<String> {
        match self {
            Self::Local(local) => local.why_nothing(side),
            Self::Remote(remote) => remote.why_nothing(side),
        }
    }

    /// The merged tree with at most `nodes_max` nodes, 0 = no cut (as far as a server allows).
    ///
    /// # Errors
    /// Sentences that say what to do; so for all below.
    pub fn flame(&self, nodes_max: usize) -> Result<Told<FlameTree>, Failure> {
        match self {
            Self::Local(local) => local.flame(nodes_max),
            Self::Remote(remote) => remote.flame(nodes_max),
        }
    }

    /// The table of one plain file without opening it for other questions; `None` where that is not possible.
    ///
    /// # Errors
    /// See [`Source::flame`].
    pub fn quick_top(arguments: &SourceArguments) -> Result<Option<(String, Told<TopTable>)>, Failure> {
        match named(&arguments.sources)? {
            Named::Files(files) if files.len() == 1 => {
                let told = quick::top(&files[0], &arguments.values)?;
                Ok(told.map(|told| (local::title(&files), told)))
            }
            _ => Ok(None),
        }
    }

    /// Functions by own value, and how many there are in all; `rows_max` = 0 for all. Files answer with all rows in any
    /// case.
    ///
    /// # Errors
    /// See [`Source::flame`].
    pub fn top(&self, rows_max: usize) -> Result<(Told<TopTable>, usize), Failure> {
        match self {
            Self::Local(local) => local.top().map(|told| {
                let all = told.data.rows.len();
                (told, all)
            }),
            Self::Remote(remote) => remote.top(rows_max),
        }
    }

    /// Callers and callees of a function.
    ///
    /// # Errors
    /// See [`Source::flame`].
    pub fn callers(&self, function: &str) -> Result<Told<CallersTable>, Failure> {
        match self {
            Self::Local(local) => local.callers(function),
            Self::Remote(remote) => remote.callers(function),
        }
    }

    /// Both sides over each other; the source was opened with two.
    ///
    /// # Errors
    /// See [`Source::flame`].
    pub fn diff(&self, nodes_max: usize) -> Result<Told<DiffTree>, Failure> {
        match self {
            Self::Local(local) => local.diff(nodes_max),
            Self::Remote(remote) => remote.diff(nodes_max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c029_any_existing_file_is_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a:b.pprof");
        std::fs::write(&odd, b"").unwrap();
        assert_eq!(named(&[odd.clone().into()]).unwrap(), Named::Files(vec![odd]));
    }

    #[test]
    fn file_names_may_hold_any_bytes() {
        use std::os::unix::ffi::OsStringExt;
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join(OsString::from_vec(b"a\xff.pprof".to_vec()));
        assert_eq!(named(&[odd.clone().into()]).unwrap_err().code(), 1);
        std::fs::write(&odd, b"").unwrap();
        assert_eq!(named(&[odd.clone().into()]).unwrap(), Named::Files(vec![odd]));
    }

    #[test]
    fn c029_a_missing_file_is_a_sentence() {
        let error = named(&["no/such.pprof".into()]).unwrap_err();
        assert_eq!(error.code(), 1);
        assert!(error.to_string().starts_with("there is no file \"no/such.pprof\""), "{error}");
    }

    #[test]
    fn everything_else_is_a_selector() {
        for text in ["cpu", "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "cpu{a=\"x/y.z\"}", "{a=\"b c\"}"]
        {
            assert_eq!(named(&[text.into()]).unwrap(), Named::Selector(text.to_owned()));
        }
        assert_eq!(named(&[]).unwrap(), Named::Selector(String::new()));
        assert_eq!(named(&["cpu".into(), "memory".into()]).unwrap_err().code(), 2);
    }
}

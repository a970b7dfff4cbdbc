//! The command line: one file per command, each with its arguments and what it does.

mod callers;
mod completions;
mod diff;
mod explain;
mod flame;
mod labels;
mod man;
mod pprof;
mod profiles;
mod push;
mod rules;
mod scrape;
mod series;
mod server;
mod targets;
mod top;
mod up;

use std::path::Path;

use clap::{Parser, Subcommand, ValueEnum};
use query::AnswerStats;

use crate::{
    failure::Failure,
    output,
    render::{one_line, value},
    source::Source,
};

/// Everflame, a continuous profiler: keeps profiles, finds them again, and shows where time and memory go.
///
/// FILE and SELECTOR are accepted alike: an argument that is an existing file is read here, anything else is asked of
/// the server (--server, default http://127.0.0.1:4040).
#[derive(Debug, Parser)]
#[command(name = "everflame", version = env!("EVERFLAME_VERSION"), disable_help_subcommand = true)]
#[command(
    after_help = "Examples:\n  everflame up\n  everflame server --data-dir ./data\n  everflame push cpu.pprof --service api\n  everflame top cpu.pprof\n  everflame flame 'cpu{service_name=\"api\"}' --from now-1h"
)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// All commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the server
    Server(server::Arguments),
    /// See it: start a server that profiles itself and a small demo, and open its page
    Up(up::Arguments),
    /// Send profile files to a server
    Push(push::Arguments),
    /// List what a server scrapes, and how that goes
    Targets(targets::Arguments),
    /// Check what a server would scrape
    Scrape(scrape::Arguments),
    /// Draw a flame graph: in the terminal, as SVG, as one HTML page
    Flame(flame::Arguments),
    /// List functions by their own value
    Top(top::Arguments),
    /// Compare two files, selectors or ranges
    Diff(diff::Arguments),
    /// Show who calls a function and whom it calls
    Callers(callers::Arguments),
    /// List names of labels, or values of one
    Labels(labels::Arguments),
    /// List distinct label sets
    Series(series::Arguments),
    /// List single profiles with their ids
    Profiles(profiles::Arguments),
    /// Merge profiles into one pprof file
    Pprof(pprof::Arguments),
    /// Tell why a service is missing, and which clients there are
    Explain(explain::Arguments),
    /// Check rules that count profiles as metrics
    Rules(rules::Arguments),
    /// Print shell completions
    Completions(completions::Arguments),
    /// Print manual pages
    Man(man::Arguments),
}

impl Command {
    /// Does it.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::Server(arguments) => server::run(&arguments),
            Self::Up(arguments) => up::run(&arguments),
            Self::Push(arguments) => push::run(&arguments),
            Self::Targets(arguments) => targets::run(&arguments),
            Self::Scrape(arguments) => scrape::run(&arguments),
            Self::Flame(arguments) => flame::run(&arguments),
            Self::Top(arguments) => top::run(&arguments),
            Self::Diff(arguments) => diff::run(&arguments),
            Self::Callers(arguments) => callers::run(&arguments),
            Self::Labels(arguments) => labels::run(&arguments),
            Self::Series(arguments) => series::run(&arguments),
            Self::Profiles(arguments) => profiles::run(&arguments),
            Self::Pprof(arguments) => pprof::run(&arguments),
            Self::Explain(arguments) => explain::run(&arguments),
            Self::Rules(arguments) => rules::run(&arguments),
            Self::Completions(arguments) => completions::run(&arguments),
            Self::Man(arguments) => man::run(&arguments),
        }
    }
}

/// A whole number of a flag.
fn count<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| match text.parse::<u128>() {
        Ok(_) => "is too large".to_owned(),
        Err(_) => "give a whole number that is not negative".to_owned(),
    })
}

/// Between the parts of a heading.
const BETWEEN: &str = "  ·  ";

/// Rows of boxes in a terminal where nothing is said; what is deeper is in the list of paths below.
const TERMINAL_ROWS: usize = 48;

/// How a graph is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Boxes of text.
    Terminal,
    /// A drawing.
    Svg,
    /// One page with zoom and search.
    Html,
    /// Names, and nodes with the position of their parent.
    Json,
    /// `root;…;leaf value` lines.
    Folded,
}

impl Format {
    /// What was said, else what the ending of the file says. An ending that says nothing is refused: the file would hold
    /// something else than its name.
    fn chosen(said: Option<Self>, file: Option<&Path>) -> Result<Self, Failure> {
        if let Some(said) = said {
            return Ok(said);
        }
        let Some(ending) = file.and_then(Path::extension) else { return Ok(Self::Terminal) };
        match ending.to_str() {
            Some("svg") => Ok(Self::Svg),
            Some("html" | "htm") => Ok(Self::Html),
            Some("json") => Ok(Self::Json),
            Some("folded") => Ok(Self::Folded),
            Some("txt") => Ok(Self::Terminal),
            _ => Err(Failure::Usage(format!(
                "the ending {ending:?} says no format (svg, html, json, folded and txt do); say it with --format"
            ))),
        }
    }

    /// Most nodes where nothing is said; 0 = no cut (D23).
    fn nodes_default(self) -> usize {
        match self {
            Self::Terminal | Self::Svg | Self::Json => 8_192,
            Self::Html => 200_000,
            Self::Folded => 0,
        }
    }
}

/// `what  ·  type  ·  total  ·  profiles`
fn heading(title: &str, total: i64, unit: &str, stats: &AnswerStats) -> String {
    let mut parts = vec![one_line(title).into_owned()];
    if let Some(of) = stats.profile_type.as_ref().filter(|of| !of.sample_type.is_empty()) {
        parts.push(one_line(&of.sample_type).into_owned());
    }
    parts.push(value(total, unit));
    if stats.profiles > 1 {
        parts.push(format!("{} profiles", stats.profiles));
    }
    if stats.aggregation == "avg" && stats.rounds > 1 {
        parts.push(format!("average of {} rounds", stats.rounds));
    }
    if stats.aggregation == "last" {
        parts.push("last round".to_owned());
    }
    parts.join(BETWEEN)
}

/// Says what an answer lacks, on stderr, and why where it is empty.
fn tell(source: &Source, stats: &AnswerStats) {
    tell_notices(stats);
    if stats.profiles > 0 {
        return;
    }
    match source.why_nothing(0) {
        Some(why) => output::say(&one_line(&why)),
        None if stats.notices.is_empty() => output::say(NOTHING),
        None => {}
    }
}

/// Says what the answer itself says it lacks, on stderr.
fn tell_notices(stats: &AnswerStats) {
    for notice in &stats.notices {
        output::say(&one_line(notice));
    }
}

/// Of a selection that is empty for no reason that is known.
const NOTHING: &str = "no profile is in this selection and range; everflame series lists what there is";

/// Says that a listing is empty, and why, on stderr.
fn tell_empty(source: &Source) {
    match source.why_nothing(0) {
        Some(why) => {
            output::say("no profile is in this selection and range");
            output::say(&one_line(&why));
        }
        None => output::say(NOTHING),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        CommandLine::command().debug_assert();
    }

    #[test]
    fn no_option_stands_below_a_heading_of_others() {
        use clap::CommandFactory;
        for command in CommandLine::command().get_subcommands() {
            let of_server = command.get_arguments().filter(|one| one.get_help_heading() == Some("Server"));
            let names: Vec<_> = of_server.filter_map(clap::Arg::get_long).collect();
            let name = command.get_name();
            assert!(names.is_empty() || names == ["server", "token", "tenant"], "{name}: {names:?}");
        }
    }

    #[test]
    fn formats_follow_the_ending_unless_said() {
        let chosen = |said, file: &str| Format::chosen(said, Some(Path::new(file)));
        assert_eq!(chosen(None, "a.svg").unwrap(), Format::Svg);
        assert_eq!(chosen(None, "a.html").unwrap(), Format::Html);
        assert_eq!(chosen(Some(Format::Json), "a.html").unwrap(), Format::Json);
        assert_eq!(chosen(Some(Format::Svg), "a.foo").unwrap(), Format::Svg);
        assert_eq!(Format::chosen(None, None).unwrap(), Format::Terminal);
        for plain in ["a", "-", "/dev/stdout", "a.txt"] {
            assert_eq!(chosen(None, plain).unwrap(), Format::Terminal, "{plain}");
        }
        let refused = chosen(None, "a.foo").unwrap_err();
        assert_eq!(refused.code(), 2);
        assert!(refused.to_string().contains("--format"), "{refused}");
    }
}

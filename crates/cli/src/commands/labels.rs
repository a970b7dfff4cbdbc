//! `everflame labels`: names of labels, the values of one, or how much each spreads the data out.

use serde_json::json;

use crate::{
    failure::Failure,
    output,
    render::{one_line, write_line},
    source::{Source, SourceArguments},
};

/// Arguments of `labels`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame labels\n  everflame labels --values service_name\n  everflame labels --cardinality\n  everflame labels --values pod 'cpu{service_name=\"api\"}' --json"
)]
pub struct Arguments {
    /// List the values of this label instead of the names
    #[arg(long, value_name = "LABEL")]
    values: Option<String>,
    /// Count the values and series of each label, and the services that have most values: which label makes how many series
    #[arg(long, conflicts_with = "values")]
    cardinality: bool,
    /// JSON: an array of strings; with --cardinality the server's answer as it is
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArguments,
}

/// Prints one a line.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let source = Source::open(&arguments.source)?;
    if arguments.cardinality {
        let Source::Remote(remote) = &source else {
            return Err(Failure::Usage("--cardinality asks a server, not files".into()));
        };
        return cardinality(&remote.cardinality()?, arguments.json);
    }
    let texts = match (&source, &arguments.values) {
        (Source::Local(local), None) => local.label_names()?.data,
        (Source::Local(local), Some(name)) => local.label_values(name)?.data,
        (Source::Remote(remote), None) => remote.label_names()?,
        (Source::Remote(remote), Some(name)) => remote.label_values(name)?,
    };
    if texts.is_empty() {
        match (&arguments.values, &source) {
            (None, Source::Remote(_)) => super::tell_empty(&source),
            (None, Source::Local(_)) => {
                output::say("no sample has a label; a file has no labels beside those of its samples")
            }
            (Some(name), Source::Local(_)) => {
                output::say(&one_line(&format!("no sample has a label {name:?}")))
            }
            (Some(name), Source::Remote(remote)) => match remote.labels_instead(name) {
                Some(instead) => output::say(&one_line(&format!(
                    "no label {name:?} is in this selection and range: {instead}"
                ))),
                None => super::tell_empty(&source),
            },
        }
    }
    output::write_data(None, |out| {
        if arguments.json {
            return write_line(&json!(texts), out);
        }
        texts.iter().try_for_each(|text| writeln!(out, "{}", one_line(text)))
    })
}

/// `a (3), b (1)`
fn counted(values: &[wire::ValueCount]) -> String {
    values.iter().map(|one| format!("{} ({})", one.value, one.count)).collect::<Vec<_>>().join(", ")
}

fn cardinality(reply: &wire::CardinalityReply, as_json: bool) -> Result<(), Failure> {
    for notice in &reply.stats.notices {
        output::say(&one_line(notice));
    }
    output::write_data(None, |out| {
        if as_json {
            return write_line(&json!(reply), out);
        }
        let width =
            reply.labels.iter().map(|label| label.name.chars().count()).max().unwrap_or(0).clamp(5, 40);
        writeln!(
            out,
            "{:>9} {:>9} {:>9}  {:<width$}  most frequent (series); values by service",
            "values", "series", "without", "label"
        )?;
        for label in &reply.labels {
            let wire::LabelCardinality { name, values, series, series_without, .. } = label;
            let mut line = format!(
                "{values:>9} {series:>9} {series_without:>9}  {name:<width$}  {}",
                counted(&label.top)
            );
            if !label.services.is_empty() {
                line.push_str("; ");
                line.push_str(&counted(&label.services));
            }
            writeln!(out, "{}", one_line(&line))?;
        }
        writeln!(out, "series in all: {}", reply.series)
    })
}

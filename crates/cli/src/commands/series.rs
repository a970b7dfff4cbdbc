//! `everflame series`: distinct label sets.

use std::collections::BTreeMap;

use profile::LabelSet;
use serde_json::json;

use crate::{
    failure::Failure,
    output,
    render::{one_line, write_line},
    source::{Source, SourceArguments, label_map},
};

/// Arguments of `series`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame series\n  everflame series --by service_name,__profile_type__\n  everflame series 'cpu{service_name=\"api\"}' --json"
)]
pub struct Arguments {
    /// Reduce the sets to these labels
    #[arg(long, value_name = "LABEL", value_delimiter = ',')]
    by: Vec<String>,
    /// JSON: an array of objects
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArguments,
}

/// Prints one a line, in the form of a selector.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let source = Source::open(&arguments.source)?;
    let series: Vec<BTreeMap<String, String>> = match &source {
        Source::Local(local) => local.series(&arguments.by)?.data.iter().map(label_map).collect(),
        Source::Remote(remote) => remote.series(&arguments.by)?,
    };
    if series.is_empty() {
        // Not "everflame series lists what there is", as the other commands say.
        output::say("no profile is in this selection and range");
        if let Some(why) = source.why_nothing(0) {
            output::say(&one_line(&why));
        }
    }
    output::write_data(None, |out| {
        if arguments.json {
            return write_line(&json!(series), out);
        }
        for labels in series {
            let text = LabelSet::from_pairs(labels).map(|labels| labels.to_string()).unwrap_or_default();
            writeln!(out, "{}", one_line(&text))?;
        }
        Ok(())
    })
}

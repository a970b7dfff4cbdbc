//! `everflame labels`: names of labels, or the values of one.

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
    after_help = "Examples:\n  everflame labels\n  everflame labels --values service_name\n  everflame labels --values pod 'cpu{service_name=\"api\"}' --json"
)]
pub struct Arguments {
    #[command(flatten)]
    source: SourceArguments,
    /// List the values of this label instead of the names
    #[arg(long, value_name = "LABEL")]
    values: Option<String>,
    /// JSON: an array of strings
    #[arg(long)]
    json: bool,
}

/// Prints one a line.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let source = Source::open(&arguments.source)?;
    let texts = match (&source, &arguments.values) {
        (Source::Local(local), None) => local.label_names()?.data,
        (Source::Local(local), Some(name)) => local.label_values(name)?.data,
        (Source::Remote(remote), None) => remote.label_names()?,
        (Source::Remote(remote), Some(name)) => remote.label_values(name)?,
    };
    if let (true, Source::Remote(_)) = (texts.is_empty(), &source) {
        match &arguments.values {
            None => super::tell_nothing(),
            Some(name) => output::say(&one_line(&format!(
                "no label {name:?} is in this selection and range; everflame labels lists what there is"
            ))),
        }
    }
    output::write_data(None, |out| {
        if arguments.json {
            return write_line(&json!(texts), out);
        }
        texts.iter().try_for_each(|text| writeln!(out, "{}", one_line(text)))
    })
}

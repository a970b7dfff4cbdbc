//! `everflame profiles`: single profiles with their ids.

use profile::LabelSet;
use serde_json::json;
use wire::{AttachmentItem, ProfileItem};

use crate::{
    failure::Failure,
    output,
    render::{one_line, value, write_line},
    source::{Source, SourceArguments, label_map},
    time,
};

use super::count;

/// Arguments of `profiles`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame profiles 'cpu{service_name=\"api\"}' --from now-1h\n  everflame profiles one.pprof two.pprof --json"
)]
pub struct Arguments {
    /// Most profiles, the newest are kept
    #[arg(short = 'n', long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, default_value_t = 100)]
    limit: usize,
    /// JSON: an array of objects with id, name, types, labels, time, duration_nanos, samples, totals
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArguments,
}

/// Prints one a line, newest last.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let source = Source::open(&arguments.source)?;
    let (profiles, attachments, left_out): (Vec<ProfileItem>, Vec<AttachmentItem>, u64) = match &source {
        Source::Local(local) => {
            let told = local.profiles(arguments.limit)?;
            let left_out = told.stats.profiles.saturating_sub(told.data.len() as u64);
            (told.data.into_iter().map(item).collect(), Vec::new(), left_out)
        }
        Source::Remote(remote) => {
            let reply = remote.profiles(arguments.limit)?;
            (reply.profiles, reply.attachments, reply.left_out)
        }
    };
    if profiles.is_empty() && attachments.is_empty() {
        super::tell_empty(&source);
    }
    if left_out > 0 {
        let text =
            format!("older ones that are not listed: {left_out}; give a larger --limit or an earlier --to");
        output::say(&one_line(&text));
    }
    output::write_data(None, |out| {
        if arguments.json {
            return write_line(&json!(profiles), out);
        }
        for profile in &profiles {
            writeln!(out, "{}", one_line(&line(profile)))?;
        }
        for attachment in &attachments {
            let labels = LabelSet::from_pairs(attachment.labels.clone()).unwrap_or_default();
            let size = value(i64::try_from(attachment.bytes).unwrap_or(i64::MAX), "bytes");
            let AttachmentItem { id, time, kind, .. } = attachment;
            let text = format!("{id}  {time:<TIME_WIDTH$}  {kind} {labels}  {size}");
            writeln!(out, "{}", one_line(&text))?;
        }
        Ok(())
    })
}

/// Columns of a time: servers write as many digits of the second as there are, at most nine.
const TIME_WIDTH: usize = "2026-11-29T22:49:47.312224448Z".len();

/// `id  time  name{labels}  rows  cpu 9.80 s, samples 980`
fn line(profile: &ProfileItem) -> String {
    let labels = LabelSet::from_pairs(profile.labels.clone()).unwrap_or_default();
    let totals: Vec<String> = profile
        .types
        .iter()
        .zip(&profile.totals)
        .map(|(typed, total)| {
            let mut parts = typed.split(':').skip(1);
            let kind = parts.next().unwrap_or_default();
            format!("{kind} {}", value(*total, parts.next().unwrap_or_default()))
        })
        .collect();
    let rows = value(i64::try_from(profile.samples).unwrap_or(i64::MAX), "");
    let ProfileItem { id, time, name, .. } = profile;
    let word = if profile.samples == 1 { "row" } else { "rows" };
    format!("{id}  {time:<TIME_WIDTH$}  {name}{labels}  {rows} {word}  {}", totals.join(", "))
}

fn item(item: query::ProfileItem) -> ProfileItem {
    ProfileItem {
        id: item.id.to_string(),
        name: item.name,
        types: item.types.iter().map(ToString::to_string).collect(),
        labels: label_map(&item.labels),
        time: time::text(item.time),
        duration_nanos: item.duration_nanos,
        samples: item.samples,
        totals: item.totals,
    }
}

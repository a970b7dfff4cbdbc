//! `everflame push`: sends profile files to a server, which answers when they are on its disk.

use std::path::{Path, PathBuf};

use client::{Client, ClientError, Question};
use profile::AlteredReason;
use serde_json::{Value, json};
use wire::{PushOutcome, PushReply};

use crate::{
    failure::Failure,
    output,
    progress::Progress,
    render::{one_line, write_line},
    source::{FileFormat, ServerArguments, read_file, shown},
    time,
};

use super::count;

/// Arguments of `push`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame push cpu.pprof --service api\n  everflame push *.pb.gz --service api --label env=prod --label pod=a-1 --type cpu\n  perf script | stackcollapse-perf | everflame push - --service api --name process_cpu"
)]
pub struct Arguments {
    /// Profile files: pprof (gzip, zstd or plain), folded stacks, speedscope, Go execution traces with --type trace; `-` = stdin;
    /// where one is refused, the others are sent all the same
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Value of the label service_name
    #[arg(short, long, value_name = "NAME", env = "EVERFLAME_SERVICE")]
    service: String,
    /// A further label; may be given several times
    #[arg(short, long = "label", value_name = "NAME=VALUE")]
    labels: Vec<String>,
    /// What kind of profile: cpu, heap, mutex, block, goroutine, … [default: by the values in the profile, which are the
    /// same for block as for mutex]
    #[arg(short = 't', long = "type", value_name = "WORD", conflicts_with = "name")]
    kind: Option<String>,
    /// Name of the profile where no word of --type fits: process_cpu, memory, …
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What the files are, where their bytes do not say it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    file_format: FileFormat,
    /// When it was taken, for profiles that do not say: RFC 3339, ms since 1970, or now-1h [default: now]
    #[arg(long, value_name = "TIME", value_parser = time::flag, allow_hyphen_values = true)]
    time: Option<String>,
    /// How values relate along time
    #[arg(long, value_name = "HOW", value_parser = ["delta", "instant", "cumulative"])]
    temporality: Option<String>,
    /// Samples per second of stacks with counts, to count time instead of samples
    #[arg(long, value_name = "N", value_parser = count::<u32>, allow_negative_numbers = true)]
    sample_rate: Option<u32>,
    /// JSON: an array of answers, one per file; {"error": "why"} for a file that was not taken
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArguments,
}

/// Sends all files, those behind a refused one too. Sending again adds nothing twice.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.service.is_empty() {
        return Err(Failure::Usage("--service is empty; name the service that the profiles are of".into()));
    }
    for label in &arguments.labels {
        if label.split_once('=').is_none_or(|(name, _)| name.is_empty()) {
            return Err(Failure::Usage(format!("--label {label:?} is not of the form name=value")));
        }
    }
    let client = arguments.server.client()?;
    let progress = Progress::of_files("pushing", arguments.files.len());
    let mut answers: Vec<Value> = Vec::new();
    let mut refusals = Vec::new();
    let mut stopped = None;
    for path in &arguments.files {
        match send(&client, arguments, path) {
            Ok(reply) => {
                if !arguments.json {
                    tell(path, &reply, arguments.kind.is_none() && arguments.name.is_none());
                }
                answers.push(json!(reply));
            }
            Err(Unsent::File(reason)) => {
                // A single file's is the last word below.
                if arguments.files.len() > 1 {
                    output::say(&reason);
                }
                answers.push(json!({ "error": reason }));
                refusals.push(reason);
            }
            Err(Unsent::All(reason)) => {
                stopped = Some(reason);
                break;
            }
        }
        progress.step();
    }
    progress.finish();
    if arguments.json {
        output::write_data(None, |out| write_line(&json!(answers), out))?;
    }
    match ended(arguments.files.len(), answers.len() - refusals.len(), &refusals, stopped) {
        Some(reason) => Err(Failure::Failed(reason)),
        None => Ok(()),
    }
}

/// Why a file was not sent.
enum Unsent {
    /// It cannot be read, or the server does not take it: others may be better.
    File(String),
    /// No file can be sent: there is no server, or it does not let us in.
    All(String),
}

fn send(client: &Client, arguments: &Arguments, path: &Path) -> Result<PushReply, Unsent> {
    let body = read_file(path).map_err(|failure| Unsent::File(failure.to_string()))?;
    client.push(&question(arguments, &body), &body).map_err(|error| match error {
        ClientError::Refused { message, retry, .. } => {
            let again = retry.map(|seconds| format!("; try again in {seconds} s")).unwrap_or_default();
            Unsent::File(format!("{}: {message}{again}", shown(path)))
        }
        other => Unsent::All(other.to_string()),
    })
}

/// The last word of a push that did not send every file.
fn ended(files: usize, sent: usize, refusals: &[String], stopped: Option<String>) -> Option<String> {
    let refused = refusals.len();
    match stopped {
        Some(reason) if files == 1 => Some(reason),
        Some(reason) => {
            let unsent = files - sent - refused;
            Some(format!("{reason} (files sent: {sent}, refused: {refused}, not sent: {unsent})"))
        }
        None if files == 1 => refusals.first().cloned(),
        None if refused > 0 => Some(format!("files refused: {refused} of {files}; the others are sent")),
        None => None,
    }
}

fn question(arguments: &Arguments, body: &[u8]) -> Question {
    let question = Question::new()
        .with("service", &arguments.service)
        .with_some("type", arguments.kind.as_deref())
        .with_some("name", arguments.name.as_deref())
        .with_some("time", arguments.time.as_deref())
        .with_some("temporality", arguments.temporality.as_deref());
    let question = arguments.labels.iter().fold(question, |question, label| question.with("label", label));
    let Some(format) = arguments.file_format.pushed_as(body) else { return question };
    let question = question.with("format", format);
    if format == "speedscope" {
        // the file says itself what it counts
        return question;
    }
    let rate = arguments.sample_rate.map(|rate| rate.to_string());
    question.with_some("sample_rate", rate.as_deref())
}

/// What became of a file, and what was changed; `is_guessed`: nobody said what kind of profile it is.
fn tell(path: &Path, reply: &PushReply, is_guessed: bool) {
    for profile in &reply.profiles {
        let outcome = match profile.outcome {
            PushOutcome::Stored => "stored",
            PushOutcome::Duplicate => "there already",
            PushOutcome::Empty => "empty, nothing kept",
            PushOutcome::Baseline => "kept as the baseline of the next",
        };
        let (timeless, altered): (Vec<_>, Vec<_>) =
            profile.altered.iter().partition(|(reason, _)| *reason == AlteredReason::NoTime.word());
        let altered: Vec<String> =
            altered.into_iter().map(|(reason, count)| format!("{reason}={count}")).collect();
        let altered =
            if altered.is_empty() { String::new() } else { format!(" (altered: {})", altered.join(", ")) };
        // Nothing is lost by it, but who pushes old files wants to know where they are found.
        let time = if timeless.is_empty() {
            String::new()
        } else {
            format!(" (it names no time: taken as of {})", profile.time)
        };
        // Go's profiles of waits and of locks have the same columns.
        let doubt = if is_guessed && profile.name == "mutex" {
            " (a block profile looks the same: --type block or --type mutex tells them apart)"
        } else {
            ""
        };
        let stored = format!("{outcome} as {} {}{altered}{time}{doubt}", profile.name, profile.id);
        output::say(&one_line(&format!("{}: {stored}", shown(path))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts_what_was_not_sent() {
        let refused = ["a: bad".to_owned()];
        let said = |files, sent, refusals: &[String], stopped: Option<&str>| {
            ended(files, sent, refusals, stopped.map(str::to_owned))
        };
        assert_eq!(said(2, 2, &[], None), None);
        assert_eq!(said(1, 0, &refused, None).unwrap(), "a: bad");
        assert_eq!(said(3, 2, &refused, None).unwrap(), "files refused: 1 of 3; the others are sent");
        assert_eq!(said(1, 0, &[], Some("no server")).unwrap(), "no server");
        let expected = "no server (files sent: 2, refused: 1, not sent: 3)";
        assert_eq!(said(6, 2, &refused, Some("no server")).unwrap(), expected);
    }
}

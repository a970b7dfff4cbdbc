//! `everflame pprof`: several profiles merged into one pprof file.

use std::io::IsTerminal;

use crate::{
    failure::Failure,
    output,
    source::{Source, SourceArguments},
};

/// Arguments of `pprof`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame pprof 'cpu{service_name=\"api\"}' --from now-1h -o api.pb.gz\n  everflame pprof one.pprof two.pprof -o both.pb.gz\n  everflame pprof --id 0194b1c2-… -o as-pushed.pb.gz\n  everflame pprof 'cpu{service_name=\"api\"}' -o - | go tool pprof -top -"
)]
pub struct Arguments {
    /// The profile of this id as it was pushed, instead of a merged one
    #[arg(long, value_name = "ID", conflicts_with = "sources")]
    id: Option<String>,
    #[command(flatten)]
    source: SourceArguments,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<std::path::PathBuf>,
}

/// Writes it.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.output.is_none() && std::io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "a pprof file is not for the terminal; name a file by -o, or -o - for stdout".into(),
        ));
    }
    let source = Source::open(&arguments.source)?;
    let body = match (&source, &arguments.id) {
        (Source::Local(local), None) => {
            let told = local.pprof()?;
            super::tell(&source, &told.stats);
            formats::gzip(&told.data)
        }
        (Source::Remote(remote), None) => {
            let told = remote.pprof()?;
            super::tell(&source, &told.stats);
            told.data
        }
        (Source::Remote(remote), Some(id)) => remote.profile_pprof(id)?.body,
        (Source::Local(_), Some(_)) => return Err(Failure::Usage("--id asks a server, not files".into())),
    };
    output::write_data(arguments.output.as_deref(), |out| out.write_all(&body))
}

//! `everflame callers`: who calls a function, and whom it calls.

use crate::{
    alike,
    failure::Failure,
    output::{self, OutputArguments},
    render::{TableOptions, callers_json, callers_table},
    source::{Source, SourceArguments},
};

use super::{count, heading};

/// Arguments of `callers`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame callers runtime.mallocgc cpu.pprof\n  everflame callers 'encoding/json.Marshal' 'cpu{service_name=\"api\"}' --from now-1h"
)]
pub struct Arguments {
    /// Name of the function, whole, as `everflame top` prints it
    function: String,
    /// Most rows of each side; 0 = all
    #[arg(short = 'n', long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, default_value_t = 20)]
    limit: usize,
    /// JSON: {"unit","total","function","callers":[{"name","value"}],"callees":[…]}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Prints both sides.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let source = Source::open(&arguments.source)?;
    let told = source.callers(&arguments.function)?;
    let table = &told.data;
    if table.function.total == 0 && table.callers.is_empty() && table.callees.is_empty() {
        let (title, function) = (source.title(), &arguments.function);
        if told.stats.profiles == 0 {
            super::tell(&source, &told.stats);
            return Err(Failure::Failed(format!("{title} has no profile, so no function {function:?}")));
        }
        let meant = meant(&source, function)?;
        return Err(Failure::Failed(format!("{title} has no function {function:?}; {meant}")));
    }
    let file = arguments.output.output.as_deref();
    super::tell(&source, &told.stats);
    if arguments.json {
        return output::write_data(file, |out| callers_json(&told.data, out));
    }
    let options = TableOptions {
        columns: output::table_columns(file),
        rows_max: arguments.limit,
        palette: arguments.output.palette(),
    };
    let head = heading(&source.title(), told.data.total, &told.data.unit, &told.stats);
    output::write_text(file, &format!("{head}\n\n{}", callers_table(&told.data, &options)))
}

/// Functions that may be meant by a name that none has, or where the names are.
fn meant(source: &Source, function: &str) -> Result<String, Failure> {
    /// Names are long.
    const NAMES_MAX: usize = 3;
    let (told, _) = source.top(0)?;
    let mut names = alike::alike(function, told.data.rows.iter().map(|row| row.name.as_str()));
    names.truncate(NAMES_MAX);
    Ok(match names.as_slice() {
        [] => "everflame top lists the names".to_owned(),
        names => format!("did you mean {}?", alike::list(names)),
    })
}

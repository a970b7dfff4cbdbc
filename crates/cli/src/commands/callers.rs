//! `everflame callers`: who calls a function, and whom it calls.

use crate::{
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
        return Err(Failure::Failed(format!(
            "{} has no function {:?}; everflame top lists the names",
            source.title(),
            arguments.function
        )));
    }
    let file = arguments.output.output.as_deref();
    super::tell(&told.stats);
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

//! `everflame top`: functions by own value.

use crate::{
    failure::Failure,
    output::{self, OutputArguments},
    render::{TableOptions, top_json, top_table},
    source::{Source, SourceArguments},
};

use super::{count, heading};

/// Arguments of `top`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame top cpu.pprof\n  everflame top --sample-index alloc_space heap.pb.gz\n  everflame top 'cpu{service_name=\"api\"}' --from now-1h --json --limit 0"
)]
pub struct Arguments {
    /// Most rows; 0 = all
    #[arg(short = 'n', long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, default_value_t = 30)]
    limit: usize,
    /// JSON: {"unit","total","rows":[{"name","self","total"}]}, whole numbers in the profile's own unit
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Prints the table.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (title, (told, rows_all)) = match Source::quick_top(&arguments.source)? {
        Some((title, told)) => {
            let all = told.data.rows.len();
            (title, (told, all))
        }
        None => {
            let source = Source::open(&arguments.source)?;
            let found = source.top(arguments.limit)?;
            super::tell(&source, &found.0.stats);
            (source.title(), found)
        }
    };
    let file = arguments.output.output.as_deref();
    if arguments.json {
        return output::write_data(file, |out| top_json(&told.data, arguments.limit, out));
    }
    let options = TableOptions {
        columns: output::table_columns(file),
        rows_max: arguments.limit,
        palette: arguments.output.palette(),
    };
    let head = heading(&title, told.data.total, &told.data.unit, &told.stats);
    output::write_text(file, &format!("{head}\n{}", top_table(&told.data, rows_all, &options)))
}

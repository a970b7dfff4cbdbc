//! `everflame diff`: two files, two selectors, or two ranges of one selector over each other.

use std::{ffi::OsString, path::PathBuf};

use profile::Timestamp;
use query::DiffTree;

use crate::{
    failure::Failure,
    output::{self, OutputArguments},
    render::{
        IcicleOptions, SvgOptions, TableOptions, diff_functions, diff_json, diff_table, html_diff,
        icicle_diff, one_line, svg_diff, value,
    },
    source::{Local, Named, Remote, ServerArguments, Source, Told, ValueArguments, named},
    time,
};

use super::{Format, count};

/// Arguments of `diff`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame diff before.pprof after.pprof\n  everflame diff before.pprof after.pprof -o diff.html\n  everflame diff 'cpu{version=\"1\"}' 'cpu{version=\"2\"}'\n  everflame diff 'cpu{service_name=\"api\"}' --left-from now-2h --left-to now-1h --from now-1h"
)]
pub struct Arguments {
    /// Before: a profile file, or a selector for the server
    #[arg(value_name = "LEFT")]
    left: OsString,
    /// After [default: the left selector, with the range of --from and --to]
    #[arg(value_name = "RIGHT")]
    right: Option<OsString>,
    /// First instant of the left side [default: --from]
    #[arg(long, value_name = "TIME", value_parser = time::flag, allow_hyphen_values = true, help_heading = "Selection")]
    left_from: Option<String>,
    /// End of the left side, not included [default: --to]
    #[arg(long, value_name = "TIME", value_parser = time::flag, allow_hyphen_values = true, help_heading = "Selection")]
    left_to: Option<String>,
    #[command(flatten)]
    values: ValueArguments,
    #[command(flatten)]
    server: ServerArguments,
    /// How to draw [default: by the ending of --output, else in the terminal]
    #[arg(short, long, value_enum, value_name = "FORMAT", help_heading = "Output")]
    format: Option<Format>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    json: bool,
    /// Most functions in the terminal; 0 = all
    #[arg(short = 'n', long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, default_value_t = 20, help_heading = "Output")]
    limit: usize,
    /// Most rows of boxes; 0 = all [default: 24 in the terminal, else all]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Output")]
    depth: Option<usize>,
    /// Most nodes; smaller ones are put together as "other"; 0 = all
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Output")]
    max_nodes: Option<usize>,
    /// Width of an SVG, pixels
    #[arg(long, value_name = "PIXELS", value_parser = count::<u32>, allow_negative_numbers = true, default_value_t = 1200, help_heading = "Output")]
    width: u32,
    #[command(flatten)]
    output: OutputArguments,
}

/// Rows of boxes above the table in the terminal.
const TERMINAL_ROWS: usize = 24;

/// Draws it.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let format = match arguments.json {
        true => Format::Json,
        false => Format::chosen(arguments.format, arguments.output.output.as_deref())?,
    };
    if format == Format::Folded {
        return Err(Failure::Usage(
            "folded stacks have one value; diff has --format terminal, svg, html and json".into(),
        ));
    }
    let source = open(arguments)?;
    // The table of the terminal counts functions, so nothing is cut for it.
    let default = if format == Format::Terminal { 0 } else { format.nodes_default() };
    let told = source.diff(arguments.max_nodes.unwrap_or(default))?;
    super::tell_notices(&told.stats);
    tell_empty_sides(&source, &told.data);
    if let Source::Remote(remote) = &source
        && let Some(said) = remote.unequal_ranges(Timestamp::now())
    {
        output::say(&said);
    }
    draw(arguments, format, &source.title(), &told)
}

/// Says why a side has nothing, on stderr.
fn tell_empty_sides(source: &Source, tree: &DiffTree) {
    let totals = tree.nodes.first().map_or([0, 0], |root| [root.left_total, root.right_total]);
    for (side, (total, name)) in totals.into_iter().zip(["left", "right"]).enumerate() {
        if let Some(why) = (total == 0).then(|| source.why_nothing(side)).flatten() {
            output::say(&one_line(&format!("{name} side: {why}")));
        }
    }
}

fn open(arguments: &Arguments) -> Result<Source, Failure> {
    let side = |text: &OsString| named(std::slice::from_ref(text));
    let (left, right) = (side(&arguments.left)?, arguments.right.as_ref().map(side).transpose()?);
    let ranged = arguments.left_from.is_some() || arguments.left_to.is_some();
    match (left, right) {
        (Named::Files(left), Some(Named::Files(right))) => {
            if ranged {
                return Err(Failure::Usage("--left-from and --left-to are for selectors".into()));
            }
            let sides: [&[PathBuf]; 2] = [&left, &right];
            Ok(Source::Local(Box::new(Local::open(&sides, &arguments.values)?)))
        }
        (Named::Files(_), None) => Err(Failure::Usage("give a second file to compare with".into())),
        (Named::Selector(_), None) if !ranged => Err(Failure::Usage(
            "give a second selector, or another range of the same one by --left-from and --left-to".into(),
        )),
        (Named::Selector(left), right @ (None | Some(Named::Selector(_)))) => {
            let right = match right {
                Some(Named::Selector(right)) => right,
                _ => left.clone(),
            };
            let remote = Remote::new(&arguments.server, &arguments.values, vec![left, right])?;
            let from = arguments.left_from.clone().or_else(|| arguments.values.from.clone());
            let to = arguments.left_to.clone().or_else(|| arguments.values.to.clone());
            Ok(Source::Remote(remote.with_left_range(from, to)))
        }
        (Named::Files(_), Some(Named::Selector(selector)))
        | (Named::Selector(selector), Some(Named::Files(_))) => Err(Failure::Usage(format!(
            "one side is a file, and {selector} is no file but a selector; fetch the selector's profile first: \
             everflame pprof SELECTOR -o FILE"
        ))),
    }
}

fn draw(arguments: &Arguments, format: Format, title: &str, told: &Told<DiffTree>) -> Result<(), Failure> {
    let tree = &told.data;
    let root = tree.nodes.first();
    let (left, right) = root.map_or((0, 0), |root| (root.left_total, root.right_total));
    let title = one_line(title).into_owned();
    let subtitle = format!("{} → {}", value(left, &tree.unit), value(right, &tree.unit));
    let file = arguments.output.output.as_deref();
    match format {
        Format::Terminal => {
            let palette = arguments.output.palette();
            let boxes = IcicleOptions {
                columns: output::columns(),
                rows_max: arguments.depth.unwrap_or(TERMINAL_ROWS),
                paths_max: 0,
                palette,
            };
            let table =
                TableOptions { columns: output::table_columns(file), rows_max: arguments.limit, palette };
            let rows = diff_functions(tree);
            let text = format!(
                "{title}{}{subtitle}\n{}\n{}",
                super::BETWEEN,
                icicle_diff(tree, &boxes),
                diff_table(&rows, &tree.unit, &table)
            );
            output::write_text(file, &text)
        }
        Format::Svg => {
            let rows_max = arguments.depth.unwrap_or(0);
            let options = SvgOptions { title, subtitle, width: arguments.width, rows_max };
            output::write_text(file, &svg_diff(tree, &options))
        }
        Format::Html => output::write_text(file, &html_diff(tree, &title, &subtitle)),
        Format::Json | Format::Folded => output::write_data(file, |out| diff_json(tree, out)),
    }
}

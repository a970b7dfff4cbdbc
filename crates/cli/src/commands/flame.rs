//! `everflame flame`: the flame graph, in the terminal or as a file.

use std::path::Path;

use query::FlameTree;

use crate::{
    failure::Failure,
    output::{self, OutputArguments},
    render::{IcicleOptions, SvgOptions, flame_json, folded, html_flame, icicle_flame, svg_flame},
    source::{Source, SourceArguments, Told},
};

use super::{Format, count, heading};

/// Arguments of `flame`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame flame cpu.pprof\n  everflame flame cpu.pprof -o cpu.html\n  everflame flame 'cpu{service_name=\"api\"}' --from now-1h --format svg > api.svg\n  everflame flame heap.pb.gz --type inuse_space --format folded"
)]
pub struct Arguments {
    #[command(flatten)]
    source: SourceArguments,
    /// How to draw [default: by the ending of --output, else in the terminal]
    #[arg(short, long, value_enum, value_name = "FORMAT", help_heading = "Output")]
    format: Option<Format>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    json: bool,
    /// Most rows of boxes; 0 = all [default: 48 in the terminal, else all]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Output")]
    depth: Option<usize>,
    /// Most nodes; smaller ones are put together as "other"; 0 = all [default: 8192, HTML 200000, all for folded stacks and for drawings of files]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Output")]
    max_nodes: Option<usize>,
    /// Paths listed below the boxes in the terminal
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, default_value_t = 10, help_heading = "Output")]
    paths: usize,
    /// Width of an SVG, pixels
    #[arg(long, value_name = "PIXELS", value_parser = count::<u32>, allow_negative_numbers = true, default_value_t = 1200, help_heading = "Output")]
    width: u32,
    #[command(flatten)]
    output: OutputArguments,
}

impl Arguments {
    fn format(&self) -> Result<Format, Failure> {
        if self.json {
            return Ok(Format::Json);
        }
        Format::chosen(self.format, self.output.output.as_deref())
    }
}

/// Draws it.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let format = arguments.format()?;
    let source = Source::open(&arguments.source)?;
    // Nothing travels when files are read here, and drawings leave out what is too narrow by themselves.
    let is_drawing = matches!(format, Format::Terminal | Format::Svg);
    let default = if is_drawing && matches!(source, Source::Local(_)) { 0 } else { format.nodes_default() };
    let nodes_max = arguments.max_nodes.unwrap_or(default);
    let told = source.flame(nodes_max)?;
    super::tell(&source, &told.stats);
    draw(arguments, format, &source.title(), &told)
}

fn draw(arguments: &Arguments, format: Format, title: &str, told: &Told<FlameTree>) -> Result<(), Failure> {
    let tree = &told.data;
    let total = tree.nodes.first().map_or(0, |root| root.total);
    let head = heading(title, total, &tree.unit, &told.stats);
    let (title, subtitle) = head.split_once(super::BETWEEN).unwrap_or((&head, ""));
    let file: Option<&Path> = arguments.output.output.as_deref();
    match format {
        Format::Terminal => {
            let options = IcicleOptions {
                columns: output::columns(),
                rows_max: arguments.depth.unwrap_or(super::TERMINAL_ROWS),
                paths_max: arguments.paths,
                palette: arguments.output.palette(),
            };
            output::write_text(file, &format!("{head}\n{}", icicle_flame(tree, &options)))
        }
        Format::Svg => {
            let options = SvgOptions {
                title: title.to_owned(),
                subtitle: subtitle.to_owned(),
                width: arguments.width,
                rows_max: arguments.depth.unwrap_or(0),
            };
            output::write_text(file, &svg_flame(tree, &options))
        }
        Format::Html => output::write_text(file, &html_flame(tree, title, subtitle)),
        Format::Json => output::write_data(file, |out| flame_json(tree, out)),
        Format::Folded => output::write_data(file, |out| folded(tree, out)),
    }
}

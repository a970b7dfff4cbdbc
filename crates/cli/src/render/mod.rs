//! Draws answers: boxes in a terminal, SVG, one self-contained HTML page, tables, folded text, JSON.
//!
//! Every drawing is a pure function of an answer and of settings, so that golden files can hold it. Nothing here
//! recurses, since a stack may be 16,384 frames deep (C026), and every name is escaped for where it goes.
//!
//! Not here: where answers come from (`source`), and where the text goes (`output`).

mod colour;
mod diff;
mod folded;
mod html;
mod icicle;
mod json;
mod shape;
mod svg;
mod table;
mod text;
mod units;

pub use colour::Palette;
pub use diff::{DiffRow, diff_functions};
pub use folded::folded;
pub use html::{html_diff, html_flame};
pub use icicle::{IcicleOptions, icicle_diff, icicle_flame};
pub use json::{callers_json, diff_json, flame_json, top_json, write_line};
pub use svg::{SvgOptions, svg_diff, svg_flame};
pub use table::{TableOptions, callers_table, diff_table, top_table};
pub use text::{lines, one_line};
pub use units::value;

#[cfg(test)]
mod golden;

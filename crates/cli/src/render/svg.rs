//! A flame graph as an SVG file: drawn by our own code, no script, no font and nothing else from outside.
//!
//! Root on top. Texts are cut to what fits and clipped to their box as well, since fonts differ; a tooltip has the
//! whole name. Boxes narrower than a third of a pixel are left out.

use std::{borrow::Cow, fmt::Write as _};

use query::{DiffTree, FlameTree};

use super::{
    colour::{Rgb, change, diff_colour, node_colour},
    icicle::signed,
    shape::Shape,
    text::{clip, one_line},
    units::{share, value},
};

/// How a flame graph is drawn as SVG.
#[derive(Clone, Debug)]
pub struct SvgOptions {
    /// Line above the drawing.
    pub title: String,
    /// Smaller line below the title.
    pub subtitle: String,
    /// Width, pixels.
    pub width: u32,
    /// Most rows; 0 = all.
    pub rows_max: usize,
}

/// Height of a row, pixels.
const ROW: f64 = 18.0;
/// Space left and right of the drawing, pixels.
const MARGIN: f64 = 12.0;
/// Space above the drawing, pixels.
const HEAD: f64 = 60.0;
/// Width of one character at the size of the style sheet below, pixels; monospaced fonts are 0.6 em wide.
const CHARACTER: f64 = 7.25;
/// Boxes below this width are left out, pixels.
const BOX_WIDTH_MIN: f64 = 0.33;

const STYLE: &str = "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#18181b}\
.t{font:600 16px system-ui,-apple-system,'Segoe UI',sans-serif}\
.s{font:12px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#52525b}\
rect{stroke:#fff;stroke-width:.6}g:hover>rect{stroke:#18181b;stroke-width:1.2}";

/// What a box says.
struct Face {
    name: String,
    tip: String,
    colour: Rgb,
}

/// A merged tree as SVG.
#[must_use]
pub fn svg_flame(tree: &FlameTree, options: &SvgOptions) -> String {
    let all = tree.nodes.first().map_or(0, |root| root.total);
    draw(&Shape::of_flame(tree), options, "", |position| {
        let node = tree.nodes[position];
        let name = &tree.names[node.name as usize];
        let file = tree.files.get(node.name as usize).map_or("", String::as_str);
        let mut tip = format!("{name}\n{} ({})", value(node.total, &tree.unit), share(node.total, all));
        if node.self_value != node.total {
            let own = (value(node.self_value, &tree.unit), share(node.self_value, all));
            let _ = write!(tip, ", self {} ({})", own.0, own.1);
        }
        if !file.is_empty() {
            let _ = write!(tip, "\n{file}");
        }
        Face { name: name.clone(), tip, colour: node_colour(tree, position) }
    })
}

/// Two trees over each other as SVG: blue has shrunk, orange has grown.
#[must_use]
pub fn svg_diff(tree: &DiffTree, options: &SvgOptions) -> String {
    draw(&Shape::of_diff(tree), options, &legend(f64::from(options.width)), |position| {
        let node = tree.nodes[position];
        let name = &tree.names[node.name as usize];
        let delta = node.right_total.saturating_sub(node.left_total);
        let tip = format!(
            "{name}\n{} → {} ({})",
            value(node.left_total, &tree.unit),
            value(node.right_total, &tree.unit),
            signed(value(delta, &tree.unit), delta)
        );
        let sign = match delta {
            0 => "",
            1.. => "+ ",
            _ => "− ",
        };
        Face {
            name: format!("{sign}{name}"),
            tip,
            colour: diff_colour(change(node.left_total, node.right_total)),
        }
    })
}

fn draw(shape: &Shape, options: &SvgOptions, extra: &str, face: impl Fn(usize) -> Face) -> String {
    let width = f64::from(options.width.max(200));
    let scale = (width - 2.0 * MARGIN) / (shape.width().max(1) as f64);
    let mut body = String::new();
    let (mut rows, mut hidden) = (0, 0);
    let mut position = 0;
    while let Some(place) = shape.places.get(position) {
        let box_width = place.width as f64 * scale;
        if box_width < BOX_WIDTH_MIN {
            position = place.end as usize;
            continue;
        }
        let depth = place.depth as usize;
        if options.rows_max > 0 && depth >= options.rows_max {
            hidden = hidden.max(depth + 1 - options.rows_max);
        } else {
            rows = rows.max(depth + 1);
            let left = MARGIN + place.left as f64 * scale;
            push_box(&mut body, left, HEAD + depth as f64 * ROW, box_width, &face(position));
        }
        position += 1;
    }
    let foot = if hidden > 0 { ROW } else { 0.0 };
    let height = HEAD + rows as f64 * ROW + MARGIN + foot;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <path d=\"M0 0h{width:.0}v{height:.0}h-{width:.0}z\" fill=\"#fff\"/>\n\
         <text class=\"t\" x=\"{MARGIN}\" y=\"26\">{title}</text>\n\
         <text class=\"s\" x=\"{MARGIN}\" y=\"46\">{subtitle}</text>\n{extra}",
        title = escaped(&options.title),
        subtitle = escaped(&options.subtitle),
    );
    svg.push_str(&body);
    if shape.width() == 0 {
        let _ = writeln!(svg, "<text class=\"s\" x=\"{MARGIN}\" y=\"{}\">no samples</text>", HEAD + 12.0);
    }
    if hidden > 0 {
        let y = height - MARGIN;
        let _ = writeln!(
            svg,
            "<text class=\"s\" x=\"{MARGIN}\" y=\"{y}\">… {hidden} deeper rows are not shown</text>"
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn push_box(svg: &mut String, left: f64, top: f64, width: f64, face: &Face) {
    let (red, green, blue) = face.colour;
    let _ = write!(
        svg,
        "<g><title>{tip}</title><rect x=\"{left:.2}\" y=\"{top:.0}\" width=\"{width:.2}\" height=\"{ROW:.0}\" \
         rx=\"1.5\" fill=\"#{red:02x}{green:02x}{blue:02x}\"/>",
        tip = escaped_lines(&face.tip),
    );
    let characters = ((width - 7.0) / CHARACTER).floor();
    if characters >= 2.0 {
        let name = one_line(&face.name);
        let label = clip(&name, characters as usize);
        let _ = write!(
            svg,
            "<svg x=\"{left:.2}\" y=\"{top:.0}\" width=\"{width:.2}\" height=\"{ROW:.0}\">\
             <text x=\"4\" y=\"13\">{}</text></svg>",
            escaped(&label)
        );
    }
    svg.push_str("</g>\n");
}

/// What the colours of a comparison mean, at the right edge.
fn legend(width: f64) -> String {
    let mut text = String::new();
    for (place, (word, amount)) in [("less", -1.0), ("same", 0.0), ("more", 1.0)].into_iter().enumerate() {
        let (red, green, blue) = diff_colour(amount);
        let x = width - MARGIN - 3.0 * 62.0 + place as f64 * 62.0;
        let _ = writeln!(
            text,
            "<rect x=\"{x:.0}\" y=\"14\" width=\"14\" height=\"14\" rx=\"2\" \
             fill=\"#{red:02x}{green:02x}{blue:02x}\"/><text class=\"s\" x=\"{:.0}\" y=\"25\">{word}</text>",
            x + 19.0
        );
    }
    text
}

/// A text for XML: one line, markup escaped, characters that XML cannot hold replaced.
#[must_use]
pub fn escaped(text: &str) -> String {
    let line = one_line(text);
    let mut safe = String::with_capacity(line.len());
    for character in line.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

/// Like [`escaped`], with line breaks kept.
fn escaped_lines(text: &str) -> Cow<'static, str> {
    Cow::Owned(text.split('\n').map(escaped).collect::<Vec<_>>().join("&#10;"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_escaped() {
        assert_eq!(escaped("a<b>&\"'\u{1}\u{ffff}"), "a&lt;b&gt;&amp;&quot;&#39;\u{fffd}\u{fffd}");
        assert_eq!(escaped_lines("a\nb<"), "a&#10;b&lt;");
    }
}

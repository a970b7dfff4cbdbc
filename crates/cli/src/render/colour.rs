//! Colours: one per package by a stable hash, and blue to orange for comparisons (told apart by colour-blind eyes).

use names::{package_of, stable_hash};
use query::FlameTree;

/// A colour as red, green, blue.
pub type Rgb = (u8, u8, u8);

/// Soft backgrounds on which dark text reads well (contrast above 7:1).
pub const PACKAGE_COLOURS: [Rgb; 20] = [
    (0xf6, 0xb2, 0x6b),
    (0xf4, 0x9d, 0x8a),
    (0xf2, 0xcf, 0x6d),
    (0xd9, 0xc0, 0x8f),
    (0xc6, 0xd3, 0x6c),
    (0xa5, 0xd1, 0x7f),
    (0x8f, 0xd6, 0xa6),
    (0x86, 0xd3, 0xc6),
    (0x8b, 0xcb, 0xe6),
    (0x9d, 0xbb, 0xf0),
    (0xb6, 0xb2, 0xf2),
    (0xcf, 0xac, 0xea),
    (0xe6, 0xa8, 0xd7),
    (0xf2, 0xa6, 0xb9),
    (0xe0, 0xb3, 0xa0),
    (0xf7, 0xc5, 0x9c),
    (0xe5, 0xdb, 0x8b),
    (0xb9, 0xdc, 0xb4),
    (0xae, 0xcf, 0xd6),
    (0xc9, 0xc4, 0xd8),
];

/// For the root, "other" and frames that are no function.
pub const NEUTRAL: Rgb = (0xd4, 0xd4, 0xd8);

/// Names of marker frames, which stand for no function of the program.
const MARKERS: [&str; 2] = ["(no stack)", "(truncated)"];

/// Position in [`PACKAGE_COLOURS`] for a function, `None` for what is no function.
#[must_use]
pub fn package_colour(name: &str, file: &str) -> Option<usize> {
    if MARKERS.contains(&name) {
        return None;
    }
    let count = u32::try_from(PACKAGE_COLOURS.len()).unwrap_or(1);
    usize::try_from(stable_hash(package_of(name, file)) % count).ok()
}

/// The colour of a node's box.
#[must_use]
pub fn node_colour(tree: &FlameTree, position: usize) -> Rgb {
    let name = tree.nodes[position].name;
    if position == 0 || tree.other == Some(name) {
        return NEUTRAL;
    }
    let file = tree.files.get(name as usize).map_or("", String::as_str);
    package_colour(&tree.names[name as usize], file).map_or(NEUTRAL, |colour| PACKAGE_COLOURS[colour])
}

/// What a comparison shows for nothing changed, all gone (blue) and all new (orange).
const SAME: Rgb = (0xe6, 0xe6, 0xe6);
const LESS: Rgb = (0x4a, 0x90, 0xd9);
const MORE: Rgb = (0xf0, 0x8a, 0x24);

/// The colour of a change: −1 = all gone, 0 = the same, 1 = all new.
#[must_use]
pub fn diff_colour(change: f64) -> Rgb {
    let target = if change < 0.0 { LESS } else { MORE };
    // The square root makes small changes visible.
    let strength = change.abs().min(1.0).sqrt();
    let mix =
        |from: u8, to: u8| (f64::from(from) + (f64::from(to) - f64::from(from)) * strength).round() as u8;
    (mix(SAME.0, target.0), mix(SAME.1, target.1), mix(SAME.2, target.2))
}

/// How a total changed from left to right, −1 to 1.
#[must_use]
pub fn change(left: i64, right: i64) -> f64 {
    let (left, right) = (left as f64, right as f64);
    let size = left.abs() + right.abs();
    if size == 0.0 { 0.0 } else { ((right - left) / size).clamp(-1.0, 1.0) }
}

/// Which colours a terminal is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Palette {
    /// None: boxes have edges instead.
    #[default]
    Plain,
    /// The 256 colours that nearly every terminal has.
    Indexed,
    /// All colours (`COLORTERM=truecolor`).
    Full,
}

impl Palette {
    /// Appends the code for dark text on a background.
    pub fn push_background(self, line: &mut String, (red, green, blue): Rgb) {
        use std::fmt::Write as _;
        let written = match self {
            Self::Plain => return,
            Self::Indexed => {
                let step = |part: u8| u32::from(part.saturating_sub(35)) / 40;
                let index = 16 + 36 * step(red) + 6 * step(green) + step(blue);
                write!(line, "\x1b[38;5;16;48;5;{index}m")
            }
            Self::Full => write!(line, "\x1b[38;2;24;24;27;48;2;{red};{green};{blue}m"),
        };
        debug_assert!(written.is_ok(), "writing to a String does not fail");
    }

    /// Appends the code for bold or faint text.
    pub fn push_style(self, line: &mut String, style: Style) {
        if self != Self::Plain {
            line.push_str(match style {
                Style::Bold => "\x1b[1m",
                Style::Faint => "\x1b[2m",
            });
        }
    }

    /// Appends the code that ends colours.
    pub fn push_reset(self, line: &mut String) {
        if self != Self::Plain {
            line.push_str("\x1b[0m");
        }
    }
}

/// Weight of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// For what matters.
    Bold,
    /// For what matters less.
    Faint,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_has_one_colour() {
        assert_eq!(
            package_colour("net/http.(*conn).serve", ""),
            package_colour("net/http.HandlerFunc.ServeHTTP", "x.go")
        );
        assert_eq!(package_colour("(no stack)", ""), None);
    }

    #[test]
    fn dark_text_reads_on_every_background() {
        // Relative luminance by WCAG 2; the text is #18181b (0.009).
        let part = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        let diffs = (-10..=10).map(|change| diff_colour(f64::from(change) / 10.0));
        for (red, green, blue) in PACKAGE_COLOURS.into_iter().chain([NEUTRAL]).chain(diffs) {
            let luminance = 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
            assert!((luminance + 0.05) / 0.059 > 4.5, "{red:x} {green:x} {blue:x}: {luminance}");
        }
    }

    #[test]
    fn changes_lie_between_all_gone_and_all_new() {
        assert_eq!(change(10, 0), -1.0);
        assert_eq!(change(0, 10), 1.0);
        assert_eq!(change(5, 5), 0.0);
        assert_eq!(change(0, 0), 0.0);
        assert!(change(-5, 10) <= 1.0);
    }
}

//! A flame graph in a terminal: rows of boxes, root on top, each as wide as its share, then the widest paths as text.
//!
//! ```text
//! |total                                       100% 9.80 s|
//! |main.main                     81.0% 7.94 s|runtime.mca…|
//! |main.hot           72.4% 7.10 s|main.cold|
//! ```

use query::{DiffTree, FlameTree};

use super::{
    Palette,
    colour::{Rgb, Style, change, diff_colour, node_colour},
    shape::Shape,
    text::{clip, display_width, one_line, push_padded, push_right},
    units::{share, value},
};

/// How a flame graph is drawn in a terminal.
#[derive(Clone, Copy, Debug)]
pub struct IcicleOptions {
    /// Columns of the terminal.
    pub columns: usize,
    /// Most rows of boxes; 0 = all.
    pub rows_max: usize,
    /// Paths listed below the boxes.
    pub paths_max: usize,
    /// Colours.
    pub palette: Palette,
}

/// Columns below which boxes cannot be told apart.
const COLUMNS_MIN: usize = 24;

/// What a node's box says.
struct Face {
    name: String,
    detail: String,
    short: String,
    colour: Rgb,
}

/// A merged tree as boxes.
#[must_use]
pub fn icicle_flame(tree: &FlameTree, options: &IcicleOptions) -> String {
    let shape = Shape::of_flame(tree);
    let all = tree.nodes.first().map_or(0, |root| root.total);
    let mut text = boxes(&shape, options, |position| {
        let node = tree.nodes[position];
        let name = &tree.names[node.name as usize];
        let part = share(node.total, all);
        Face {
            name: one_line(name).into_owned(),
            detail: format!("{part} {}", value(node.total, &tree.unit)),
            short: part,
            colour: node_colour(tree, position),
        }
    });
    if shape.width() > 0 {
        push_paths(&mut text, tree, all, options);
    }
    text
}

/// Two trees over each other: width is both sides together, the text is what changed.
#[must_use]
pub fn icicle_diff(tree: &DiffTree, options: &IcicleOptions) -> String {
    let shape = Shape::of_diff(tree);
    boxes(&shape, options, |position| {
        let node = tree.nodes[position];
        let name = &tree.names[node.name as usize];
        let delta = node.right_total.saturating_sub(node.left_total);
        let part = if node.left_total == 0 && delta != 0 {
            "new".to_owned()
        } else {
            signed(share(delta, node.left_total), delta)
        };
        Face {
            name: one_line(name).into_owned(),
            detail: format!("{} ({part})", signed(value(delta, &tree.unit), delta)),
            short: part,
            colour: diff_colour(change(node.left_total, node.right_total)),
        }
    })
}

/// The text with a `+` in front where the number is above 0.
pub fn signed(text: String, number: i64) -> String {
    if number > 0 { format!("+{text}") } else { text }
}

/// Draws all rows that have something to show.
fn boxes(shape: &Shape, options: &IcicleOptions, face: impl Fn(usize) -> Face) -> String {
    let columns = options.columns.max(COLUMNS_MIN) - 1;
    if shape.width() == 0 {
        return "no samples\n".to_owned();
    }
    let rows = visible(shape, columns);
    let shown = if options.rows_max == 0 { rows.len() } else { rows.len().min(options.rows_max) };
    let mut text = String::new();
    for row in &rows[..shown] {
        let mut at = 0;
        for &(position, left, right) in row {
            let after_a_box = at > 0;
            for gap in at..left {
                text.push(if gap == at && after_a_box && options.palette == Palette::Plain {
                    '|'
                } else {
                    ' '
                });
            }
            push_box(&mut text, &face(position), right - left, options.palette);
            at = right;
        }
        text.push_str(if options.palette == Palette::Plain { "|\n" } else { "\n" });
    }
    let hidden = rows.len() - shown;
    if hidden > 0 {
        let plural = if hidden == 1 { "row is" } else { "rows are" };
        text.push_str(&format!("… {hidden} deeper {plural} not shown; --depth 0 shows all\n"));
    }
    text
}

/// Nodes of each row with first column and column after the last; nodes narrower than a column are left out.
fn visible(shape: &Shape, columns: usize) -> Vec<Vec<(usize, usize, usize)>> {
    let all = u128::from(shape.width());
    let column =
        |edge: u64| -> usize { usize::try_from(u128::from(edge) * columns as u128 / all).unwrap_or(columns) };
    let mut rows: Vec<Vec<(usize, usize, usize)>> = Vec::new();
    let mut position = 0;
    while let Some(place) = shape.places.get(position) {
        let (left, right) = (column(place.left), column(place.left.saturating_add(place.width)));
        if right <= left {
            position = place.end as usize;
            continue;
        }
        let depth = place.depth as usize;
        if rows.len() <= depth {
            rows.resize_with(depth + 1, Vec::new);
        }
        rows[depth].push((position, left, right));
        position += 1;
    }
    rows
}

/// One box of `width` columns, at least 1: an edge, the name, and share and value where there is room.
fn push_box(line: &mut String, face: &Face, width: usize, palette: Palette) {
    palette.push_background(line, face.colour);
    line.push(match palette {
        Palette::Plain => '|',
        _ if width > 1 => '▏',
        _ => ' ',
    });
    let room = width - 1;
    let name_width = display_width(&face.name);
    let number =
        [&face.detail, &face.short].into_iter().find(|text| name_width + 1 + display_width(text) < room);
    match number {
        Some(number) => {
            let number_width = display_width(number) + 1;
            push_padded(line, &face.name, room - number_width);
            line.push_str(number);
            line.push(' ');
        }
        None => push_padded(line, &clip(&face.name, room), room),
    }
    palette.push_reset(line);
}

/// The paths with the largest own value, leaf first.
fn push_paths(text: &mut String, tree: &FlameTree, all: i64, options: &IcicleOptions) {
    // What the cut folded together is no path.
    let is_path = |&position: &usize| {
        let node = tree.nodes[position];
        node.self_value != 0 && tree.other != Some(node.name)
    };
    let mut widest: Vec<usize> = (0..tree.nodes.len()).filter(is_path).collect();
    widest.sort_by_key(|&position| (std::cmp::Reverse(tree.nodes[position].self_value), position));
    widest.truncate(options.paths_max);
    if widest.is_empty() {
        return;
    }
    text.push('\n');
    options.palette.push_style(text, Style::Faint);
    text.push_str(&clip("   share      value  widest paths, leaf first", options.columns.max(COLUMNS_MIN)));
    options.palette.push_reset(text);
    text.push('\n');
    let columns = options.columns.max(COLUMNS_MIN) - 1;
    for position in widest {
        let own = tree.nodes[position].self_value;
        push_right(text, &share(own, all), 8);
        push_right(text, &value(own, &tree.unit), 11);
        text.push_str("  ");
        let path = path_text(tree, position, columns);
        let line = clip(&path, columns.saturating_sub(21));
        let leaf_end = line.find(" ‹ ").unwrap_or(line.len());
        options.palette.push_style(text, Style::Bold);
        text.push_str(&line[..leaf_end]);
        options.palette.push_reset(text);
        text.push_str(&line[leaf_end..]);
        text.push('\n');
    }
}

/// `leaf ‹ caller ‹ its caller`, no longer than needed to fill `columns`.
fn path_text(tree: &FlameTree, mut position: usize, columns: usize) -> String {
    let mut path = String::new();
    loop {
        let node = tree.nodes[position];
        if !path.is_empty() {
            path.push_str(" ‹ ");
        }
        path.push_str(&one_line(&tree.names[node.name as usize]));
        let parent = node.parent as usize;
        // The root stands for no function.
        if parent == 0 || parent >= position || display_width(&path) > columns {
            return path;
        }
        position = parent;
    }
}

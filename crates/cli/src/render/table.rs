//! Functions as tables of text.

use query::{CallersTable, FunctionSide, TopRow, TopTable};

use super::{
    DiffRow, Palette,
    colour::Style,
    icicle::signed,
    text::{clip, display_width, one_line, push_right},
    units::{share, value},
};

/// Columns between two cells, where the second is as wide as can be, and before a name.
const GAP: usize = 2;

/// How a table is drawn.
#[derive(Clone, Copy, Debug)]
pub struct TableOptions {
    /// Columns of the terminal; `None` = lines may be as long as they are.
    pub columns: Option<usize>,
    /// Most rows; 0 = all.
    pub rows_max: usize,
    /// Colours.
    pub palette: Palette,
}

impl TableOptions {
    fn shown<'a, T>(&self, rows: &'a [T]) -> &'a [T] {
        if self.rows_max == 0 { rows } else { &rows[..rows.len().min(self.rows_max)] }
    }

    /// Rows of numbers and a name below their heads. A column is as wide as `least` says or as its widest cell asks, so
    /// that large numbers do not run into each other.
    fn push_rows<const N: usize>(
        &self,
        text: &mut String,
        heads: [(&str, usize); N],
        name_head: &str,
        rows: &[([String; N], &str)],
    ) {
        let widths: [usize; N] = std::array::from_fn(|column| {
            let (_, least) = heads[column];
            let gap = if column == 0 { 0 } else { GAP };
            let widest = rows.iter().map(|(cells, _)| display_width(&cells[column])).max().unwrap_or(0);
            least.max(widest + gap)
        });
        self.palette.push_style(text, Style::Faint);
        for ((head, _), width) in heads.iter().zip(widths) {
            push_right(text, head, width);
        }
        text.push_str("  ");
        text.push_str(name_head);
        self.palette.push_reset(text);
        text.push('\n');
        for (cells, name) in rows {
            for (cell, width) in cells.iter().zip(widths) {
                push_right(text, cell, width);
            }
            text.push_str("  ");
            self.push_name(text, name, widths.iter().sum::<usize>() + GAP);
        }
    }

    /// Appends a name and ends the line.
    fn push_name(&self, text: &mut String, name: &str, used: usize) {
        let name = one_line(name);
        match self.columns {
            Some(columns) => text.push_str(&clip(&name, columns.saturating_sub(used).max(16))),
            None => text.push_str(&name),
        }
        text.push('\n');
    }

    fn push_rest(text: &mut String, all: usize, shown: usize) {
        if all > shown {
            text.push_str(&format!("… {} more; --limit 0 shows all {all}\n", all - shown));
        }
    }
}

/// Functions by own value; `rows_all` says how many there are where a server has sent only the first ones.
#[must_use]
pub fn top_table(table: &TopTable, rows_all: usize, options: &TableOptions) -> String {
    let mut text = String::new();
    let shown = options.shown(&table.rows);
    let cells = |row: &TopRow| {
        [
            value(row.self_value, &table.unit),
            share(row.self_value, table.total),
            value(row.total, &table.unit),
            share(row.total, table.total),
        ]
    };
    let rows: Vec<_> = shown.iter().map(|row| (cells(row), row.name.as_str())).collect();
    let heads = [("self", 11), ("self%", 8), ("total", 12), ("total%", 8)];
    options.push_rows(&mut text, heads, "function", &rows);
    TableOptions::push_rest(&mut text, rows_all, shown.len());
    text
}

/// Who calls a function and whom it calls.
#[must_use]
pub fn callers_table(table: &CallersTable, options: &TableOptions) -> String {
    let mut text = String::new();
    let side = |text: &mut String, head: &str, rows: &[FunctionSide], root: &str| {
        let shown = options.shown(rows);
        let cells =
            |row: &FunctionSide| [value(row.value, &table.unit), share(row.value, table.function.total)];
        let drawn: Vec<_> = shown
            .iter()
            .map(|row| (cells(row), if row.name.is_empty() { root } else { row.name.as_str() }))
            .collect();
        options.push_rows(text, [("value", 11), ("share", 8)], head, &drawn);
        TableOptions::push_rest(text, rows.len(), shown.len());
    };
    side(&mut text, "callers", &table.callers, "(root of the stack)");
    text.push('\n');
    options.palette.push_style(&mut text, Style::Bold);
    text.push_str(&format!(
        "{}  self {} ({})  total {} ({})",
        one_line(&table.function.name),
        value(table.function.self_value, &table.unit),
        share(table.function.self_value, table.total),
        value(table.function.total, &table.unit),
        share(table.function.total, table.total),
    ));
    options.palette.push_reset(&mut text);
    text.push_str("\n\n");
    side(&mut text, "callees", &table.callees, "(own code)");
    text
}

/// Functions by how much they changed.
#[must_use]
pub fn diff_table(rows: &[DiffRow], unit: &str, options: &TableOptions) -> String {
    let mut text = String::new();
    let changed: Vec<&DiffRow> =
        rows.iter().filter(|row| row.self_delta() != 0 || row.total_delta() != 0).collect();
    let shown = options.shown(&changed);
    let cells = |row: &DiffRow| {
        [
            value(row.left_self, unit),
            value(row.right_self, unit),
            signed(value(row.self_delta(), unit), row.self_delta()),
            signed(value(row.total_delta(), unit), row.total_delta()),
        ]
    };
    let rows: Vec<_> = shown.iter().map(|row| (cells(row), row.name.as_str())).collect();
    let heads = [("self left", 11), ("self right", 12), ("change", 12), ("total change", 14)];
    options.push_rows(&mut text, heads, "function", &rows);
    if changed.is_empty() {
        text.push_str("nothing changed\n");
    }
    TableOptions::push_rest(&mut text, changed.len(), shown.len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> TableOptions {
        TableOptions { columns: None, rows_max: 0, palette: Palette::Plain }
    }

    fn row(name: &str, self_value: i64, total: i64) -> TopRow {
        TopRow { name: name.into(), file: String::new(), self_value, total }
    }

    /// Alloc objects of a week, signed both ways: no cell touches the one before it, and small numbers look as ever.
    #[test]
    fn very_large_counts_have_space_between_columns() {
        let rows = vec![row("main.a", 1_234_567_890_123_456, i64::MAX), row("main.b", i64::MIN, 7)];
        let table = TopTable { unit: "count".into(), total: i64::MAX, rows };
        let text = top_table(&table, 2, &options());
        for (line, cells) in text.lines().zip([
            vec!["self", "self%", "total", "total%", "function"],
            vec!["1,234,567,890,123,456", "<0.1%", "9,223,372,036,854,775,807", "100%", "main.a"],
            vec!["-9,223,372,036,854,775,808", "-100.0%", "7", "<0.1%", "main.b"],
        ]) {
            assert_eq!(line.split_whitespace().collect::<Vec<_>>(), cells, "{text}");
        }
        let ends = |cell: &str| text.lines().find_map(|line| line.find(cell).map(|at| at + cell.len()));
        assert_eq!(ends("self"), ends("1,234,567,890,123,456"), "heads stand above their columns\n{text}");
        let small = TopTable { unit: "count".into(), total: 10, rows: vec![row("f", 3, 10)] };
        assert_eq!(
            top_table(&small, 1, &options()),
            "       self   self%       total  total%  function\n          3   30.0%          10    100%  f\n"
        );
        let (left_self, left_total, right_self, right_total) = (0, 0, i64::MAX, i64::MAX);
        let difference = DiffRow { name: "f".into(), left_self, right_self, left_total, right_total };
        let text = diff_table(&[difference], "count", &options());
        let large = "9,223,372,036,854,775,807";
        let cells = ["0", large, &format!("+{large}"), &format!("+{large}"), "f"];
        assert_eq!(text.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>(), cells, "{text}");
    }
}

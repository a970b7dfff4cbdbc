//! Functions as tables of text.

use query::{CallersTable, FunctionSide, TopTable};

use super::{
    DiffRow, Palette,
    colour::Style,
    icicle::signed,
    text::{clip, one_line, push_right},
    units::{share, value},
};

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

    fn push_head(&self, text: &mut String, head: &str) {
        self.palette.push_style(text, Style::Faint);
        text.push_str(head);
        self.palette.push_reset(text);
        text.push('\n');
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
    options.push_head(&mut text, "       self   self%       total  total%  function");
    let shown = options.shown(&table.rows);
    for row in shown {
        push_right(&mut text, &value(row.self_value, &table.unit), 11);
        push_right(&mut text, &share(row.self_value, table.total), 8);
        push_right(&mut text, &value(row.total, &table.unit), 12);
        push_right(&mut text, &share(row.total, table.total), 8);
        text.push_str("  ");
        options.push_name(&mut text, &row.name, 41);
    }
    TableOptions::push_rest(&mut text, rows_all, shown.len());
    text
}

/// Who calls a function and whom it calls.
#[must_use]
pub fn callers_table(table: &CallersTable, options: &TableOptions) -> String {
    let mut text = String::new();
    let side = |text: &mut String, head: &str, rows: &[FunctionSide], root: &str| {
        options.push_head(text, head);
        let shown = options.shown(rows);
        for row in shown {
            push_right(text, &value(row.value, &table.unit), 11);
            push_right(text, &share(row.value, table.function.total), 8);
            text.push_str("  ");
            options.push_name(text, if row.name.is_empty() { root } else { &row.name }, 21);
        }
        TableOptions::push_rest(text, rows.len(), shown.len());
    };
    side(&mut text, "      value   share  callers", &table.callers, "(root of the stack)");
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
    side(&mut text, "      value   share  callees", &table.callees, "(own code)");
    text
}

/// Functions by how much they changed.
#[must_use]
pub fn diff_table(rows: &[DiffRow], unit: &str, options: &TableOptions) -> String {
    let mut text = String::new();
    options.push_head(&mut text, "  self left  self right      change  total change  function");
    let changed: Vec<&DiffRow> =
        rows.iter().filter(|row| row.self_delta() != 0 || row.total_delta() != 0).collect();
    let shown = options.shown(&changed);
    for row in shown {
        push_right(&mut text, &value(row.left_self, unit), 11);
        push_right(&mut text, &value(row.right_self, unit), 12);
        push_right(&mut text, &signed(value(row.self_delta(), unit), row.self_delta()), 12);
        push_right(&mut text, &signed(value(row.total_delta(), unit), row.total_delta()), 14);
        text.push_str("  ");
        options.push_name(&mut text, &row.name, 51);
    }
    if changed.is_empty() {
        text.push_str("nothing changed\n");
    }
    TableOptions::push_rest(&mut text, changed.len(), shown.len());
    text
}

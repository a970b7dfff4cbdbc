//! `cargo xtask compat`: `docs/compat/pyroscope.md` from the rows in `docs/compat/pyroscope.txt`.
//!
//! Each row of the checklist stands there with its test, named after the row (`row_04_…`), or with the work that it waits
//! for. `--check` writes nothing and fails when the page would change. A row without either, and a test that is not there,
//! fail both.

use std::{fmt::Write as _, fs, path::Path};

/// Where the rows are.
const ROWS: &str = "docs/compat/pyroscope.txt";

/// The page.
const PAGE: &str = "docs/compat/pyroscope.md";

/// Rows of the checklist.
const ROW_COUNT: usize = 17;

#[derive(Default)]
struct Row {
    text: String,
    differs: String,
    /// File and name.
    tests: Vec<(String, String)>,
    /// Part and the work it belongs to.
    later: Vec<(String, String)>,
}

pub fn run(arguments: &[String]) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |name: &str| fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"));
    let (rows, missing) = parse(&read(ROWS)?)?;
    check(&rows, |file, name| Ok(read(file)?.contains(&format!("fn {name}("))))?;
    let page = page(&rows, &missing)?;
    match arguments {
        [] => fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}")),
        [flag] if flag == "--check" && read(PAGE)? == page => Ok(()),
        [flag] if flag == "--check" => Err(format!("{PAGE} is not up to date; run cargo xtask compat")),
        _ => Err("usage: cargo xtask compat [--check]".into()),
    }
}

/// Methods that are missing, and why.
type Missing = Vec<(String, String)>;

/// Rows in their order, and methods that are missing.
fn parse(text: &str) -> Result<(Vec<Row>, Missing), String> {
    let (mut rows, mut missing): (Vec<Row>, Missing) = (Vec::new(), Vec::new());
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    for (position, line) in lines {
        let wrong = |reason: &str| format!("{ROWS}:{}: {reason}", position + 1);
        let (word, rest) = line.split_once(' ').ok_or_else(|| wrong("says nothing"))?;
        let pair = || {
            let (left, right) = rest.split_once('|').ok_or_else(|| wrong("has no `|`"))?;
            Ok::<_, String>((left.trim().to_owned(), right.trim().to_owned()))
        };
        match word {
            "row" => {
                let (number, rest) = pair()?;
                if number != (rows.len() + 1).to_string() {
                    return Err(wrong("is not the next row"));
                }
                let (text, differs) = rest.split_once('|').ok_or_else(|| wrong("needs two `|`"))?;
                let (text, differs) = (text.trim().into(), differs.trim().into());
                rows.push(Row { text, differs, ..Row::default() });
            }
            "missing" => missing.push(pair()?),
            "later" => rows.last_mut().ok_or_else(|| wrong("stands before the rows"))?.later.push(pair()?),
            "test" => {
                let (file, name) = rest.split_once(' ').ok_or_else(|| wrong("needs a file and a name"))?;
                let row = rows.last_mut().ok_or_else(|| wrong("stands before the rows"))?;
                row.tests.push((file.into(), name.trim().into()));
            }
            _ => return Err(wrong("begins with no word that is known")),
        }
    }
    Ok((rows, missing))
}

/// Every row has a test named after it, or waits for other work as a whole; every test is there.
fn check(rows: &[Row], is_there: impl Fn(&str, &str) -> Result<bool, String>) -> Result<(), String> {
    if rows.len() != ROW_COUNT {
        return Err(format!("{ROWS} has {} rows, the checklist {ROW_COUNT}", rows.len()));
    }
    for (position, row) in rows.iter().enumerate() {
        let number = position + 1;
        let own = format!("row_{number:02}_");
        if row.tests.is_empty() && row.later.is_empty() {
            return Err(format!("row {number} has neither a test nor a time"));
        }
        if !row.tests.is_empty() && !row.tests.iter().any(|(_, name)| name.starts_with(&own)) {
            return Err(format!("row {number} has no test whose name begins with {own}"));
        }
        for (file, name) in &row.tests {
            if !is_there(file, name)? {
                return Err(format!("row {number}: {file} has no test {name}"));
            }
        }
    }
    Ok(())
}

fn page(rows: &[Row], missing: &[(String, String)]) -> Result<String, String> {
    let mut page = String::from(
        "<!-- Written by `cargo xtask compat` from pyroscope.txt; change that. -->\n\n\
         # Compatibility with Pyroscope\n\n\
         What a server has to do for Pyroscope's clients and Grafana, row by row, with the test that shows it. What a\n\
         column leaves empty is as in the original.\n\n\
         | Row | What holds | Where it differs | Tests | Later |\n|---|---|---|---|---|\n",
    );
    let mut write = |line: String| writeln!(page, "{line}").map_err(|error| error.to_string());
    for (position, row) in rows.iter().enumerate() {
        let tests: Vec<String> =
            row.tests.iter().map(|(file, name)| format!("[`{name}`](../../{file})")).collect();
        let later: Vec<String> =
            row.later.iter().map(|(part, work)| format!("{part} (with: {work})")).collect();
        let (tests, later) = (tests.join(", "), later.join("; "));
        write(format!("| {} | {} | {} | {tests} | {later} |", position + 1, row.text, row.differs))?;
    }
    write("\n## Methods that are not served\n".into())?;
    write("They answer `unimplemented`, never with an empty success.\n".into())?;
    write("| Method | Why |\n|---|---|".into())?;
    for (method, why) in missing {
        write(format!("| {method} | {why} |"))?;
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_up_to_date_and_its_tests_are_there() {
        run(&["--check".into()]).unwrap();
    }

    #[test]
    fn rows_without_a_test_of_their_own_are_found() {
        let rows = |test: &str| -> Vec<Row> {
            let row = |number: usize| {
                format!("row {number} | a | b\ntest f.rs {}\n", test.replace("NN", &format!("{number:02}")))
            };
            parse(&(1..=ROW_COUNT).map(row).collect::<String>()).unwrap().0
        };
        assert!(check(&rows("row_NN_a"), |_, _| Ok(true)).is_ok());
        assert!(check(&rows("row_NN_a"), |_, _| Ok(false)).unwrap_err().contains("has no test row_01_a"));
        assert!(check(&rows("another"), |_, _| Ok(true)).unwrap_err().contains("row_01_"));
        assert!(check(&rows("row_NN_a")[1..], |_, _| Ok(true)).is_err());
        assert!(parse("row 2 | a | b").is_err());
        assert!(parse("nonsense x").is_err());
    }
}

//! Raw tables against `go tool pprof -top`, for the files of the shared corpus that both accept.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use std::{collections::BTreeMap, path::Path, process::Command};

use query::{NameMode, TypeSelector};
use support::*;

/// Flat and cum by name of the default sample type, as the real tool prints them.
fn go_top(file: &Path, unit: &str) -> Option<BTreeMap<String, (i64, i64)>> {
    let unit = if unit.is_empty() { "count" } else { unit };
    let output = Command::new("go")
        .args(["tool", "pprof", "-top", "-nodecount=0", "-nodefraction=0", "-symbolize=none"])
        .arg(format!("-unit={unit}"))
        .arg(file)
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines().skip_while(|line| !line.trim_start().starts_with("flat"));
    lines.next()?;
    let mut rows: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for line in lines {
        let mut fields = line.split_ascii_whitespace();
        let flat = number(fields.next()?)?;
        fields.nth(1)?;
        let cum = number(fields.next()?)?;
        fields.next()?;
        // Two spaces stand before the name; the name may hold spaces itself.
        let name = line.split_once("%  ").map_or("", |(_, rest)| rest);
        let name = name.rsplit_once("%  ").map_or(name, |(_, name)| name);
        let name = name.trim_end_matches(" (inline)").trim_end_matches(" (partial-inline)");
        let row = rows.entry(name.to_owned()).or_default();
        *row = (row.0 + flat, row.1 + cum);
    }
    Some(rows)
}

fn number(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(|character: char| character.is_alphabetic() || character == '/');
    digits.parse::<f64>().ok().map(|value| value.round() as i64)
}

fn ours(engine: &query::Engine, of: &profile::ProfileType) -> BTreeMap<String, (i64, i64)> {
    let selection = query::Selection { profile_type: TypeSelector::Exact(of.clone()), ..select("{}") };
    let table = engine.top(&selection, NameMode::Raw, &control()).unwrap().data;
    let mut rows: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for row in table.rows {
        let known = rows.entry(row.name).or_default();
        *known = (known.0 + row.self_value, known.1 + row.total);
    }
    rows
}

#[test]
fn raw_tables_equal_those_of_go_tool_pprof() {
    let Some(shared) = testkit::skip_without_shared("raw tables against go tool pprof") else { return };
    let mut files = Vec::new();
    let mut folders = vec![shared.join("corpus/pprof")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let (mut compared, mut wrong) = (0, Vec::new());
    for file in files {
        let body = std::fs::read(&file).unwrap();
        let mut service = Service::new("a");
        let pushed = decode(&body, |profile| {
            (!profile.columns.stack_ends.is_empty()).then(|| service.push("any", &[], 0, profile))
        });
        let Ok(Some(_)) = pushed else { continue };
        let engine = service.engine();
        let chosen = engine.top(&select("{}"), NameMode::Raw, &control()).unwrap().stats.profile_type;
        if let Some(of) = &chosen {
            let Some(mut theirs) = go_top(&file, &of.sample_unit) else { continue };
            let mut ours = ours(&engine, of);
            // The tool names a mapping without a file after the profile's own file.
            let own = format!("[{}]", file.file_name().unwrap().to_string_lossy());
            if let Some(row) = theirs.remove(&own) {
                let known = theirs.entry("<unknown>".into()).or_default();
                *known = (known.0 + row.0, known.1 + row.1);
            }
            // C006: the tool has no row for samples without a stack.
            ours.remove("(no stack)");
            compared += 1;
            if ours != theirs {
                let differs: Vec<String> = ours
                    .iter()
                    .filter(|(name, row)| theirs.get(*name) != Some(row))
                    .map(|(name, row)| format!("{name:?} ours {row:?} theirs {:?}", theirs.get(name)))
                    .chain(
                        theirs
                            .iter()
                            .filter(|(name, _)| !ours.contains_key(*name))
                            .map(|(name, row)| format!("{name:?} only theirs {row:?}")),
                    )
                    .take(5)
                    .collect();
                wrong.push(format!("{} {}: {}", file.display(), of, differs.join("; ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
    println!("{compared} tables are equal");
}

//! The table of one file whose functions all have names, straight from its decoded columns.
//!
//! The engine would intern every stack first, which takes several times as long as reading the file; for one table that
//! is thrown away right after, there is nothing to gain by it. What is not plain — several files, frames without a
//! name, samples without a stack, filters, dropped frames, sums that overflow — is left to the engine, and a test holds
//! both to the same answers.

use std::{borrow::Cow, collections::HashMap, path::Path};

use formats::{Decoder, Limits, SniffedFormat, sniff};
use profile::{Profile, ProfileType, StringIndex};
use query::{AnswerStats, NameMode, TopRow, TopTable};

use super::{
    Told, ValueArguments,
    files::{self, FileFormat, decode},
    local::choose,
};
use crate::failure::Failure;

/// The table, or `None` where the engine is needed.
///
/// # Errors
/// When the file cannot be read or decoded, or has no such values.
pub fn top(path: &Path, values: &ValueArguments) -> Result<Option<Told<TopTable>>, Failure> {
    let is_filtered = values.from.is_some()
        || values.to.is_some()
        || !values.span_ids.is_empty()
        || !values.trace_ids.is_empty()
        || !values.profile_ids.is_empty();
    // What comes from stdin cannot be read a second time by the engine's way.
    if is_filtered || path == Path::new("-") {
        return Ok(None);
    }
    if !matches!(values.file_format, FileFormat::Auto | FileFormat::Pprof) {
        return Ok(None);
    }
    let body = files::read(path)?;
    if !matches!(sniff(&body), SniffedFormat::Gzip | SniffedFormat::Zstd | SniffedFormat::Pprof) {
        return Ok(None);
    }
    let mut decoder = Decoder::new();
    let Ok((profile, decoded)) = decode(&mut decoder, &body, &Limits::default()) else { return Ok(None) };
    let columns = files::columns(&profile);
    let chosen = choose(&columns, values.wanted_type()).map_err(Failure::Usage)?;
    let Some(column) = columns.types.iter().position(|typed| *typed == chosen) else { return Ok(None) };
    let table = table(&profile, column, &chosen, values.name_mode());
    if table.is_some() {
        files::tell_altered(path, &decoded.altered);
    }
    Ok(table.map(|table| {
        let stats = AnswerStats {
            profiles: 1,
            samples: u64::try_from(profile.columns.sample_count()).unwrap_or(u64::MAX),
            series: 1,
            rounds: 1,
            profile_type: Some(chosen),
            ..AnswerStats::default()
        };
        Told { data: table, stats }
    }))
}

/// One row under way.
struct Row<'a> {
    name: Cow<'a, str>,
    file: StringIndex,
    self_value: i64,
    total: i64,
    /// Number of the last sample that counted for the total, so that recursion counts once.
    last_sample: usize,
}

fn table(profile: &Profile<'_>, column: usize, chosen: &ProfileType, mode: NameMode) -> Option<TopTable> {
    let columns = profile.columns;
    if columns.header.drop_frames != StringIndex::EMPTY {
        return None;
    }
    let (row_of_function, mut rows) = name_rows(profile, mode)?;
    if columns.locations.iter().any(|location| location.lines_length == 0) {
        return None;
    }
    let mut total: i64 = 0;
    for (number, sample) in profile.samples().enumerate() {
        let value = sample.values[column];
        if value == 0 {
            continue;
        }
        total = total.checked_add(value)?;
        let leaf = columns.locations[sample.stack.first()?.position()];
        let innermost = columns.location_lines(&leaf).first()?;
        let row = &mut rows[row_of_function[innermost.function.position()]];
        row.self_value = row.self_value.checked_add(value)?;
        for &location in sample.stack {
            for line in columns.location_lines(&columns.locations[location.position()]) {
                let row = &mut rows[row_of_function[line.function.position()]];
                if row.last_sample != number {
                    row.last_sample = number;
                    row.total = row.total.checked_add(value)?;
                }
            }
        }
    }
    let mut rows: Vec<TopRow> = rows
        .into_iter()
        .filter(|row| row.last_sample != usize::MAX)
        .map(|row| TopRow {
            name: row.name.into_owned(),
            file: profile.text_of(row.file).into_owned(),
            self_value: row.self_value,
            total: row.total,
        })
        .collect();
    rows.sort_unstable_by(|one, other| {
        (other.self_value, other.total)
            .cmp(&(one.self_value, one.total))
            .then_with(|| one.name.cmp(&other.name))
    });
    Some(TopTable { unit: chosen.sample_unit.clone(), total, rows })
}

/// A row for each name, and each function's row; `None` where a function has no name.
fn name_rows<'a>(profile: &Profile<'a>, mode: NameMode) -> Option<(Vec<usize>, Vec<Row<'a>>)> {
    let functions = &profile.columns.functions;
    let mut rows: Vec<Row<'a>> = Vec::with_capacity(functions.len());
    let mut row_of_name: HashMap<Cow<'a, str>, usize> = HashMap::with_capacity(functions.len());
    let mut row_of_function = Vec::with_capacity(functions.len());
    for function in functions {
        if function.name == StringIndex::EMPTY {
            return None;
        }
        let raw = profile.text_of(function.name);
        let name = match mode {
            NameMode::Raw => raw,
            NameMode::Display => match names::display_name(&raw, &profile.text_of(function.system_name))? {
                shown if shown == raw => raw,
                shown => Cow::Owned(shown.into_owned()),
            },
        };
        let row = *row_of_name.entry(name.clone()).or_insert_with(|| {
            rows.push(Row { name, file: function.file, self_value: 0, total: 0, last_sample: usize::MAX });
            rows.len() - 1
        });
        if rows[row].file == StringIndex::EMPTY {
            rows[row].file = function.file;
        }
        row_of_function.push(row);
    }
    Some((row_of_function, rows))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::source::Local;

    fn files_below(folder: &Path) -> Vec<PathBuf> {
        let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        files.sort();
        files
    }

    #[test]
    fn the_quick_way_and_the_engine_give_the_same_tables() {
        let mut files = files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/real"));
        if let Some(shared) = testkit::skip_without_shared("quick tables of the shared corpus") {
            files.extend(files_below(&shared.join("corpus/pprof")));
        }
        let mut compared = 0;
        for file in &files {
            for raw_names in [false, true] {
                for index in 0..4 {
                    let sample_index = Some(index.to_string());
                    let values = ValueArguments { raw_names, sample_index, ..ValueArguments::default() };
                    let Ok(Some(quick)) = top(file, &values) else { continue };
                    let engine = Local::open(&[std::slice::from_ref(file)], &values).unwrap().top().unwrap();
                    assert!(quick.data.rows == engine.data.rows, "{} {index} {raw_names}", file.display());
                    assert_eq!((quick.data.total, &quick.data.unit), (engine.data.total, &engine.data.unit));
                    assert_eq!(quick.stats.profile_type, engine.stats.profile_type);
                    compared += 1;
                }
            }
        }
        assert!(compared >= 20, "{compared} tables compared");
    }
}

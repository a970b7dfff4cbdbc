//! Files of targets, looked at again and again.
//!
//! A file that cannot be read keeps the targets that it named last, so that half of a file, seen while somebody writes
//! it, does no harm; a file that is gone takes its targets with it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{Found, read_groups};
use crate::{config::Group, files, limits};

/// Files behind patterns, with what was in them.
pub(crate) struct Files {
    patterns: Vec<String>,
    known: BTreeMap<PathBuf, Known>,
    is_first: bool,
}

/// When a file was changed last, and its length: what tells that it must be read again.
type Stamp = (Option<SystemTime>, u64);

#[derive(Clone, Default)]
struct Known {
    stamp: Option<Stamp>,
    groups: Vec<Group>,
    error: Option<String>,
}

impl Files {
    pub(super) fn new(patterns: Vec<String>) -> Self {
        Self { patterns, known: BTreeMap::new(), is_first: true }
    }

    /// Looks at all files; says nothing new where none has changed.
    pub(super) async fn find(&mut self) -> Found {
        let (patterns, known) = (self.patterns.clone(), std::mem::take(&mut self.known));
        let before = known.clone();
        let looked = files::blocking(move || Ok(look(&patterns, &known))).await;
        let (now, mut errors) = match looked {
            Ok(looked) => looked,
            Err(reason) => (before.clone(), vec![reason]),
        };
        errors.extend(now.values().filter_map(|file| file.error.clone()));
        let is_same = now.len() == before.len()
            && now
                .iter()
                .zip(&before)
                .all(|((path, file), (other, old))| path == other && file.groups == old.groups);
        let groups =
            (!is_same || self.is_first).then(|| now.values().flat_map(|file| file.groups.clone()).collect());
        self.known = now;
        self.is_first = false;
        Found { groups, error: (!errors.is_empty()).then(|| errors.join("; ")) }
    }
}

fn look(patterns: &[String], known: &BTreeMap<PathBuf, Known>) -> (BTreeMap<PathBuf, Known>, Vec<String>) {
    let (mut now, mut errors) = (BTreeMap::new(), Vec::new());
    for pattern in patterns {
        match paths(pattern) {
            Ok(paths) => {
                for path in paths {
                    let file = read(&path, known.get(&path));
                    now.insert(path, file);
                }
            }
            Err(reason) => errors.push(format!("{pattern}: {reason}")),
        }
    }
    (now, errors)
}

/// Files that fit a pattern, whose last part may have one `*`.
fn paths(pattern: &str) -> Result<Vec<PathBuf>, String> {
    let path = Path::new(pattern);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((before, after)) = name.split_once('*') else {
        // A file that is not there yet is no error: whoever writes targets comes later.
        return Ok(if path.exists() { vec![path.to_owned()] } else { Vec::new() });
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    let fits = |name: &str| {
        name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| !name.starts_with('.') && fits(name)))
        .map(|entry| entry.path())
        .take(limits::FILES_MAX + 1)
        .collect();
    if paths.len() > limits::FILES_MAX {
        return Err(format!("names more than {} files", limits::FILES_MAX));
    }
    paths.sort_unstable();
    Ok(paths)
}

fn read(path: &Path, known: Option<&Known>) -> Known {
    let stamp = std::fs::metadata(path).map(|metadata| (metadata.modified().ok(), metadata.len())).ok();
    if let Some(known) = known
        && known.stamp == stamp
        && stamp.is_some_and(is_settled)
    {
        return known.clone();
    }
    let text = files::read_regular(path, limits::TEXT_BYTES_MAX);
    match text.and_then(|text| read_groups(&text)) {
        Ok(mut groups) => {
            for group in &mut groups {
                group.labels.insert("__meta_filepath".to_owned(), path.display().to_string());
            }
            Known { stamp, groups, error: None }
        }
        Err(reason) => Known {
            stamp,
            groups: known.map(|known| known.groups.clone()).unwrap_or_default(),
            error: Some(format!("{}: {reason}", path.display())),
        },
    }
}

/// Whether a change after the stamp would have another stamp: file systems count in steps of up to two seconds.
fn is_settled((modified, _): Stamp) -> bool {
    modified.and_then(|at| at.elapsed().ok()).is_some_and(|age| age.as_secs() >= 3)
}

//! Reads profile files into memory: says what a file is by its bytes, not by its name.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use formats::{
    DecodeError, DecodeErrorKind, Decoded, Decoder, Limits, Measure, SniffedFormat, SpeedscopeUnit,
    sniff_inside,
};
use profile::{
    Altered, AlteredReason, LabelSet, Profile, ProfileType, SERVICE_NAME, SeriesType, Temporality, Timestamp,
    TypedColumn,
};
use store::{MemoryDataset, NewProfile};

use crate::{failure::Failure, output, progress::Progress};

/// Name of profiles from files, where no route and no client has said one.
pub const PROFILE_NAME: &str = "profile";

/// What was learnt from the first file of a side.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Profile type of each value column.
    pub types: Vec<ProfileType>,
    /// The column shown where nothing is asked for: pprof's default sample type, else the last.
    pub default: usize,
}

/// Reads files into one dataset whose `service_name` is `side`.
///
/// # Errors
/// For a file that cannot be read or decoded: names it and says why.
pub fn load(paths: &[PathBuf], side: &str, format: FileFormat) -> Result<(MemoryDataset, Columns), Failure> {
    let mut dataset = MemoryDataset::new(side);
    let mut decoder = Decoder::new();
    let limits = limits();
    let mut first: Option<Columns> = None;
    let labels = LabelSet::from_pairs([(SERVICE_NAME, side)])
        .map_err(|error| Failure::Failed(format!("cannot label {side}: {error}")))?;
    let progress = Progress::of_files("reading", paths.len());
    for path in paths {
        let body = read(path)?;
        let mut altered = Altered::default();
        each_profile(&mut decoder, &body, &limits, format, |profile, decoded, index| {
            altered.merge(&decoded.altered);
            first.get_or_insert_with(|| columns(&profile));
            let new = NewProfile {
                tenant: &profile::Tenant::anonymous(),
                labels: labels.clone(),
                name: PROFILE_NAME,
                temporality: Temporality::Delta,
                profile,
                // profiles of one file have one text, and are told apart by where it is begun
                digest_bytes: profile.text.get(index..).unwrap_or_default(),
                time: Timestamp(profile.columns.header.time_nanos),
                time_is_stated: true,
                id: None,
            };
            dataset.add(&new).map_err(|error| error.to_string())?;
            Ok(())
        })
        .map_err(|reason| Failure::Failed(format!("{}: {reason}", shown(path))))?;
        tell_altered(path, &altered);
        progress.step();
    }
    progress.finish();
    let first = first.ok_or_else(|| Failure::Usage("give at least one file".into()))?;
    Ok((dataset, first))
}

/// The usual limits: a file that a server would refuse is refused here in the same words.
fn limits() -> Limits {
    Limits::default()
}

/// The bytes of a file, or of stdin for `-`. No more is read than a server would take, plus one byte: devices and pipes
/// have no end.
///
/// # Errors
/// When they cannot be read or are too many.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let limit = limits().body_bytes_max;
    let result = if path == Path::new("-") {
        read_at_most(io::stdin().lock(), limit, 0)
    } else if path.is_dir() {
        return Err(Failure::Failed(format!("{} is a folder; name the profile files in it", shown(path))));
    } else {
        File::open(path).and_then(|file| {
            let stated = file.metadata().map_or(0, |metadata| metadata.len());
            read_at_most(file, limit, usize::try_from(stated).unwrap_or(usize::MAX))
        })
    };
    match result {
        Ok(Some(body)) => Ok(body),
        Ok(None) => Err(Failure::Failed(format!("{} has more than {limit} bytes (the limit)", shown(path)))),
        Err(error) => Err(Failure::Failed(format!("cannot read {}: {error}", shown(path)))),
    }
}

/// All bytes of a reader, or `None` where they are more than `limit`. `stated` is how many there may be.
fn read_at_most(reader: impl Read, limit: usize, stated: usize) -> io::Result<Option<Vec<u8>>> {
    if stated > limit {
        return Ok(None);
    }
    let mut body = Vec::with_capacity(stated);
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(most).read_to_end(&mut body)?;
    Ok((body.len() <= limit).then_some(body))
}

/// A file for people.
#[must_use]
pub fn shown(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() }
}

/// What a file is said to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum FileFormat {
    /// What its bytes say: pprof, folded stacks or speedscope.
    #[default]
    Auto,
    /// pprof.
    Pprof,
    /// Folded stacks, `root;leaf 42`.
    Folded,
    /// One stack per line.
    Lines,
    /// Pyroscope's trie.
    Trie,
    /// Pyroscope's tree.
    Tree,
    /// A speedscope file.
    Speedscope,
}

impl FileFormat {
    /// The format itself where it was left to the bytes.
    ///
    /// # Errors
    /// What the bytes are where nothing reads them.
    fn of(self, body: &[u8]) -> Result<Self, String> {
        if self != Self::Auto {
            return Ok(self);
        }
        match sniff_inside(body) {
            SniffedFormat::Text => Ok(Self::Folded),
            SniffedFormat::Json => Ok(Self::Speedscope),
            SniffedFormat::GoTrace => {
                Err("is a Go execution trace, which has no call tree; open it with go tool trace".into())
            }
            SniffedFormat::GoTextDump => {
                Err("is a profile written out as text; fetch it without debug=1 or debug=2".into())
            }
            SniffedFormat::Jfr => Err("is a JFR recording, which is not read yet".into()),
            _ => Ok(Self::Pprof),
        }
    }

    /// The word of the native API; `None` where that tells it by the bytes as well.
    #[must_use]
    pub fn pushed_as(self, body: &[u8]) -> Option<&'static str> {
        match self.of(body).ok()? {
            Self::Auto | Self::Pprof => None,
            Self::Folded => Some("folded"),
            Self::Lines => Some("lines"),
            Self::Trie => Some("trie"),
            Self::Tree => Some("tree"),
            Self::Speedscope => Some("speedscope"),
        }
    }
}

/// Decodes all profiles of a file: one, but for speedscope, which holds any number.
///
/// # Errors
/// Why the bytes are no profile, or what `take` says.
fn each_profile(
    decoder: &mut Decoder,
    body: &[u8],
    limits: &Limits,
    format: FileFormat,
    mut take: impl FnMut(Profile<'_>, Decoded, usize) -> Result<(), String>,
) -> Result<(), String> {
    if body.is_empty() {
        return Err("is empty".into());
    }
    let counted = Measure::plain("samples", "count");
    let (profile, decoded) = match format.of(body)? {
        FileFormat::Auto | FileFormat::Pprof => decode(decoder, body, limits)?,
        FileFormat::Folded => decoder.folded(body, counted, limits).map_err(said)?,
        FileFormat::Lines => decoder.lines(body, counted, limits).map_err(said)?,
        FileFormat::Trie => decoder.trie(body, counted, limits).map_err(said)?,
        FileFormat::Tree => decoder.tree(body, counted, limits).map_err(said)?,
        FileFormat::Speedscope => {
            let mut file = decoder.speedscope(body, limits).map_err(said)?;
            if file.is_empty() {
                return Err("has no profile in it".into());
            }
            for index in 0..file.len() {
                let measure = match file.unit(index) {
                    SpeedscopeUnit::None => counted,
                    SpeedscopeUnit::Time { .. } => Measure::plain("wall", "nanoseconds"),
                    SpeedscopeUnit::Bytes => Measure::plain("space", "bytes"),
                };
                let (profile, decoded) = file.decode(index, measure, limits).map_err(said)?;
                take(profile, decoded, index)?;
            }
            return Ok(());
        }
    };
    take(profile, decoded, 0)
}

fn said(error: DecodeError) -> String {
    match error.kind {
        // A text has no field to name.
        DecodeErrorKind::Malformed if error.field == "line" => {
            format!("is no profile that can be read: {}", error.reason)
        }
        DecodeErrorKind::Malformed => format!("is no profile that can be read: {error}"),
        _ => error.to_string(),
    }
}

/// Decodes pprof.
///
/// # Errors
/// Why the bytes are no profile.
pub fn decode<'a>(
    decoder: &'a mut Decoder,
    body: &'a [u8],
    limits: &Limits,
) -> Result<(Profile<'a>, Decoded), String> {
    decoder.pprof(body, limits).map_err(|error| {
        let is_known = match sniff_inside(body) {
            SniffedFormat::Unknown => false,
            // What is inside is nothing known, unless it could not be unpacked.
            SniffedFormat::Gzip | SniffedFormat::Zstd => matches!(error.field.as_str(), "gzip" | "zstd"),
            _ => true,
        };
        if is_known { said(error) } else { format!("is neither pprof nor folded stacks ({error})") }
    })
}

/// Types of the columns and which one is shown by default.
pub fn columns(profile: &Profile<'_>) -> Columns {
    let columns = profile.columns;
    let text = |index| profile.text_of(index).into_owned();
    let period = columns.header.period_type;
    let series = SeriesType {
        name: PROFILE_NAME.into(),
        period_type: period.map(|of| text(of.kind)).unwrap_or_default(),
        period_unit: period.map(|of| text(of.unit)).unwrap_or_default(),
        columns: columns
            .sample_types
            .iter()
            .map(|typed| TypedColumn { sample_type: text(typed.kind), sample_unit: text(typed.unit) })
            .collect(),
    };
    let wanted = text(columns.header.default_sample_type);
    let last = series.columns.len().saturating_sub(1);
    let named = series.columns.iter().position(|column| column.sample_type == wanted);
    Columns {
        default: named.unwrap_or(last),
        types: (0..series.columns.len()).filter_map(|column| series.profile_type(column)).collect(),
    }
}

/// Says what was left out or changed. Samples of value 0 and a missing time change no answer.
pub fn tell_altered(path: &Path, altered: &Altered) {
    let counts: Vec<String> = altered
        .sorted()
        .into_iter()
        .filter(|(reason, _)| !matches!(reason, AlteredReason::ZeroValue | AlteredReason::NoTime))
        .map(|(reason, count)| format!("{}={count}", reason.word()))
        .collect();
    if !counts.is_empty() {
        output::say(&format!("{}: altered while reading: {}", shown(path), counts.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn no_more_is_read_than_the_limit_and_one_byte() {
        struct Counted(usize);
        impl Read for Counted {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0 += buffer.len();
                buffer.fill(0);
                Ok(buffer.len())
            }
        }
        let mut endless = Counted(0);
        assert_eq!(read_at_most(&mut endless, 1_000, 0).unwrap(), None);
        assert_eq!(endless.0, 1_001);
        assert_eq!(read_at_most(&mut endless, 1_000, 1_001).unwrap(), None);
        assert_eq!(endless.0, 1_001, "nothing is read where the size says enough");
        assert_eq!(read_at_most(&b"abc"[..], 3, 0).unwrap().as_deref(), Some(&b"abc"[..]));
        assert_eq!(read_at_most(&b"abcd"[..], 3, 0).unwrap(), None);
    }

    #[test]
    fn a_device_without_an_end_is_a_sentence() {
        let error = read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(error, "/dev/zero has more than 67108864 bytes (the limit)");
    }

    #[test]
    fn folded_stacks_are_read_by_their_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stacks");
        fs::write(&path, "main;work 3\nmain;rest 1\n").unwrap();
        let (_, columns) = load(&[path], "left", FileFormat::Auto).unwrap();
        assert_eq!(columns.types[columns.default].to_string(), "profile:samples:count::");
    }

    #[test]
    fn speedscope_files_are_read_by_their_bytes_and_trees_by_their_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let profile = r#"{"type":"sampled","unit":"milliseconds","name":"t","samples":[[0]],"weights":[2]}"#;
        let text = format!(
            r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[{profile},{profile}],"shared":{{"frames":[{{"name":"f"}}]}}}}"#
        );
        let tree = b"\x00\x00\x01\x01a\x00\x02\x01b\x01\x00\x01c\x02\x00";
        for (body, format, typed, total) in [
            (text.as_bytes().to_vec(), FileFormat::Auto, "profile:wall:nanoseconds::", 4_000_000),
            (formats::gzip(text.as_bytes()), FileFormat::Auto, "profile:wall:nanoseconds::", 4_000_000),
            (tree.to_vec(), FileFormat::Tree, "profile:samples:count::", 3),
            (tree.to_vec(), FileFormat::Trie, "profile:samples:count::", 3),
        ] {
            fs::write(&path, body).unwrap();
            let (_, columns) = load(std::slice::from_ref(&path), "left", format).unwrap();
            assert_eq!(columns.types[columns.default].to_string(), typed);
            let values = super::super::ValueArguments { file_format: format, ..Default::default() };
            let local = crate::source::Local::open(&[std::slice::from_ref(&path)], &values).unwrap();
            assert_eq!(local.top().unwrap().data.total, total);
        }
    }

    #[test]
    fn a_file_that_is_no_profile_is_a_sentence_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for (name, body, word) in [
            ("trace.out", &b"go 1.22 trace\0\0\0"[..], "go tool trace"),
            ("dump.txt", &b"goroutine 1 [running]:\nmain.main()\n"[..], "debug=2"),
            ("a.jfr", &b"FLR\0\0\x02\0\0"[..], "JFR"),
            ("b.bin", &b"\xff\xfe\xfd\x00\x01"[..], ""),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, body).unwrap();
            let error = load(std::slice::from_ref(&path), "left", FileFormat::Auto)
                .map(|_| ())
                .unwrap_err()
                .to_string();
            assert!(error.contains(name) && error.contains(word), "{error}");
        }
        let folder_error =
            load(&[folder.path().into()], "left", FileFormat::Auto).map(|_| ()).unwrap_err().to_string();
        assert!(folder_error.contains("is a folder"), "{folder_error}");
    }
}

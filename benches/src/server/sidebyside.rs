//! The shared load generator: builds it, lets it draw sets and push them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;
use testkit::LoadProfile;

use crate::{BenchError, clock::children_seconds, set::sets_folder};

/// The built generator.
pub struct SideBySide {
    program: PathBuf,
    corpus: PathBuf,
}

/// What `push` says at its end.
pub struct Pushed {
    /// Profiles acknowledged.
    pub ok: u64,
    /// Profiles sent.
    pub sent: u64,
    /// First error, if there was one.
    pub error: Option<String>,
    /// How long it took, seconds.
    pub seconds: f64,
    /// Median and 99th percentile of the time to an answer as the client sees it, ms.
    pub p50_ms: f64,
    /// See there.
    pub p99_ms: f64,
}

/// What `query` says of one query.
pub struct Queried {
    /// Its name.
    pub name: String,
    /// CPU of the server each, ms.
    pub cpu_ms: f64,
    /// Median of the time to the last byte, ms.
    pub p50_ms: f64,
    /// Bytes of an answer.
    pub reply_bytes: u64,
    /// What went wrong, if anything did.
    pub fault: Option<String>,
}

/// A drawn set on disk.
pub struct DrawnSet {
    folder: PathBuf,
    entries: Vec<Value>,
}

impl SideBySide {
    /// Builds the generator; `None` where the shared folder or Go is missing, with a line that says so.
    ///
    /// # Errors
    /// When it is there and does not build.
    pub fn build() -> Result<Option<Self>, BenchError> {
        let Some(shared) = testkit::shared_dir() else {
            println!("bench-server: skipped, there is no shared folder beside the checkout");
            return Ok(None);
        };
        if Command::new("go").arg("version").stdout(Stdio::null()).status().is_err() {
            println!("bench-server: skipped, there is no Go on this machine");
            return Ok(None);
        }
        let program = sets_folder()?.join("sidebyside");
        fs::create_dir_all(sets_folder()?)?;
        let source = fs::canonicalize(shared.join("bench"))?;
        let mut build = Command::new("go");
        build.args(["build", "-p", "2", "-o"]).arg(&program).arg(".").current_dir(source);
        if !status_of(&mut build)? {
            return Err("sidebyside does not build".into());
        }
        Ok(Some(Self { program, corpus: fs::canonicalize(shared.join("corpus"))? }))
    }

    /// Draws a set, or takes the one that is there.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn set(&self, name: &str, kind: &str, further: &[&str]) -> Result<DrawnSet, BenchError> {
        let folder = sets_folder()?.join(format!("sidebyside-{name}"));
        if !folder.join("manifest.jsonl").is_file() {
            if folder.exists() {
                fs::remove_dir_all(&folder)?;
            }
            eprintln!("bench-server: drawing set {name}");
            let mut command = Command::new(&self.program);
            command
                .args(["gen", "-set", kind, "-corpus"])
                .arg(&self.corpus)
                .arg("-out")
                .arg(&folder)
                .args(further);
            command.stdout(Stdio::null());
            if !status_of(&mut command)? {
                return Err(format!("sidebyside gen -set {kind} failed").into());
            }
        }
        let manifest = fs::read_to_string(folder.join("manifest.jsonl"))?;
        let entries = manifest.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(DrawnSet { folder, entries })
    }

    /// Pushes a set as fast as [`CONNECTIONS`] allow, over `PusherService/Push`.
    ///
    /// # Errors
    /// When the generator cannot be run or says nothing.
    pub fn push(&self, set: &DrawnSet, url: &str) -> Result<Pushed, BenchError> {
        self.push_with(set, url, &[])
    }

    /// The same with further flags.
    ///
    /// # Errors
    /// See [`SideBySide::push`].
    pub fn push_with(&self, set: &DrawnSet, url: &str, further: &[&str]) -> Result<Pushed, BenchError> {
        let output = Command::new(&self.program)
            .args(["push", "-wire", "push", "-c", CONNECTIONS, "-url", url, "-set"])
            .arg(&set.folder)
            .args(further)
            .stderr(Stdio::inherit())
            .output()?;
        let said: Value = serde_json::from_slice(&output.stdout)?;
        let number = |name: &str| said.get(name).and_then(Value::as_u64).unwrap_or(0);
        let error = said
            .get("errors")
            .and_then(Value::as_object)
            .and_then(|errors| errors.iter().next().map(|(status, text)| format!("{status}: {text}")));
        let real = |name: &str| said.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        Ok(Pushed {
            ok: number("ok"),
            sent: number("sent"),
            error,
            seconds: real("seconds"),
            p50_ms: real("p50_ms"),
            p99_ms: real("p99_ms"),
        })
    }

    /// Runs some of Pyroscope's queries, each `runs` times after one that is not measured.
    ///
    /// # Errors
    /// When the generator cannot be run or one of the queries is missing from what it says.
    pub fn query(
        &self,
        url: &str,
        process: u32,
        selector: &str,
        runs: usize,
        names: &[&str],
    ) -> Result<Vec<Queried>, BenchError> {
        let output = Command::new(&self.program)
            .args(["query", "-wire", "pyroscope", "-url", url, "-selector", selector])
            .args(["-pid", &process.to_string(), "-k", &runs.to_string(), "-only", &names.join(",")])
            .stderr(Stdio::inherit())
            .output()?;
        let lines = String::from_utf8(output.stdout)?;
        let said: Vec<Value> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        names
            .iter()
            .map(|name| {
                let one = said.iter().find(|one| one.get("query").and_then(Value::as_str) == Some(name));
                let one = one.ok_or_else(|| format!("sidebyside says nothing of {name}"))?;
                let real = |field: &str| one.get(field).and_then(Value::as_f64).unwrap_or(0.0);
                let error = one.get("error").and_then(Value::as_str);
                let failed = real("ok") < real("runs");
                Ok(Queried {
                    name: (*name).to_owned(),
                    cpu_ms: real("cpu_ms"),
                    p50_ms: real("p50_ms"),
                    reply_bytes: one.get("reply_bytes").and_then(Value::as_u64).unwrap_or(0),
                    fault: failed.then(|| format!("some failed: {}", error.unwrap_or("no reason given"))),
                })
            })
            .collect()
    }
}

/// As many as the peers' figures were measured with.
const CONNECTIONS: &str = "64";

impl DrawnSet {
    /// Number of profiles.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Rows of all profiles.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.sum("rows")
    }

    /// Bytes of all profiles before compression.
    #[must_use]
    pub fn raw_bytes(&self) -> u64 {
        self.sum("raw_bytes")
    }

    fn sum(&self, field: &str) -> u64 {
        self.entries.iter().filter_map(|entry| entry.get(field)?.as_u64()).sum()
    }

    /// CPU seconds of one `gzip -dc` over all bodies.
    ///
    /// # Errors
    /// When gzip cannot be run.
    pub fn gzip_seconds(&self) -> Result<f64, BenchError> {
        let before = children_seconds()?;
        let mut command = Command::new("gzip");
        command.arg("-dc").args(self.entries.iter().filter_map(|entry| entry.get("file")?.as_str()));
        command.current_dir(&self.folder).stdout(Stdio::null());
        if !status_of(&mut command)? {
            return Err("gzip -dc failed".into());
        }
        Ok(children_seconds()? - before)
    }

    /// All profiles, ready to be sent to the native API, moved so that the set ends now.
    ///
    /// # Errors
    /// When a body cannot be read.
    pub fn profiles(&self) -> Result<Vec<LoadProfile>, BenchError> {
        let now =
            i64::try_from(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_nanos())?;
        self.entries.iter().map(|entry| one_profile(&self.folder, entry, now)).collect()
    }
}

fn one_profile(folder: &Path, entry: &Value, now: i64) -> Result<LoadProfile, BenchError> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).ok_or("a manifest line lacks a field");
    let number = |name: &str| entry.get(name).and_then(Value::as_i64).ok_or("a manifest line lacks a number");
    let mut body = fs::read(folder.join(text("file")?))?;
    let head_crc = u32::try_from(number("head_crc")?)?;
    set_time(&mut body, head_crc, now + number("offset_ns")?).ok_or("a body is too short")?;
    let labels = entry.get("labels").and_then(Value::as_object).ok_or("a manifest line has no labels")?;
    let mut query = String::new();
    for (name, value) in labels {
        let value = value.as_str().ok_or("a label is no text")?;
        query.push_str(&match name.as_str() {
            "service_name" => format!("&service={value}"),
            "__name__" => format!("&name={value}"),
            _ => format!("&label={}", testkit::encoded(&format!("{name}={value}"))),
        });
    }
    let value = entry.get("totals").and_then(|totals| totals.get("cpu/nanoseconds")?.as_i64()).unwrap_or(0);
    Ok(LoadProfile { query: query.trim_start_matches('&').to_owned(), body, value })
}

/// Changes the time of a body: sets end in a stored block that holds only the time field, its tag and nine bytes,
/// before the trailer of checksum and length.
fn set_time(body: &mut [u8], head_crc: u32, nanos: i64) -> Option<()> {
    const FIELD: usize = 10;
    let start = body.len().checked_sub(FIELD + 8)?;
    let field = body.get_mut(start..start + FIELD)?;
    field[0] = 9 << 3;
    let mut rest = nanos.cast_unsigned();
    for byte in &mut field[1..] {
        *byte = (rest & 0x7f) as u8 | 0x80;
        rest >>= 7;
    }
    field[FIELD - 1] &= 0x7f;
    let crc = field.iter().fold(!head_crc, |crc, &byte| {
        (0..8).fold(
            crc ^ u32::from(byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    });
    let trailer = body.len() - 8;
    body[trailer..trailer + 4].copy_from_slice(&(!crc).to_le_bytes());
    Some(())
}

fn status_of(command: &mut Command) -> Result<bool, BenchError> {
    Ok(command.status().map_err(|error| format!("{}: {error}", command.get_program().display()))?.success())
}

//! Generated sets, kept beside the build so that they are drawn once.
//!
//! A set is one file of gzip members, one per profile, so that `gzip -dc` reads all of them in one process, and an
//! index with one line per profile.

use std::{
    fmt::Write as _,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use profile::{LabelSet, Profile, Temporality, Tenant, Timestamp};
use store::NewProfile;
use testkit::{Fleet, FleetOptions};

/// To be raised when the generator changes, so that old files are not taken for new ones.
const GENERATION: u32 = 2;

/// One profile of a set.
pub struct SetProfile {
    /// Labels with `service_name`, without `__name__`.
    pub labels: LabelSet,
    /// Profile name.
    pub name: String,
    /// Start, ns since the epoch.
    pub time_nanos: i64,
    /// Rows.
    pub rows: usize,
    /// Bytes before compression.
    pub raw_bytes: usize,
    start: usize,
    end: usize,
}

impl SetProfile {
    /// This profile, decoded, as it is pushed.
    pub fn pushed<'a>(&'a self, tenant: &'a Tenant, decoded: Profile<'a>) -> NewProfile<'a> {
        NewProfile {
            tenant,
            labels: self.labels.clone(),
            name: &self.name,
            temporality: Temporality::Delta,
            profile: decoded,
            digest_bytes: decoded.text,
            time: Timestamp(self.time_nanos),
            time_is_stated: true,
            id: None,
        }
    }
}

/// A generated set in memory.
pub struct Set {
    /// The file of all bodies.
    pub file: PathBuf,
    /// All profiles in the order of time.
    pub profiles: Vec<SetProfile>,
    bytes: Vec<u8>,
}

impl Set {
    /// Loads a set, or draws it if this build folder does not have it yet.
    ///
    /// # Errors
    /// When files cannot be written or read.
    pub fn load(name: &str, options: &FleetOptions) -> io::Result<Self> {
        let folder = sets_folder()?.join(format!("{name}-{GENERATION}"));
        if !folder.join("index").is_file() {
            eprintln!("bench: drawing set {name}");
            draw(&folder, options)?;
        }
        let file = folder.join("bodies.gz");
        let bytes = fs::read(&file)?;
        let index = fs::read_to_string(folder.join("index"))?;
        let mut profiles = Vec::new();
        let mut start = 0;
        for line in index.lines() {
            let profile =
                parse(line, start).ok_or_else(|| io::Error::other(format!("damaged index: {line}")))?;
            start = profile.end;
            profiles.push(profile);
        }
        if start != bytes.len() {
            return Err(io::Error::other(format!(
                "{}: delete it, it does not fit its index",
                folder.display()
            )));
        }
        Ok(Self { file, profiles, bytes })
    }

    /// The gzip body of a profile.
    #[must_use]
    pub fn body(&self, profile: &SetProfile) -> &[u8] {
        &self.bytes[profile.start..profile.end]
    }

    /// Bytes of all bodies.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of all bodies before compression.
    #[must_use]
    pub fn raw_bytes(&self) -> usize {
        self.profiles.iter().map(|profile| profile.raw_bytes).sum()
    }
}

/// `target/bench-sets`: beside the program that runs.
///
/// # Errors
/// When the program's own path is not known.
pub fn sets_folder() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(2).ok_or_else(|| io::Error::other("no build folder"))?;
    Ok(target.join("bench-sets"))
}

fn draw(folder: &Path, options: &FleetOptions) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut bodies = io::BufWriter::new(fs::File::create(folder.join("bodies.gz"))?);
    let mut index = String::new();
    for drawn in Fleet::new(options.clone()) {
        bodies.write_all(&drawn.body)?;
        let labels: Vec<String> =
            drawn.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        _ = writeln!(
            index,
            "{}\t{}\t{}\t{}\t{}",
            drawn.body.len(),
            drawn.raw_bytes,
            drawn.rows,
            drawn.time_nanos,
            labels.join(",")
        );
    }
    bodies.flush()?;
    // The index last: a set without one is drawn again.
    fs::write(folder.join("index"), index)
}

fn parse(line: &str, start: usize) -> Option<SetProfile> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [length, raw_bytes, rows, time_nanos, labels] = fields.as_slice() else { return None };
    let mut pairs: Vec<(&str, &str)> = labels.split(',').filter_map(|pair| pair.split_once('=')).collect();
    let name = pairs.iter().find(|(label, _)| *label == "__name__").map(|(_, value)| (*value).to_owned())?;
    pairs.retain(|(label, _)| *label != "__name__");
    Some(SetProfile {
        labels: LabelSet::from_pairs(pairs).ok()?,
        name,
        time_nanos: time_nanos.parse().ok()?,
        rows: rows.parse().ok()?,
        raw_bytes: raw_bytes.parse().ok()?,
        start,
        end: start + length.parse::<usize>().ok()?,
    })
}

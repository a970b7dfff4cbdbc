//! Finds the files of the built page and writes the table of them. Used by the build script; here it is tested.
//!
//! Two traps that it goes around. Cargo runs a build script at every call when a path that it is to watch is missing, so
//! only paths that are there are named; `ui/dist` itself is kept in git. And a file that vanishes after it was listed
//! would break the build, so files are copied first and the copies are included.
//!
//! It passes over files that begin with a dot, and over a build that has no `BUILD` file: that is written last, so the
//! build stopped half-way.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

/// Forms of one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Forms {
    /// As it is.
    pub plain: Option<PathBuf>,
    /// The `.gz` beside it.
    pub gzip: Option<PathBuf>,
    /// The `.br` beside it.
    pub brotli: Option<PathBuf>,
}

/// The built page.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// Content of `BUILD`.
    pub build: String,
    /// Files by their path below the page's base, with `/` between the parts.
    pub files: BTreeMap<String, Forms>,
}

/// Where the page is below `ui/dist`.
const APP: &str = "app";

/// The file that is written last.
const BUILD: &str = "BUILD";

/// Paths to watch, all of which exist.
pub fn watched(dist: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    if dist.is_dir() {
        paths.push(dist.to_owned());
        if dist.join(APP).is_dir() {
            paths.extend(files_below(&dist.join(APP))?);
        }
    }
    Ok(paths)
}

/// The page, or `None` where none was built.
pub fn page(dist: &Path) -> io::Result<Option<Page>> {
    let app = dist.join(APP);
    if !app.join(BUILD).is_file() {
        return Ok(None);
    }
    let build = fs::read_to_string(app.join(BUILD))?.trim().to_owned();
    let mut files: BTreeMap<String, Forms> = BTreeMap::new();
    for path in files_below(&app)? {
        let below = path.strip_prefix(&app).map_err(io::Error::other)?;
        let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
        let name = parts.join("/");
        if name == BUILD {
            continue;
        }
        if let Some(base) = name.strip_suffix(".gz") {
            files.entry(base.to_owned()).or_default().gzip = Some(path);
        } else if let Some(base) = name.strip_suffix(".br") {
            files.entry(base.to_owned()).or_default().brotli = Some(path);
        } else {
            files.entry(name).or_default().plain = Some(path);
        }
    }
    // A packed form alone belongs to a file that is gone.
    files.retain(|_, forms| forms.plain.is_some());
    Ok(Some(Page { build, files }))
}

/// All files below a folder that do not begin with a dot, sorted.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            match entry.file_type()? {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Rust that names all files, which are copied to a folder first.
pub fn source(page: &Option<Page>, copies: &Path) -> io::Result<String> {
    let mut text = String::from("// Written by the build script of ui-assets.\n");
    let none = BTreeMap::new();
    let (build, files) = page.as_ref().map_or(("", &none), |page| (page.build.as_str(), &page.files));
    let _ = writeln!(text, "pub const HAVE_UI: bool = {};", page.is_some());
    let _ = writeln!(text, "pub const BUILD: &str = {build:?};");
    text.push_str("pub static ASSETS: &[Asset] = &[\n");
    for (position, (name, forms)) in files.iter().enumerate() {
        let plain = forms.plain.as_deref().map(fs::read).transpose()?.unwrap_or_default();
        let include = |form: &Option<PathBuf>, ending: &str| -> io::Result<Option<String>> {
            let Some(path) = form else { return Ok(None) };
            let copy = copies.join(format!("{position}.{ending}"));
            fs::copy(path, &copy)?;
            Ok(Some(format!("include_bytes!({:?})", copy.display().to_string())))
        };
        let body = include(&forms.plain, "plain")?.unwrap_or_else(|| "b\"\"".to_owned());
        let optional = |form: Option<String>| form.map_or("None".to_owned(), |form| format!("Some({form})"));
        let (gzip, brotli) = (include(&forms.gzip, "gz")?, include(&forms.brotli, "br")?);
        let _ = writeln!(
            text,
            "    Asset {{ path: {name:?}, plain: {body}, gzip: {}, brotli: {}, tag: \"{:016x}\" }},",
            optional(gzip),
            optional(brotli),
            fnv(&plain)
        );
    }
    text.push_str("];\n");
    Ok(text)
}

/// A hash that tells two builds of one file apart (FNV-1a).
pub fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

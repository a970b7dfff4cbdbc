//! What is found, what is passed over, and that the program holds what was built last.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{ASSETS, BUILD, HAVE_UI, collect};

/// A folder of this test alone, gone at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("everflame-ui-assets-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("dist")).unwrap();
        Self(path)
    }

    fn dist(&self) -> PathBuf {
        self.0.join("dist")
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.dist().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn without_a_build_there_is_no_page_and_nothing_missing_is_watched() {
    let folder = Folder::new("none");
    assert_eq!(collect::watched(&folder.dist()).unwrap(), [folder.dist()]);
    assert_eq!(collect::page(&folder.dist()).unwrap(), None);
    let gone = folder.0.join("nowhere");
    assert!(collect::watched(&gone).unwrap().is_empty());
    assert_eq!(collect::page(&gone).unwrap(), None);
    let source = collect::source(&None, Path::new("/nowhere")).unwrap();
    assert!(source.contains("HAVE_UI: bool = false"), "{source}");
}

#[test]
fn a_build_that_stopped_half_way_is_none() {
    let folder = Folder::new("half");
    folder.write("app/index.html", "<!doctype html>");
    assert_eq!(collect::page(&folder.dist()).unwrap(), None);
    // It is watched all the same: its rest may come.
    assert!(collect::watched(&folder.dist()).unwrap().contains(&folder.dist().join("app/index.html")));
}

#[test]
fn files_are_found_with_their_packed_forms() {
    let folder = Folder::new("whole");
    for (name, content) in [
        ("app/index.html", "page"),
        ("app/assets/a-1.js", "script"),
        ("app/assets/a-1.js.gz", "gz"),
        ("app/assets/a-1.js.br", "br"),
        ("app/assets/gone.js.gz", "gz"),
        ("app/.hidden", "x"),
        ("app/BUILD", "4711\n"),
        (".gitkeep", ""),
    ] {
        folder.write(name, content);
    }
    let page = collect::page(&folder.dist()).unwrap().unwrap();
    assert_eq!(page.build, "4711");
    assert_eq!(page.files.keys().collect::<Vec<_>>(), ["assets/a-1.js", "index.html"]);
    let script = &page.files["assets/a-1.js"];
    assert!(script.plain.is_some() && script.gzip.is_some() && script.brotli.is_some());
    let copies = folder.0.join("copies");
    fs::create_dir_all(&copies).unwrap();
    let source = collect::source(&Some(page), &copies).unwrap();
    assert!(
        source.contains("path: \"assets/a-1.js\"") && source.contains("BUILD: &str = \"4711\""),
        "{source}"
    );
    // The originals may go now.
    fs::remove_dir_all(folder.dist()).unwrap();
    assert_eq!(fs::read(copies.join("0.plain")).unwrap(), b"script");
}

#[test]
fn the_program_holds_what_was_built_last() {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/dist/app/BUILD");
    let on_disk = fs::read_to_string(built).unwrap_or_default();
    assert_eq!(
        BUILD,
        on_disk.trim(),
        "the page is another one than this crate holds: touch ui/dist, build again"
    );
    assert_eq!(HAVE_UI, !on_disk.is_empty());
    assert_eq!(ASSETS.iter().any(|asset| asset.path == "index.html"), HAVE_UI);
    for asset in ASSETS {
        assert_eq!(asset.tag, format!("{:016x}", collect::fnv(asset.plain)), "{}", asset.path);
    }
}

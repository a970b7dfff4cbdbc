//! Puts the built page into the program, if there is one; the standard library is all that it needs, and a checkout
//! where nothing was built is as good as any other. What it looks for stands in `src/collect.rs`.

#[path = "src/collect.rs"]
#[allow(dead_code, reason = "the crate's tests use the rest")]
mod collect;

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/collect.rs");
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (Some(crate_dir), Some(out_dir)) = (variable("CARGO_MANIFEST_DIR"), variable("OUT_DIR")) else {
        panic!("cargo runs this with CARGO_MANIFEST_DIR and OUT_DIR");
    };
    let dist = crate_dir.join("../../ui/dist");
    if let Err(error) = generate(&dist, &out_dir) {
        panic!("the built page in {} cannot be read: {error}; `make ui` builds it anew", dist.display());
    }
}

fn generate(dist: &Path, out_dir: &Path) -> std::io::Result<()> {
    for path in collect::watched(dist)? {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let page = collect::page(dist)?;
    let copies = out_dir.join("page");
    if copies.exists() {
        std::fs::remove_dir_all(&copies)?;
    }
    std::fs::create_dir_all(&copies)?;
    std::fs::write(out_dir.join("page.rs"), collect::source(&page, &copies)?)
}

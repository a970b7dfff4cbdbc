//! The built web page, inside the program: files of `ui/dist/app` as they were when this crate was compiled.
//!
//! `make ui` builds the page; where that was not done, [`HAVE_UI`] is false and there are no files. Only the standard
//! library is used, and `cargo build` never needs Node.
//!
//! Not here: which path gets which file, and headers (`server`).

#[cfg(test)]
mod collect;
#[cfg(test)]
mod tests;

/// One file.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Path below the page's base, without a slash in front.
    pub path: &'static str,
    /// As it is.
    pub plain: &'static [u8],
    /// Compressed as gzip, where the build did so.
    pub gzip: Option<&'static [u8]>,
    /// Compressed as brotli, where the build did so.
    pub brotli: Option<&'static [u8]>,
    /// Hash of the content, for `ETag`.
    pub tag: &'static str,
}

#[allow(missing_docs, reason = "written by the build script; what it holds is said below")]
mod page {
    use super::Asset;
    include!(concat!(env!("OUT_DIR"), "/page.rs"));
}

/// All files, sorted by path.
pub use page::ASSETS;
/// The hash of all files that the build wrote; empty without a build.
pub use page::BUILD;
/// Whether the page had been built when this crate was compiled.
pub use page::HAVE_UI;

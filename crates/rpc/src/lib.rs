//! Messages and services of other people's RPC, generated from our own `.proto` files in `proto/`.
//!
//! A crate of its own, because it is large and hardly ever changes: `api` is compiled without it. Written by
//! `cargo xtask codegen` and checked in, so that no build needs a compiler for `.proto` files.
//!
//! Not here: what a message means, and anything written by hand.

#[allow(
    warnings,
    missing_docs,
    clippy::all,
    clippy::restriction,
    reason = "generated; see cargo xtask codegen"
)]
mod generated;

pub use generated::*;

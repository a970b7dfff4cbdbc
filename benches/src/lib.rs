//! What the two bench programs share: the form of a figure, clocks, generated sets and bare references.
//!
//! Every figure is measured against a reference in the same run and the same program, on one thread, in CPU time of
//! that thread, best of several rounds: so a busy machine moves value and reference alike. What works on several threads
//! is measured in CPU time of the process. Times on a wall clock are taken only where a limit is one.
//!
//! Not here: tests. A slow machine must never make `make test` fail.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks on its streams")]

pub mod accumulate;
pub mod clock;
pub mod figure;
pub mod figures;
pub mod server;
pub mod set;
pub mod walk;

/// Why a figure could not be measured.
pub type BenchError = Box<dyn std::error::Error>;

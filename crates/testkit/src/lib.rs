//! What tests and benches share: generators, an oracle, faulty disks, golden files. Never part of the program.

mod forgetful;
mod shared;

pub use forgetful::ForgetfulDisk;
pub use shared::{shared_dir, skip_without_shared};

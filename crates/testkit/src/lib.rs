//! What tests and benches share: generators, an oracle, faulty disks, golden files. Never part of the program.

mod bare_walk;
mod fixtures;
pub mod fleet;
mod forgetful;
mod random;
mod shared;

pub use bare_walk::{Walked, bare_walk};
pub use fixtures::{fixture, fixture_path};
pub use fleet::{Fleet, FleetOptions, FleetProfile};
pub use forgetful::ForgetfulDisk;
pub use random::Random;
pub use shared::{shared_dir, skip_without_shared};

//! What tests and benches share: generators, an oracle, faulty disks, golden files. Never part of the program.

mod allocator;
pub mod arbitrary;
mod fixtures;
mod flame_reader;
pub mod fleet;
mod forgetful;
mod fuzz_bodies;
mod fuzz_catalogue;
mod fuzz_log;
mod fuzz_run;
pub mod grafana;
pub mod graphs;
mod load;
mod mutate;
mod oracle;
mod plain;
pub mod proto;
mod random;
pub mod remote_write;
mod shared;
mod tree_bodies;

pub use allocator::{CountingAllocator, peak_of};
pub use arbitrary::OwnedProfile;
pub use fixtures::{fixture, fixture_path};
pub use flame_reader::{FlameDump, FrameDump, NodeDump, RestDump, read_flame};
pub use fleet::{Fleet, FleetOptions, FleetProfile};
pub use forgetful::ForgetfulDisk;
pub use fuzz_bodies::{
    fuzz_block, fuzz_folded, fuzz_inflate, fuzz_limits, fuzz_name, fuzz_pprof, fuzz_speedscope, fuzz_tree,
    fuzz_trie,
};
pub use fuzz_catalogue::fuzz_catalogue;
pub use fuzz_log::{FuzzedLog, fuzz_log, sealed_records};
pub use fuzz_run::FuzzRun;
pub use load::{LoadPlan, LoadProfile, LoadReport, encoded, merged_total, run_load};
pub use mutate::mutate;
pub use oracle::{Oracle, OracleFrame, OracleTable, OracleTree};
pub use plain::{Plain, PlainFrame, PlainLabel, PlainLocation, PlainMapping, PlainSample, PlainType};
pub use random::Random;
pub use shared::{shared_dir, skip_without_shared};
pub use tree_bodies::{Siblings, tree_body, trie_body};

//! What a fuzzer does with one catalogue file; `fuzz/` and the tests of `store` call it (D33).

use std::time::Duration;

use profile::{Tenant, TimeRange, Timestamp};
use store::{StoreError, catalogue_file_of, open_catalogue, retention::Retention};

/// Opens a catalogue of these bytes, as they are and as JSON behind a right checksum, and asks what a start, a query and
/// retention ask of it. Returns how many of the four could be read.
///
/// # Panics
/// When an answer contradicts another one, which is what a fuzzer looks for.
pub fn fuzz_catalogue(bytes: &[u8]) -> usize {
    let kinds = ["edit", "checkpoint"];
    let as_it_is = kinds.map(|kind| open_catalogue(kind, bytes));
    let sealed = kinds.map(|kind| open_catalogue(kind, &catalogue_file_of(kind, bytes)));
    let mut read = 0;
    for opened in as_it_is.into_iter().chain(sealed) {
        let state = match opened {
            Ok(state) => state,
            Err(StoreError::Block(error)) => {
                assert!(error.to_string().starts_with("catalogue/"), "{error} does not name the file");
                continue;
            }
            Err(_) => continue,
        };
        read += 1;
        for block in state.blocks() {
            assert_eq!(state.block(&block.name), Some(block));
            let _ = (block.touches(&Tenant::anonymous(), TimeRange::ALL), block.age_from());
        }
        let unused = state.generation_unused();
        assert!(unused == u64::MAX || !state.is_generation_done(unused));
        for (bytes_max, age_max) in [(0, None), (1, None), (0, Some(Duration::from_secs(1)))] {
            let expired = Retention { bytes_max, age_max }.expired(&state, Timestamp(i64::MAX));
            assert!(expired.len() <= state.blocks().len());
        }
        let _ = (state.block_bytes(), state.tally());
    }
    read
}

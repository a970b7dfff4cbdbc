//! Seeded damage to catalogue files: a start reads them or names the file, within its memory (R1, D33).
//!
//! `EVERFLAME_FUZZ_SEED` and `EVERFLAME_FUZZ_CASES` choose another run; the output names both.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use testkit::{CountingAllocator, FuzzRun, fuzz_catalogue, mutate, peak_of};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const BLOCK: &str = r#"{"name":"blocks/a/1.block","tenant":"a","bytes":18446744073709551615,"generation":3,"time_first":-5,"time_last":9,"data_end":9223372036854775807,"arrived":7,"profiles":2,"rows":3}"#;

fn seeds() -> Vec<Vec<u8>> {
    let second = BLOCK.replace("/1.", "/2.");
    let edit = format!(
        r#"{{"added":[{BLOCK},{second}],"generations_done":[0,1,18446744073709551615],"tally":"tally/1"}}"#
    );
    let checkpoint = format!(
        r#"{{"blocks":{{"blocks/a/1.block":{BLOCK},"blocks/a/2.block":{second}}},"generations_done_below":18446744073709551614,"generations_done":[18446744073709551615]}}"#
    );
    let whole = store::catalogue_file_of("edit", edit.as_bytes());
    vec![edit.into_bytes(), checkpoint.into_bytes(), br#"{"removed":["x"]}"#.to_vec(), whole]
}

/// Numbers at the end of their range once made a start panic, or wrap.
#[test]
fn numbers_at_the_end_of_their_range_are_read() {
    let read: Vec<usize> = seeds().iter().map(|seed| fuzz_catalogue(seed)).collect();
    // A checkpoint's fields mean nothing to an edit, which is then one that changes nothing.
    assert_eq!(read, [1, 2, 0, 1]);
    let state = store::open_catalogue("edit", &seeds()[3]).unwrap();
    assert_eq!((state.block_bytes(), state.generation_unused()), (u64::MAX, u64::MAX));
    assert!(state.is_generation_done(1) && !state.is_generation_done(2));
}

/// Found by the fuzzer: one of the two names was opened, the other one kept its file from being removed as garbage.
#[test]
fn a_checkpoint_whose_block_stands_under_another_name_is_refused() {
    let json = format!(
        r#"{{"blocks":{{"blocks/a/2.block":{BLOCK}}},"generations_done_below":0,"generations_done":[]}}"#
    );
    let file = store::catalogue_file_of("checkpoint", json.as_bytes());
    let error = store::open_catalogue("checkpoint", &file).unwrap_err();
    assert!(error.to_string().contains("under another name"), "{error}");
}

#[test]
fn fuzz_catalogue_files_within_bounds() {
    let run @ FuzzRun { seed, cases } = FuzzRun::begin("catalogue", 20_260_101, 6_000);
    let mut random = run.random(29);
    let seeds = seeds();
    for case in 0..cases {
        let mut input = seeds[random.below(seeds.len())].clone();
        mutate(&mut input, &mut random);
        let (_, peak) = peak_of(|| fuzz_catalogue(&input));
        let limit = 64 * input.len() + (4 << 20);
        assert!(peak <= limit, "case {case} of seed {seed}: {peak} bytes at the peak (at most {limit})");
    }
}

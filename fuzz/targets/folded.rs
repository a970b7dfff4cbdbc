//! libFuzzer's way into `testkit::fuzz_folded` (folded stacks, which Pyroscope also calls groups, and lines), which the tests run on stable Rust as well.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let mut decoder = formats::Decoder::new();
    testkit::fuzz_folded(&mut decoder, body);
});

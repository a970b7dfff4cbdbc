//! libFuzzer's way into `rules::fuzz_rules`, which the tests run on stable Rust as well.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    rules::fuzz_rules(bytes);
});

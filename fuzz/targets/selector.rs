//! libFuzzer's way into `query::fuzz_selector`, which the tests run on stable Rust as well.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    query::fuzz_selector(text);
});

//! libFuzzer's way into `scrape::fuzz_config`, which the tests run on stable Rust as well.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    scrape::fuzz_config(bytes);
});

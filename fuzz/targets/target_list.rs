//! libFuzzer's way into `scrape::fuzz_targets`: what discovery by file and HTTP reads.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    scrape::fuzz_targets(bytes);
});

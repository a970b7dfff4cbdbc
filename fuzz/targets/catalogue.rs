//! libFuzzer's way into `testkit::fuzz_catalogue`: the input as a file, and as JSON behind a right checksum.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    testkit::fuzz_catalogue(bytes);
});

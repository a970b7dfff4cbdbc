//! libFuzzer's way into `testkit::fuzz_name`, which the tests run on stable Rust as well.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|name: &[u8]| {
    testkit::fuzz_name(name);
});

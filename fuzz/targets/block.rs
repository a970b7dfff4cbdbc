//! libFuzzer's way into `testkit::fuzz_block`. Most inputs die at a checksum; `block`'s own tests also damage what lies
//! behind them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let _ = testkit::fuzz_block(body);
});

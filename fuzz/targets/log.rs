//! libFuzzer's way into `testkit::fuzz_log`: the input as a log file, and as records behind right checksums.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let _ = testkit::fuzz_log(body);
    let _ = testkit::fuzz_log(&testkit::sealed_records(body));
});

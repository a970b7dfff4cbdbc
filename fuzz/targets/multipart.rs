//! libFuzzer's way into `api::fuzz::fuzz_multipart`, which the tests run on stable Rust as well.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let whole = api::fuzz::fuzz_multipart("multipart/form-data; boundary=B7x", body, usize::MAX);
    let pieces = api::fuzz::fuzz_multipart("multipart/form-data; boundary=B7x", body, 7);
    assert_eq!(whole.is_ok(), pieces.is_ok());
});

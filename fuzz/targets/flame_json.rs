//! libFuzzer's way into `api::fuzz::fuzz_flame_json`: what can be read is a profile that decodes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if let Ok(pprof) = api::fuzz::fuzz_flame_json(text) {
        let mut decoder = formats::Decoder::new();
        assert!(decoder.pprof(&pprof, &formats::Limits::default()).is_ok());
    }
});

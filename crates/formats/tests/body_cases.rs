//! Cases of the case log that are about what a body is packed in: compression, cut and glued bodies, limits, and what is no
//! profile at all.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

mod support;

use formats::{DecodeErrorKind, Decoder, Limits, gzip};
use support::*;
use testkit::proto::Message;

#[test]
fn c020_text_dump_posted_as_pprof() {
    let dumps = [
        "goroutine 1 [running]:\nmain.main()\n\t/tmp/x.go:5 +0x1d\n",
        "goroutine profile: total 3\n1 @ 0x43 0x44\n",
        "heap profile: 1: 2 [3: 4] @ heap/1048576\n",
    ];
    for dump in dumps {
        for body in [dump.as_bytes().to_vec(), gzip(dump.as_bytes())] {
            let error = decode(&body).unwrap_err();
            assert_eq!(error.kind, DecodeErrorKind::Unsupported);
            assert!(error.reason.contains("looks like a Go text dump; use debug=0"), "{error}");
        }
    }
}

#[test]
fn c021_pprof_uncompressed() {
    let raw = small().encode_to_vec();
    let plain = decode(&raw).unwrap().0;
    assert_eq!(decode(&gzip(&raw)).unwrap().0, plain);
    assert_eq!(decode(&zstd::bulk::compress(&raw, 3).unwrap()).unwrap().0, plain);
    assert_eq!(decode(&gzip(&gzip(&raw))).unwrap().0, plain);
    assert_eq!(decode(&gzip(&gzip(&gzip(&raw)))).unwrap_err().kind, DecodeErrorKind::Unsupported);
}

#[test]
fn c022_gzip_multi_member() {
    let raw = small().encode_to_vec();
    let plain = decode(&raw).unwrap().0;
    let (first, second) = raw.split_at(raw.len() / 2);
    let mut members = [gzip(first), gzip(second)].concat();
    assert_eq!(decode(&members).unwrap().0, plain);
    members.extend_from_slice(&[0; 512]);
    assert_eq!(decode(&members).unwrap().0, plain);
    let padded = [gzip(&raw), vec![0; 3]].concat();
    assert_eq!(decode(&padded).unwrap().0, plain);
    let with_empty_member = [gzip(&[]), gzip(&raw), gzip(&[])].concat();
    assert_eq!(decode(&with_empty_member).unwrap().0, plain);
    let error = decode(&[gzip(&raw), b"rubbish".to_vec()].concat()).unwrap_err();
    assert_eq!(error.field, "gzip");
    assert!(error.reason.contains(&format!("at byte {}", gzip(&raw).len())), "{error}");
}

#[test]
fn two_profiles_glued_together_are_refused() {
    let raw = small().encode_to_vec();
    for body in [[raw.clone(), raw.clone()].concat(), [gzip(&raw), gzip(&raw)].concat()] {
        let error = decode(&body).unwrap_err();
        assert_eq!((error.kind, error.field.as_str()), (DecodeErrorKind::Malformed, "time_nanos"));
        assert!(error.reason.contains("two profiles glued together"), "{error}");
    }
}

#[test]
fn c023_gzip_truncated() {
    let mut body = small();
    for count in 0..2000_u64 {
        string(&mut body, (count.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_string());
    }
    let whole = gzip(&body.encode_to_vec());
    let cut = &whole[..whole.len() * 6 / 10];
    let error = decode(cut).unwrap_err();
    assert_eq!((error.kind, error.field.as_str()), (DecodeErrorKind::Malformed, "gzip"));
    assert_eq!(error.reason, format!("truncated gzip at byte {}", cut.len()));
    let mut wrong_checksum = whole.clone();
    let at = whole.len() - 6;
    wrong_checksum[at] ^= 1;
    let error = decode(&wrong_checksum).unwrap_err();
    assert!(error.reason.starts_with("corrupt gzip at byte "), "{error}");
    let mut damaged = whole.clone();
    damaged[40] ^= 0xff;
    assert_eq!(decode(&damaged).unwrap_err().field, "gzip");
    assert_eq!(decode(&whole[..5]).unwrap_err().reason, "truncated gzip at byte 5");
    let compressed = zstd::bulk::compress(&body.encode_to_vec(), 3).unwrap();
    let error = decode(&compressed[..compressed.len() / 2]).unwrap_err();
    assert_eq!((error.kind, error.field.as_str()), (DecodeErrorKind::Malformed, "zstd"));
}

#[test]
fn limits_of_bodies_are_exact() {
    let raw = small().encode_to_vec();
    let limits = Limits { inflated_bytes_max: raw.len(), ..Limits::default() };
    let less = Limits { inflated_bytes_max: raw.len() - 1, ..Limits::default() };
    let compressed =
        [raw.clone(), gzip(&raw), zstd::bulk::compress(&raw, 3).unwrap(), [gzip(&raw), gzip(&[])].concat()];
    for body in compressed {
        assert!(Decoder::new().pprof(&body, &limits).is_ok());
        assert_eq!(Decoder::new().pprof(&body, &less).unwrap_err().kind, DecodeErrorKind::InflatesTooFar);
        let short = Limits { body_bytes_max: body.len() - 1, ..Limits::default() };
        assert_eq!(Decoder::new().pprof(&body, &short).unwrap_err().field, "body");
    }
}

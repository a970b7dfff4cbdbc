//! What a fuzzer does with one input, per decoder. `fuzz/` calls these with libFuzzer's inputs, the tests of `formats`
//! with seeded mutations (D33).
//!
//! Each gives back how many bytes were read and inflated, so that the caller can hold memory against them (D20).

use std::sync::Arc;

use block::{Block, BlockError, Dataset as _, MemoryFile, NodeSums, Pick, Rows};
use formats::{DecodeErrorKind, Decoder, Limits, Measure, TreeReader, encode_pprof, take_work, write_tree};

use crate::Plain;

/// Steps that a decoder may take per byte read or inflated: three passes over a pprof body, and the finishing loops.
const STEPS_PER_BYTE: u64 = 24;

/// Steps that even an empty body may take.
const STEPS_MIN: u64 = 4096;

/// Steps that undoing a mangled name may take per byte: rules begun, and for each of the bytes that it may stand for two
/// parts walked as C++ and a text written as Rust.
const NAME_STEPS_PER_BYTE: u64 = 8 + 64 * 3;

/// Steps that even the shortest name may take.
const NAME_STEPS_MIN: u64 = 4 << 10;

/// Limits under which bodies are fuzzed: small, so that the limits themselves are met.
#[must_use]
pub fn fuzz_limits() -> Limits {
    Limits {
        body_bytes_max: 1 << 20,
        inflated_bytes_max: 4 << 20,
        stack_depth_max: 64,
        string_bytes_max: 256,
        ..Limits::default()
    }
}

/// Bytes that an input may be charged for: itself, and what it inflates to.
fn charged(decoder: &mut Decoder, body: &[u8], limits: &Limits) -> usize {
    let inflated = match decoder.inflate(body, limits) {
        Ok(inflated) => inflated.bytes.len(),
        // how far it got is not known: as far as the limit
        Err(_) => limits.inflated_bytes_max,
    };
    body.len() + inflated
}

fn assert_bounded(steps: u64, bytes: usize) {
    let limit = STEPS_PER_BYTE * bytes as u64 + STEPS_MIN;
    assert!(steps <= limit, "{steps} steps for {bytes} bytes (at most {limit})");
}

/// Inflating: ends, within its limits.
pub fn fuzz_inflate(decoder: &mut Decoder, body: &[u8]) -> usize {
    let limits = fuzz_limits();
    let _ = take_work();
    let bytes = charged(decoder, body, &limits);
    assert_bounded(take_work(), bytes);
    bytes
}

/// pprof: what is accepted survives a round trip.
pub fn fuzz_pprof(decoder: &mut Decoder, body: &[u8]) -> usize {
    let limits = fuzz_limits();
    let bytes = charged(decoder, body, &limits);
    let _ = take_work();
    let result = decoder.pprof(body, &limits);
    assert_bounded(take_work(), bytes);
    if let Ok((profile, _)) = result {
        let plain = Plain::of(&profile);
        let encoded = encode_pprof(&profile);
        // the marker of a cut stack makes a stack that is exactly as deep as allowed, so nothing is cut again
        let again = Limits { keep_negative: true, ..limits };
        let mut second = Decoder::new();
        match second.pprof(&encoded, &again) {
            Ok((profile, _)) => assert_eq!(Plain::of(&profile), plain),
            // without its unknown fields the body is smaller, and so is what it may use
            Err(error) => assert_eq!(error.kind, DecodeErrorKind::TooLarge, "the round trip failed: {error}"),
        }
    }
    bytes
}

/// Folded stacks and lines: values of what is accepted are positive, stacks within depth.
pub fn fuzz_folded(decoder: &mut Decoder, body: &[u8]) -> usize {
    let limits = fuzz_limits();
    let bytes = charged(decoder, body, &limits);
    for is_lines in [false, true] {
        let _ = take_work();
        let result = if is_lines {
            decoder.lines(body, Measure::plain("samples", "count"), &limits)
        } else {
            decoder.folded(body, Measure::plain("samples", "count"), &limits)
        };
        assert_bounded(take_work(), bytes);
        if let Ok((profile, _)) = result {
            assert_stacks(&profile, &limits);
        }
    }
    bytes
}

/// Trees: samples as for folded stacks; reading and writing the records changes no byte.
pub fn fuzz_tree(decoder: &mut Decoder, body: &[u8]) -> usize {
    let limits = fuzz_limits();
    let bytes = charged(decoder, body, &limits);
    let _ = take_work();
    let result = decoder.tree(body, Measure::plain("samples", "count"), &limits);
    // a record has at least three bytes, and may be the leaf of as deep a stack as is kept
    let records = bytes / 3;
    assert_bounded(take_work(), bytes + records * limits.stack_depth_max);
    if let Ok((profile, _)) = result {
        assert_stacks(&profile, &limits);
    }
    if let Ok(records) = TreeReader::new(body).collect::<Result<Vec<_>, _>>() {
        let written = write_tree(records.iter().copied());
        // numbers may have been written longer than they need to be
        assert!(written.len() <= body.len());
        assert!(TreeReader::new(&written).map(Result::unwrap).eq(records));
    }
    bytes
}

/// Tries: as trees.
pub fn fuzz_trie(decoder: &mut Decoder, body: &[u8]) -> usize {
    let limits = fuzz_limits();
    let bytes = charged(decoder, body, &limits);
    let _ = take_work();
    let result = decoder.trie(body, Measure::plain("samples", "count"), &limits);
    // … and may end as long a name as is kept
    let records = bytes / 3;
    assert_bounded(take_work(), bytes + records * (limits.stack_depth_max + limits.string_bytes_max));
    if let Ok((profile, _)) = result {
        assert_stacks(&profile, &limits);
    }
    bytes
}

/// speedscope files: every profile that decodes has samples as folded stacks have.
pub fn fuzz_speedscope(decoder: &mut Decoder, body: &[u8]) -> usize {
    let limits = fuzz_limits();
    let bytes = charged(decoder, body, &limits);
    let _ = take_work();
    let mut profiles = 0;
    if let Ok(mut file) = decoder.speedscope(body, &limits) {
        profiles = file.len();
        for index in 0..profiles {
            let _ = (file.name(index), file.unit(index).word());
            if let Ok((profile, _)) = file.decode(index, Measure::plain("samples", "count"), &limits) {
                assert_stacks(&profile, &limits);
            }
        }
    }
    // an event has at least eight bytes, and may be the leaf of as deep a stack as is kept; each profile may name every
    // frame again
    let events = bytes / 8;
    assert_bounded(take_work(), bytes * (1 + profiles) + events * limits.stack_depth_max);
    bytes
}

/// One value above zero per sample, stacks within their depth.
fn assert_stacks(profile: &profile::Profile<'_>, limits: &Limits) {
    for sample in profile.samples() {
        assert!(sample.values[0] > 0 && sample.stack.len() <= limits.stack_depth_max);
    }
    let _ = Plain::of(profile);
}

/// A function's name, and the system's name where there is none: what is shown of it, and everything that is guessed from
/// it. Says whether it was mangled.
pub fn fuzz_name(bytes: &[u8]) -> bool {
    let raw = String::from_utf8_lossy(bytes);
    let _ = names::take_work();
    let shown = names::display_name(&raw, "");
    let (steps, limit) = (names::take_work(), NAME_STEPS_PER_BYTE * raw.len() as u64 + NAME_STEPS_MIN);
    assert!(steps <= limit, "{steps} steps for {} bytes (at most {limit})", raw.len());
    assert_eq!(shown, names::display_name("", &raw));
    assert_eq!(shown.is_none(), raw.is_empty());
    let shown = shown.unwrap_or_default();
    assert!(shown.len() <= raw.len().max(64 << 10));
    let _ = (names::package_of(&shown, ""), names::frame_kind(&shown, &raw), names::pprof_simplified(&raw));
    if let Ok(pruner) = names::FramePruner::new(&raw, "") {
        let _ = pruner.drops(&raw);
    }
    shown.contains("::") && !raw.contains("::")
}

/// Opens the bytes as a block and reads everything that it offers. Errors are answers; a panic is a bug.
///
/// # Errors
/// What the reader found wrong.
pub fn fuzz_block(bytes: &[u8]) -> Result<(), BlockError> {
    let block = Block::open(Arc::new(MemoryFile::new("fuzz.block", bytes.to_vec())))?;
    for attachment in block.attachments()? {
        block.contains(attachment.id)?;
        block.attachment_body(attachment.id)?;
    }
    let mut rows = Rows::default();
    for position in 0..block.dataset_count() {
        let dataset = block.dataset(position)?;
        let symbols = dataset.symbols()?;
        let mut sums = NodeSums::new(symbols.node_count(), None);
        for profile in 0..dataset.profile_count() {
            let meta = dataset.profile(profile);
            block.contains(meta.id)?;
            symbols.header(meta.header);
            dataset.rows(profile, &mut rows)?;
            for (column, _) in (0..).zip(&meta.totals) {
                dataset.add_values(&[Pick { profile, column }], &mut sums)?;
            }
        }
    }
    Ok(())
}

//! Folded stacks: one stack per line, frames from the root separated by `;`, a count at the end.
//!
//! Text only: strings of the profile are ranges of it. What is skipped and what is refused is in `LENIENCY.md`.
//!
//! Not here: what the numbers mean (the caller names type and unit), compression (`inflate`).

use profile::{Altered, AlteredReason};

use crate::{
    DecodeError, Measure,
    inflate::Buffer,
    stacks::{Stacks, Stop, Target, build},
    work,
};

/// Where the weight of a stack stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weights {
    /// A number behind the last space.
    AtEndOfLine,
    /// Each line counts once.
    One,
}

/// Turns UTF-16 with a byte-order mark into UTF-8 and takes the mark of UTF-8 away (C058).
pub(crate) fn to_utf8(buffer: &mut Buffer) {
    let decode_units = |bytes: &[u8], read: fn([u8; 2]) -> u16| -> Vec<u8> {
        let units = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
        let mut text = String::with_capacity(bytes.len());
        text.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
        text.into_bytes()
    };
    let text = match buffer.bytes() {
        [0xff, 0xfe, rest @ ..] => decode_units(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => decode_units(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => rest.to_vec(),
        _ => return,
    };
    work::count(buffer.bytes().len());
    buffer.clear();
    buffer.extend(&text);
}

/// Decodes the lines of the target's text.
pub(crate) fn decode(
    target: Target<'_>,
    measure: Measure<'_>,
    weights: Weights,
) -> Result<Altered, DecodeError> {
    let text = target.text;
    build(target, measure, |stacks| lines(stacks, text, weights))
}

fn lines(stacks: &mut Stacks<'_>, text: &[u8], weights: Weights) -> Result<(), Stop> {
    work::count(text.len());
    let (mut bad, mut good) = (0_u64, 0_u64);
    let mut start = 0;
    for line in text.split(|&byte| byte == b'\n') {
        let trimmed = line.trim_ascii();
        // `trim_ascii` gives a part of `line`; where it starts is found by what it left out
        let indent = line.len() - line.trim_ascii_start().len();
        let at = start + if trimmed.is_empty() { 0 } else { indent };
        start += line.len() + 1;
        if trimmed.is_empty() || trimmed.starts_with(b"#") {
            continue;
        }
        match weigh(trimmed, weights) {
            Some((stack, value)) => {
                good += 1;
                sample(stacks, stack, at, value)?;
            }
            None => bad += 1,
        }
    }
    if good == 0 {
        let reason = match (bad, weights) {
            (0, _) => "the text has no stack".to_owned(),
            (_, Weights::AtEndOfLine) => {
                format!("these are no folded stacks: none of {bad} lines ends with a count")
            }
            (_, Weights::One) => format!("none of {bad} lines has a frame"),
        };
        return Err(DecodeError::malformed("line", reason).into());
    }
    stacks.altered.add(AlteredReason::BadLine, bad);
    Ok(())
}

fn sample(stacks: &mut Stacks<'_>, stack: &[u8], start: usize, value: i64) -> Result<(), Stop> {
    let Some(value) = stacks.counted(value)? else { return Ok(()) };
    let depth = stack.split(|&byte| byte == b';').filter(|frame| !frame.trim_ascii().is_empty()).count();
    let kept = stacks.kept(depth);
    stacks.room_for(kept)?;
    // leaf first: frames are taken from the end of the line
    let mut end = stack.len();
    let mut taken = 0;
    while taken < kept {
        let from = stack[..end].iter().rposition(|&byte| byte == b';').map_or(0, |position| position + 1);
        let frame = &stack[from..end];
        let indent = frame.len() - frame.trim_ascii_start().len();
        let name = frame.trim_ascii();
        if !name.is_empty() {
            let location = stacks.frame(name, start + from + indent)?;
            stacks.push_frame(location);
            taken += 1;
        }
        end = from.saturating_sub(1);
    }
    stacks.end_sample(kept, depth, value)
}

/// Splits a line into stack and value.
fn weigh(line: &[u8], weights: Weights) -> Option<(&[u8], i64)> {
    let (stack, value) = match weights {
        Weights::One => (line, 1),
        Weights::AtEndOfLine => {
            let space = line.iter().rposition(u8::is_ascii_whitespace)?;
            let value = std::str::from_utf8(&line[space + 1..]).ok()?.parse().ok()?;
            (line[..space].trim_ascii_end(), value)
        }
    };
    let has_frame = stack.iter().any(|&byte| byte != b';' && !byte.is_ascii_whitespace());
    has_frame.then_some((stack, value))
}

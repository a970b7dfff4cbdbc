//! Checks of the string table: entry 0 is empty (C002), lengths, UTF-8 (C011).

use profile::{Altered, AlteredReason, Columns, StringRange};

use super::wire::narrow;
use crate::{DecodeError, Limits, work};

/// Strings that are tested for ASCII at once: few enough that one long string among them costs little.
const BLOCK: usize = 32;

/// Shortens strings that are too long and counts those that are no UTF-8.
pub(super) fn check(
    text: &[u8],
    columns: &mut Columns,
    length_max: u32,
    limits: &Limits,
    altered: &mut Altered,
) -> Result<(), DecodeError> {
    let first = columns.strings.first().copied().unwrap_or_default();
    if first.length > 0 {
        let shown: String = String::from_utf8_lossy(bytes(text, first)).chars().take(64).collect();
        return Err(DecodeError::malformed("string_table[0]", format!("must be empty and is {shown:?}")));
    }
    if length_max as usize > limits.string_bytes_max {
        shorten(text, columns, limits, altered);
    }
    let mut invalid = 0;
    for (block, ranges) in columns.strings.chunks(BLOCK).enumerate() {
        let (Some(from), Some(to)) = (ranges.first(), ranges.last()) else { continue };
        // Mostly the strings follow each other with two bytes of ASCII between, so one look at the whole span will do.
        let span = text.get(from.start as usize..to.start as usize + to.length as usize).unwrap_or_default();
        work::count(span.len());
        if span.is_ascii() {
            continue;
        }
        for (entry, &range) in ranges.iter().enumerate() {
            let Err(error) = std::str::from_utf8(bytes(text, range)) else { continue };
            if limits.strict_utf8 {
                let field = format!("string_table[{}]", block * BLOCK + entry);
                return Err(DecodeError::malformed(
                    field,
                    format!("invalid UTF-8 at its byte {}", error.valid_up_to()),
                ));
            }
            invalid += 1;
        }
    }
    altered.add(AlteredReason::InvalidUtf8, invalid);
    Ok(())
}

fn bytes(text: &[u8], range: StringRange) -> &[u8] {
    &text[range.start as usize..][..range.length as usize]
}

/// Strings that are too long lose their head: the end of a path or of a nested name tells more.
fn shorten(text: &[u8], columns: &mut Columns, limits: &Limits, altered: &mut Altered) {
    work::count(columns.strings.len());
    for range in &mut columns.strings {
        let Some(cut) = (range.length as usize).checked_sub(limits.string_bytes_max).filter(|&cut| cut > 0)
        else {
            continue;
        };
        // not in the middle of a character
        let continuation =
            bytes(text, *range)[cut..].iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
        let cut = narrow(cut + continuation);
        *range = StringRange { start: range.start + cut, length: range.length - cut };
        altered.add(AlteredReason::StringTooLong, 1);
    }
}

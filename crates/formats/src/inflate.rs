//! Compression of bodies: gzip (all members), zstd, or none, told by the first bytes.
//!
//! Stops at the limit of inflated bytes, whatever a header promises (C024); memory follows the output, not promises.
//! gzip goes through libdeflate, which needs the whole output at once and does not say where a member ended; so bodies
//! that may be more than one clean member (several members, padding, damage) take the streaming way, which finds the
//! byte at which things go wrong.
//!
//! Not here: who may use how much memory at the same time (`api`).

mod gzip;
mod zstd;

pub use gzip::gzip;

use crate::{
    DecodeError, Limits,
    limits::KEPT_BYTES_MAX,
    sniff::{GZIP_MAGIC, SniffedFormat, is_compressed, lines_end_with_counts, sniff},
    work,
};

/// A buffer for inflated bodies that is reused. Bytes behind `length` are left-overs.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    length: usize,
    /// Bytes that inflating has written since they were last asked for, tries that were given up included.
    filled: u64,
}

impl Buffer {
    /// The bytes inside.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Bytes that inflating has written since the last call.
    pub(crate) fn take_filled(&mut self) -> u64 {
        std::mem::take(&mut self.filled)
    }

    /// Empties it; memory beyond what is worth keeping is given back.
    pub(crate) fn clear(&mut self) {
        self.length = 0;
        if self.bytes.capacity() > KEPT_BYTES_MAX {
            self.bytes = Vec::new();
        }
    }

    /// Keeps the first bytes.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Appends bytes.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// At least `count` writable bytes behind the content.
    fn room(&mut self, count: usize) -> &mut [u8] {
        let needed = self.length + count;
        if self.bytes.len() < needed {
            self.bytes.truncate(self.length);
            self.bytes.reserve_exact(count);
            self.bytes.resize(needed, 0);
        }
        &mut self.bytes[self.length..]
    }

    /// Forgets the content and gives at least `count` writable bytes. The old ones go first, so that old and new never
    /// exist at once.
    fn fresh(&mut self, count: usize) -> &mut [u8] {
        self.length = 0;
        if self.bytes.len() < count {
            self.bytes = Vec::new();
            self.bytes = vec![0; count];
        }
        &mut self.bytes
    }

    /// Fills the buffer by `fill`, which is called again with four times the room as long as it says that it needs more.
    ///
    /// Starting over costs a third of the last try; growing in place would hold two copies of a large body.
    fn fill(
        &mut self,
        room_first: usize,
        limits: &Limits,
        field: &str,
        mut fill: impl FnMut(&mut [u8]) -> Result<Filled, DecodeError>,
    ) -> Result<(), DecodeError> {
        let limit = inflated_bytes_max(limits);
        let mut size = room_first.clamp(1, limit.max(1));
        loop {
            let room = self.fresh(size);
            let end = room.len().min(limit);
            let filled = fill(&mut room[..end]);
            let written = match &filled {
                Ok(Filled::Done(length)) => *length,
                // how far it got is not known
                Ok(Filled::NeedsMore) | Err(_) => end,
            };
            work::count(written);
            self.filled = self.filled.saturating_add(u64::try_from(written).unwrap_or(u64::MAX));
            match filled? {
                Filled::Done(length) => {
                    self.length = length;
                    return Ok(());
                }
                Filled::NeedsMore if end >= limit => return Err(too_large(field, limits)),
                Filled::NeedsMore => size = end.saturating_mul(4).min(limit),
            }
        }
    }
}

/// How an attempt to fill a buffer ended.
enum Filled {
    /// With so many bytes.
    Done(usize),
    /// The output is longer than the room.
    NeedsMore,
}

/// Output that is given room at first whatever a header promises, bytes.
const ROOM_MIN: usize = 64 << 10;

/// Output per input byte that a promise is believed for. Real profiles have 2–5; a body that promises more starts with
/// this much, so that a lie costs no memory.
const BELIEVED_RATIO: usize = 6;

/// The room to start with for a body that promises to inflate to `promised` bytes.
fn room_first(body: &[u8], promised: usize) -> usize {
    promised.min(body.len().saturating_mul(BELIEVED_RATIO).max(ROOM_MIN))
}

/// Takes all output of a streaming decoder.
fn read_all(decoder: &mut impl std::io::Read, room: &mut [u8]) -> std::io::Result<Filled> {
    let mut length = 0;
    while length < room.len() {
        match decoder.read(&mut room[length..])? {
            0 => return Ok(Filled::Done(length)),
            count => length += count,
        }
    }
    Ok(if decoder.read(&mut [0])? == 0 { Filled::Done(length) } else { Filled::NeedsMore })
}

/// Says what a body is, compressed or not: looks at the first inflated bytes of a compressed one (C021). What cannot be
/// inflated, or is nothing known inside, is what it looks like from outside.
#[must_use]
pub fn sniff_inside(body: &[u8]) -> SniffedFormat {
    inside(body).0
}

/// Whether a body is text whose first lines end with a count, as folded stacks do; compressed or not.
#[must_use]
pub fn looks_folded(body: &[u8]) -> bool {
    let (format, head) = inside(body);
    format == SniffedFormat::Text && lines_end_with_counts(if head.is_empty() { body } else { &head })
}

/// What a body is, and the first inflated bytes of a compressed one.
fn inside(body: &[u8]) -> (SniffedFormat, Vec<u8>) {
    /// Inflated bytes that are looked at: enough for another layer's first block as well.
    const HEAD_BYTES: usize = 4 << 10;
    let mut head = Vec::new();
    let mut format = sniff(body);
    // compressed at most twice, as everywhere
    for _ in 0..2 {
        let layer: &[u8] = if head.is_empty() { body } else { &head };
        let inflated = match format {
            SniffedFormat::Gzip => gzip::head(layer, HEAD_BYTES),
            SniffedFormat::Zstd => zstd::head(layer, HEAD_BYTES),
            _ => break,
        };
        let inside = sniff(&inflated);
        if inside == SniffedFormat::Unknown {
            break;
        }
        (format, head) = (inside, inflated);
    }
    (format, head)
}

/// As many of the first bytes as a streaming decoder gives, at most `count`. Damage behind them is not seen.
fn head_of(decoder: &mut impl std::io::Read, count: usize) -> Vec<u8> {
    let mut head = vec![0; count];
    let mut length = 0;
    while let Some(room) = head.get_mut(length..).filter(|room| !room.is_empty()) {
        match decoder.read(room) {
            Ok(0) | Err(_) => break,
            Ok(more) => length += more,
        }
    }
    head.truncate(length);
    head
}

/// Inflates `body` once into `buffer`, which is cleared.
fn once(body: &[u8], buffer: &mut Buffer, limits: &Limits) -> Result<(), DecodeError> {
    buffer.clear();
    work::count(body.len());
    if body.starts_with(&GZIP_MAGIC) {
        gzip::inflate(body, buffer, limits)
    } else {
        zstd::inflate(body, buffer, limits)
    }
}

/// What inflating a body came to.
pub(crate) enum Outcome {
    /// The body was not compressed.
    AsItIs,
    /// The bytes are in the buffer.
    Inflated,
}

/// Inflates a body into `buffer`; what is then still compressed is inflated once more, through `spare`.
pub(crate) fn inflate(
    body: &[u8],
    buffer: &mut Buffer,
    spare: &mut Buffer,
    limits: &Limits,
) -> Result<Outcome, DecodeError> {
    if body.len() > limits.body_bytes_max {
        let reason = format!("{} bytes (at most {})", body.len(), limits.body_bytes_max);
        return Err(DecodeError::too_large("body", reason));
    }
    if !is_compressed(body) {
        buffer.clear();
        return if body.len() > inflated_bytes_max(limits) {
            Err(too_large("body", limits))
        } else {
            Ok(Outcome::AsItIs)
        };
    }
    once(body, buffer, limits)?;
    if is_compressed(buffer.bytes()) {
        once(buffer.bytes(), spare, limits)?;
        std::mem::swap(buffer, spare);
        spare.clear();
        if is_compressed(buffer.bytes()) {
            return Err(DecodeError::unsupported("body", "compressed more than twice"));
        }
    }
    Ok(Outcome::Inflated)
}

/// The limit, at most what 32-bit string ranges reach.
fn inflated_bytes_max(limits: &Limits) -> usize {
    limits.inflated_bytes_max.min(usize::try_from(i32::MAX).unwrap_or(usize::MAX))
}

fn too_large(field: &str, limits: &Limits) -> DecodeError {
    DecodeError::inflates_too_far(
        field,
        format!("inflates to more than {} bytes (limit)", inflated_bytes_max(limits)),
    )
}

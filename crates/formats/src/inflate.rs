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
    sniff::{GZIP_MAGIC, is_compressed},
    work,
};

/// A buffer for inflated bodies that is reused. Bytes behind `length` are left-overs.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    length: usize,
}

impl Buffer {
    /// The bytes inside.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Empties it; memory beyond what is worth keeping is given back.
    pub(crate) fn clear(&mut self) {
        self.length = 0;
        if self.bytes.capacity() > KEPT_BYTES_MAX {
            self.bytes = Vec::new();
        }
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
            if self.bytes.capacity() < needed {
                self.bytes.truncate(self.length);
                self.bytes.reserve_exact(count);
            }
            self.bytes.resize(needed, 0);
        }
        &mut self.bytes[self.length..]
    }
}

/// Inflates `body` once into `buffer`, which is cleared.
fn once(body: &[u8], buffer: &mut Buffer, limits: &Limits) -> Result<(), DecodeError> {
    buffer.clear();
    let result = if body.starts_with(&GZIP_MAGIC) {
        gzip::inflate(body, buffer, limits)
    } else {
        zstd::inflate(body, buffer, limits)
    };
    work::count(body.len() + buffer.length);
    result
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
    DecodeError::too_large(
        field,
        format!("inflates to more than {} bytes (limit)", inflated_bytes_max(limits)),
    )
}

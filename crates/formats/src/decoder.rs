//! The decoder that callers hold: inflates and decodes bodies one after the other and reuses all memory.

use profile::{Altered, Columns, Profile};

use crate::{
    DecodeError, Limits, Measure, SniffedFormat, Speedscope, folded,
    inflate::{self, Buffer, Outcome},
    limits::KEPT_BYTES_MAX,
    pprof, sniff,
    stacks::Target,
    tree, trie,
};

/// A body after inflation.
#[derive(Clone, Copy, Debug)]
pub struct Inflated<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
}

/// What a decoder found.
#[derive(Clone, Debug, Default)]
pub struct Decoded {
    /// What was changed or left out.
    pub altered: Altered,
}

/// Inflates and decodes bodies one after the other, reusing all memory. One per worker thread.
#[derive(Default)]
pub struct Decoder {
    columns: Columns,
    inflated: Buffer,
    spare: Buffer,
    added: Vec<u8>,
}

impl Decoder {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Inflates a body by what its first bytes say: gzip (all members), zstd, or as it is. Nested compression is
    /// inflated at most once more. The bytes stay in the decoder until the next call.
    ///
    /// # Errors
    /// For corrupt, truncated and too large bodies.
    pub fn inflate<'a>(&'a mut self, body: &'a [u8], limits: &Limits) -> Result<Inflated<'a>, DecodeError> {
        self.release_excess();
        let bytes = match inflate::inflate(body, &mut self.inflated, &mut self.spare, limits)? {
            Outcome::AsItIs => body,
            Outcome::Inflated => self.inflated.bytes(),
        };
        Ok(Inflated { bytes })
    }

    /// Inflates and decodes a pprof body. The profile borrows from the decoder and, where nothing was inflated, from
    /// the body; `Profile::text` is the inflated body, in rare cases (a stack was cut, a column renamed) with a few
    /// bytes behind it. A body without a usable time is counted as [`profile::AlteredReason::NoTime`] here.
    ///
    /// # Errors
    /// Names field, index and reason.
    pub fn pprof<'a>(
        &'a mut self,
        body: &'a [u8],
        limits: &Limits,
    ) -> Result<(Profile<'a>, Decoded), DecodeError> {
        self.release_excess();
        let outcome = inflate::inflate(body, &mut self.inflated, &mut self.spare, limits)?;
        let text = match outcome {
            Outcome::AsItIs => body,
            Outcome::Inflated => self.inflated.bytes(),
        };
        let altered = pprof::decode(text, &mut self.columns, &mut self.added, limits)
            .map_err(|error| explain_other_format(text, error))?;
        if !self.added.is_empty() {
            if matches!(outcome, Outcome::AsItIs) {
                self.inflated.extend(body);
            }
            self.inflated.extend(&self.added);
        }
        let text = match outcome {
            Outcome::AsItIs if self.added.is_empty() => body,
            _ => self.inflated.bytes(),
        };
        Ok((Profile { text, columns: &self.columns }, Decoded { altered }))
    }

    /// Decodes folded stacks, `root;…;leaf 42` per line; every line without a count is counted and skipped (C057).
    /// UTF-8 or UTF-16 with byte-order mark (C058). The caller says what the one
    /// column means.
    ///
    /// # Errors
    /// When no line is good.
    pub fn folded<'a>(
        &'a mut self,
        body: &'a [u8],
        measure: Measure<'_>,
        limits: &Limits,
    ) -> Result<(Profile<'a>, Decoded), DecodeError> {
        self.stacks_of_text(body, measure, folded::Weights::AtEndOfLine, limits)
    }

    /// Decodes Pyroscope's `lines` format: each line is a stack of weight 1.
    ///
    /// # Errors
    /// When no line is good.
    pub fn lines<'a>(
        &'a mut self,
        body: &'a [u8],
        measure: Measure<'_>,
        limits: &Limits,
    ) -> Result<(Profile<'a>, Decoded), DecodeError> {
        self.stacks_of_text(body, measure, folded::Weights::One, limits)
    }

    /// Decodes Pyroscope's `trie` format: folded stacks, common beginnings written once.
    ///
    /// # Errors
    /// For lengths and counts that the body cannot hold (C059), and where what it spells out passes the limits.
    pub fn trie<'a>(
        &'a mut self,
        body: &'a [u8],
        measure: Measure<'_>,
        limits: &Limits,
    ) -> Result<(Profile<'a>, Decoded), DecodeError> {
        self.release_excess();
        let bytes = match inflate::inflate(body, &mut self.inflated, &mut self.spare, limits)? {
            Outcome::AsItIs => body,
            Outcome::Inflated => self.inflated.bytes(),
        };
        let target = Target {
            text: &[],
            body_bytes: bytes.len(),
            columns: &mut self.columns,
            added: &mut self.added,
            limits,
        };
        let altered = trie::decode(bytes, target, measure)?;
        Ok((Profile { text: &self.added, columns: &self.columns }, Decoded { altered }))
    }

    /// Decodes Pyroscope's `tree` format, of whatever order of siblings.
    ///
    /// # Errors
    /// For lengths and counts that the body cannot hold (C059), and where its stacks pass the limits.
    pub fn tree<'a>(
        &'a mut self,
        body: &'a [u8],
        measure: Measure<'_>,
        limits: &Limits,
    ) -> Result<(Profile<'a>, Decoded), DecodeError> {
        self.with_text(body, limits, |_| {}, |target| tree::decode(target, measure))
    }

    /// Opens a speedscope file, whose profiles are then decoded one by one.
    ///
    /// # Errors
    /// For what is no such file, and for units that are not known (C054).
    pub fn speedscope<'a>(
        &'a mut self,
        body: &'a [u8],
        limits: &Limits,
    ) -> Result<Speedscope<'a>, DecodeError> {
        self.release_excess();
        if let Outcome::AsItIs = inflate::inflate(body, &mut self.inflated, &mut self.spare, limits)? {
            self.inflated.extend(body);
        }
        folded::to_utf8(&mut self.inflated);
        Speedscope::open(&mut self.inflated, &mut self.columns, &mut self.added, limits)
    }

    fn stacks_of_text<'a>(
        &'a mut self,
        body: &'a [u8],
        measure: Measure<'_>,
        weights: folded::Weights,
        limits: &Limits,
    ) -> Result<(Profile<'a>, Decoded), DecodeError> {
        self.with_text(body, limits, folded::to_utf8, |target| folded::decode(target, measure, weights))
    }

    /// Inflates a body, prepares it, and decodes it into a profile whose strings are ranges of it and of what is added.
    fn with_text<'a>(
        &'a mut self,
        body: &'a [u8],
        limits: &Limits,
        prepare: impl FnOnce(&mut Buffer),
        decode: impl FnOnce(Target<'_>) -> Result<Altered, DecodeError>,
    ) -> Result<(Profile<'a>, Decoded), DecodeError> {
        self.release_excess();
        if let Outcome::AsItIs = inflate::inflate(body, &mut self.inflated, &mut self.spare, limits)? {
            self.inflated.extend(body);
        }
        prepare(&mut self.inflated);
        let altered = decode(Target {
            text: self.inflated.bytes(),
            body_bytes: self.inflated.bytes().len(),
            columns: &mut self.columns,
            added: &mut self.added,
            limits,
        })?;
        self.inflated.extend(&self.added);
        Ok((Profile { text: self.inflated.bytes(), columns: &self.columns }, Decoded { altered }))
    }

    /// Bytes that inflating has written since the last call, also for bodies that were refused: the part of a body's cost
    /// that its size does not tell.
    pub fn take_inflated_bytes(&mut self) -> u64 {
        self.inflated.take_filled().saturating_add(self.spare.take_filled())
    }

    /// Gives memory back that only an unusually large body needed.
    fn release_excess(&mut self) {
        if self.columns.allocated_bytes() > KEPT_BYTES_MAX {
            self.columns = Columns::default();
        }
        self.added = Vec::new();
        self.inflated.clear();
        self.spare.clear();
    }
}

/// Replaces the error of a body that is something else by a sentence that says what it is (C020).
fn explain_other_format(text: &[u8], error: DecodeError) -> DecodeError {
    let is = |what: &str| DecodeError::unsupported("profile", what);
    match sniff(text) {
        SniffedFormat::GoTextDump => is("looks like a Go text dump; use debug=0 to get a profile"),
        SniffedFormat::GoTrace => is("is a Go execution trace, not a profile; type=trace keeps it whole"),
        SniffedFormat::Jfr => is("is a JFR recording, not a pprof profile"),
        SniffedFormat::Json => is("looks like JSON, not a pprof profile"),
        SniffedFormat::Text => is("looks like text, not a pprof profile"),
        SniffedFormat::Gzip | SniffedFormat::Zstd | SniffedFormat::Pprof | SniffedFormat::Unknown => error,
    }
}

//! speedscope's own files: several profiles over one list of frames, each sampled or evented.
//!
//! The layout is that of the published file format (`$schema`). A file is stepped through, not built: a profile is read
//! from where it stands, and a frame when it is first met, so a file takes no more than what its stacks take. What is
//! accepted and what is refused is in `LENIENCY.md`.
//!
//! Times become nanoseconds, whatever their unit; what has no unit and bytes stay as they are. A fraction that is left is
//! not dropped but carried to the next sample, so that sums stay right.
//!
//! Not here: names of profile types (the caller chooses them by the unit).

mod evented;
mod frames;
mod json;
mod number;
mod sampled;

use profile::{Altered, Columns, Profile};

use self::{
    frames::Frames,
    json::{Json, Text, unescaped},
    number::Fixed,
};
use crate::{
    DecodeError, Decoded, Limits, Measure,
    budget::Budget,
    inflate::Buffer,
    limits::SPEEDSCOPE_PROFILES_MAX,
    stacks::{Target, build, narrow},
    work,
};

/// What `$schema` must say.
const SCHEMA: &[u8] = b"https://www.speedscope.app/file-format-schema.json";

/// What the numbers of a profile count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpeedscopeUnit {
    /// Something that is not named.
    None,
    /// Time; read as nanoseconds.
    Time {
        /// The word in the file.
        word: &'static str,
        /// Ten to this power nanoseconds.
        exponent: i32,
    },
    /// Bytes.
    Bytes,
}

/// All units that the format knows.
const UNITS: [SpeedscopeUnit; 6] = [
    SpeedscopeUnit::None,
    SpeedscopeUnit::Time { word: "nanoseconds", exponent: 0 },
    SpeedscopeUnit::Time { word: "microseconds", exponent: 3 },
    SpeedscopeUnit::Time { word: "milliseconds", exponent: 6 },
    SpeedscopeUnit::Time { word: "seconds", exponent: 9 },
    SpeedscopeUnit::Bytes,
];

impl SpeedscopeUnit {
    /// The word in the file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Time { word, .. } => word,
            Self::Bytes => "bytes",
        }
    }

    const fn exponent(self) -> i32 {
        match self {
            Self::Time { exponent, .. } => exponent,
            Self::None | Self::Bytes => 0,
        }
    }
}

/// A profile of a file: what it is, and where its parts stand.
#[derive(Clone, Debug)]
struct Part {
    unit: SpeedscopeUnit,
    name: Option<Text>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Sampled { samples: usize, weights: usize },
    Evented { events: usize, end_value: Option<Fixed> },
}

/// A file that was opened; decodes its profiles one by one.
pub struct Speedscope<'a> {
    /// The file, and behind it what the last profile added.
    text: &'a mut Buffer,
    text_bytes: usize,
    columns: &'a mut Columns,
    added: &'a mut Vec<u8>,
    parts: Vec<Part>,
    frames: Frames,
}

impl std::fmt::Debug for Speedscope<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Speedscope").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl<'a> Speedscope<'a> {
    /// Finds profiles and frames of the file in `text`.
    pub(crate) fn open(
        text: &'a mut Buffer,
        columns: &'a mut Columns,
        added: &'a mut Vec<u8>,
        limits: &Limits,
    ) -> Result<Self, DecodeError> {
        let (parts, frames) = scan(text.bytes(), limits)?;
        let text_bytes = text.bytes().len();
        Ok(Self { text, text_bytes, columns, added, parts, frames })
    }

    /// Number of profiles.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// What the numbers of a profile count.
    #[must_use]
    pub fn unit(&self, index: usize) -> SpeedscopeUnit {
        self.parts[index].unit
    }

    /// Name of a profile; may be empty.
    #[must_use]
    pub fn name(&self, index: usize) -> String {
        let Some(name) = &self.parts[index].name else { return String::new() };
        let raw = &self.text.bytes()[name.range.clone()];
        let said = if name.is_escaped { unescaped(raw) } else { raw.to_vec() };
        String::from_utf8(said).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Decodes a profile.
    ///
    /// # Errors
    /// For frames that do not exist, events that do not fit together (C056), numbers that are none; names profile and
    /// index.
    pub fn decode(
        &mut self,
        index: usize,
        measure: Measure<'_>,
        limits: &Limits,
    ) -> Result<(Profile<'_>, Decoded), DecodeError> {
        self.text.truncate(self.text_bytes);
        let text = self.text.bytes();
        let target =
            Target { text, body_bytes: text.len(), columns: self.columns, added: self.added, limits };
        let part = &self.parts[index];
        let path = format!("profiles[{index}]");
        let exponent = part.unit.exponent();
        let frames = &mut self.frames;
        frames.forget();
        let altered: Altered = build(target, measure, |stacks| match part.kind {
            Kind::Sampled { samples, weights } => {
                let place = sampled::Place { text, path: &path, samples, weights, exponent };
                sampled::read(stacks, frames, &place)
            }
            Kind::Evented { events, end_value } => {
                let place = evented::Place { text, path: &path, events, end_value, exponent };
                evented::read(stacks, frames, &place)
            }
        })?;
        self.text.extend(self.added);
        Ok((Profile { text: self.text.bytes(), columns: self.columns }, Decoded { altered }))
    }
}

/// The profiles of a file and where its frames stand.
fn scan(text: &[u8], limits: &Limits) -> Result<(Vec<Part>, Frames), DecodeError> {
    work::count(text.len());
    let mut budget = Budget::new(text.len(), 0, limits);
    let mut json = Json::at(text, 0);
    let (mut is_schema, mut parts, mut frames) = (None, None, Frames::default());
    json.object(|json, field| {
        match field {
            b"$schema" => {
                let schema = json.string()?;
                is_schema = Some(!schema.is_escaped && text[schema.range.clone()] == *SCHEMA);
                if is_schema == Some(false) {
                    let said = String::from_utf8_lossy(&text[schema.range]);
                    return Err(not_speedscope(&format!(
                        "is {:?}",
                        said.chars().take(80).collect::<String>()
                    )));
                }
            }
            b"shared" => json.object(|json, field| match field {
                b"frames" => frames.scan(json, &mut budget),
                _ => json.skip(),
            })?,
            b"profiles" => parts = Some(profiles(json)?),
            _ => json.skip()?,
        }
        Ok(())
    })?;
    if is_schema.is_none() {
        return Err(not_speedscope("is missing"));
    }
    if json.peek().is_some() {
        return Err(json.wrong("the file has an end, and more behind it"));
    }
    let parts = parts.ok_or_else(|| DecodeError::malformed("profiles", "the field is missing"))?;
    Ok((parts, frames))
}

fn not_speedscope(what: &str) -> DecodeError {
    let schema = String::from_utf8_lossy(SCHEMA);
    DecodeError::malformed("$schema", format!("{what}, so this is no speedscope file; it must be {schema}"))
}

fn profiles(json: &mut Json<'_>) -> Result<Vec<Part>, DecodeError> {
    let mut parts = Vec::new();
    json.expect(b'[')?;
    let mut is_first = true;
    while json.has_next(&mut is_first, b']')? {
        if parts.len() == SPEEDSCOPE_PROFILES_MAX {
            let reason = format!("more than {SPEEDSCOPE_PROFILES_MAX} profiles in one file (limit)");
            return Err(DecodeError::too_large("profiles", reason));
        }
        parts.push(part(json, parts.len())?);
    }
    Ok(parts)
}

fn part(json: &mut Json<'_>, index: usize) -> Result<Part, DecodeError> {
    let field_of = |field: &str| format!("profiles[{index}].{field}");
    let missing = |field: &str| DecodeError::malformed(field_of(field), "the field is missing");
    let text = json.text;
    let word = |word: &Text| {
        let said = String::from_utf8_lossy(&text[word.range.clone()]);
        said.chars().take(64).collect::<String>()
    };
    let (mut kind, mut unit, mut name, mut end_value) = (None, None, None, None);
    let (mut samples, mut weights, mut events) = (None, None, None);
    json.object(|json, field| {
        let _ = json.peek();
        let list = match field {
            b"type" => {
                kind = Some(json.string()?);
                return Ok(());
            }
            b"unit" => {
                let said = json.string()?;
                let known = UNITS.into_iter().find(|unit| unit.word().as_bytes() == &text[said.range.clone()]);
                unit = Some(known.ok_or_else(|| {
                    let reason = format!(
                        "{:?} is no unit; there are none, nanoseconds, microseconds, milliseconds, seconds and bytes",
                        word(&said)
                    );
                    DecodeError::malformed(field_of("unit"), reason)
                })?);
                return Ok(());
            }
            b"name" if json.peek() == Some(b'"') => {
                name = Some(json.string()?);
                return Ok(());
            }
            b"endValue" if json.peek() != Some(b'n') => {
                end_value = Some(json.number()?);
                return Ok(());
            }
            b"samples" => &mut samples,
            b"weights" => &mut weights,
            b"events" => &mut events,
            _ => return json.skip(),
        };
        *list = Some(json.position);
        json.skip()
    })?;
    let unit: SpeedscopeUnit = unit.ok_or_else(|| missing("unit"))?;
    let kind = kind.ok_or_else(|| missing("type"))?;
    let kind = match &text[kind.range.clone()] {
        b"sampled" => Kind::Sampled {
            samples: samples.ok_or_else(|| missing("samples"))?,
            weights: weights.ok_or_else(|| missing("weights"))?,
        },
        b"evented" => Kind::Evented {
            events: events.ok_or_else(|| missing("events"))?,
            end_value: match end_value {
                Some(text) => Some(number(text, unit.exponent(), || field_of("endValue"))?),
                None => None,
            },
        },
        _ => {
            let reason = format!("{:?} is neither sampled nor evented", word(&kind));
            return Err(DecodeError::malformed(field_of("type"), reason));
        }
    };
    Ok(Part { unit, name, kind })
}

/// Reads a number of a field.
fn number(text: &[u8], exponent: i32, field: impl FnOnce() -> String) -> Result<Fixed, DecodeError> {
    let fixed = Fixed::read(text, exponent).filter(|fixed| fixed.rounded().is_some());
    fixed.ok_or_else(|| {
        let said: String = String::from_utf8_lossy(text).chars().take(64).collect();
        DecodeError::malformed(field(), format!("{said} is no number that fits in 64 bits"))
    })
}

//! Sampled profiles: a list of stacks, frames from the root, and a list of as many weights.

use profile::LocationIndex;

use super::{Fixed, frames::Frames, json::Json, number};
use crate::{
    DecodeError,
    stacks::{Stacks, Stop},
    work,
};

/// Where the lists stand.
pub(super) struct Place<'a> {
    pub(super) text: &'a [u8],
    /// The profile, for errors.
    pub(super) path: &'a str,
    pub(super) samples: usize,
    pub(super) weights: usize,
    pub(super) exponent: i32,
}

/// Reads both lists side by side.
pub(super) fn read(stacks: &mut Stacks<'_>, frames: &mut Frames, place: &Place<'_>) -> Result<(), Stop> {
    let mut samples = Json::at(place.text, place.samples);
    let mut weights = Json::at(place.text, place.weights);
    samples.expect(b'[')?;
    weights.expect(b'[')?;
    let (mut is_first_sample, mut is_first_weight) = (true, true);
    let mut path: Vec<LocationIndex> = Vec::new();
    // What is left of fractions goes on to the next weight: differences of rounded sums.
    let mut sum = Fixed::default();
    let mut index = 0_usize;
    loop {
        let has_sample = samples.has_next(&mut is_first_sample, b']')?;
        let has_weight = weights.has_next(&mut is_first_weight, b']')?;
        match (has_sample, has_weight) {
            (true, true) => {}
            (false, false) => break,
            (true, false) => {
                let reason = format!("there are {index} weights and more samples");
                return Err(DecodeError::malformed(format!("{}.weights", place.path), reason).into());
            }
            (false, true) => {
                let reason = format!("there are {index} samples and more weights");
                return Err(DecodeError::malformed(format!("{}.samples", place.path), reason).into());
            }
        }
        stack(stacks, frames, &mut samples, &mut path, || format!("{}.samples[{index}]", place.path))?;
        let field = || format!("{}.weights[{index}]", place.path);
        let weight = number(weights.number()?, place.exponent, field)?;
        let next = sum.plus(weight).filter(|next| next.rounded().is_some());
        let value = next.and_then(|next| next.rounded()?.checked_sub(sum.rounded()?));
        let (Some(next), Some(value)) = (next, value) else {
            let reason = "the weights up to this one do not fit in 64 bits together";
            return Err(DecodeError::malformed(field(), reason).into());
        };
        sum = next;
        if let Some(value) = stacks.counted(value)? {
            stacks.sample_of_path(&path, value)?;
        }
        index += 1;
    }
    work::count(samples.position - place.samples + weights.position - place.weights);
    Ok(())
}

fn stack(
    stacks: &mut Stacks<'_>,
    frames: &mut Frames,
    json: &mut Json<'_>,
    path: &mut Vec<LocationIndex>,
    place: impl Fn() -> String,
) -> Result<(), Stop> {
    path.clear();
    json.expect(b'[')?;
    let mut is_first = true;
    while json.has_next(&mut is_first, b']')? {
        let position = path.len();
        let (_, location) = frames.read(stacks, json, || format!("{}[{position}]", place()))?;
        stacks.budget.room(path, 1)?;
        path.push(location);
    }
    Ok(())
}

//! Decoding and encoding of pprof's `profile.proto`.
//!
//! Turns bytes (already inflated) into [`profile::Columns`] whose strings are ranges of those bytes. Lenient where the
//! format allows several readings, strict where an index points nowhere: `LENIENCY.md` has each choice with its case.
//! Work and memory are bounded by [`Limits`] and by the size of the body.
//!
//! Not here: compression (`inflate`), names of profile types (`api`), symbol lookup.

mod encode;
mod finish;
mod ids;
mod packed;
mod pass;
mod sample;
mod short;
mod strings;
mod tables;
mod wire;

pub use encode::encode_pprof;
pub(crate) use finish::TRUNCATED;

use profile::{Altered, Columns, LocationIndex};

use self::{
    finish::{Finish, FinishError},
    ids::{IdError, Ids},
    pass::{Pass, Trusted},
    wire::Fault,
};
use crate::{DecodeError, Limits, budget::Budget, work};

/// How a pass ended that gave no profile.
enum Ended {
    /// Only the careful pass can tell.
    Odd,
    /// Over the memory budget.
    Full,
    /// Wrong.
    Wrong(DecodeError),
}

/// Decodes `text` into `columns`. Text that the profile needs beside the body is put into `added`; such strings start
/// at `text.len()`.
pub(crate) fn decode(
    text: &[u8],
    columns: &mut Columns,
    added: &mut Vec<u8>,
    limits: &Limits,
) -> Result<Altered, DecodeError> {
    if text.is_empty() {
        return Err(DecodeError::malformed("profile", "the body is empty"));
    }
    let mut budget = Budget::new(text.len(), columns.allocated_bytes(), limits);
    match attempt::<false>(text, columns, added, limits, &mut budget) {
        Ok(altered) => return Ok(altered),
        Err(Ended::Wrong(error)) => return Err(error),
        Err(Ended::Odd) => {}
        Err(Ended::Full) if budget.is_refused() => return Err(no_room(columns, &budget)),
        // what earlier bodies left must not decide what this one may have
        Err(Ended::Full) => {
            *columns = Columns::default();
            budget.forget_tables();
        }
    }
    match attempt::<true>(text, columns, added, limits, &mut budget) {
        Ok(altered) => Ok(altered),
        Err(Ended::Wrong(error)) => Err(error),
        Err(Ended::Odd | Ended::Full) => Err(no_room(columns, &budget)),
    }
}

/// Gives the tables back at once: memory was short.
#[cold]
fn no_room(columns: &mut Columns, budget: &Budget) -> DecodeError {
    *columns = Columns::default();
    budget.error()
}

fn attempt<const CAREFUL: bool>(
    text: &[u8],
    columns: &mut Columns,
    added: &mut Vec<u8>,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Altered, Ended> {
    columns.clear();
    added.clear();
    let ids = if CAREFUL {
        Ids::read(text, budget).map_err(|error| match error {
            IdError::Full => Ended::Full,
            IdError::Wrong(error) => Ended::Wrong(error),
        })?
    } else {
        Ids::default()
    };
    let mut pass = Pass::<CAREFUL> {
        text,
        columns,
        frames: 0,
        budget,
        limits,
        ids: &ids,
        trusted: Trusted::default(),
        counts: pass::Counts::default(),
        times_seen: 0,
        depth_max: 0,
        lines_max: 0,
        string_length_max: 0,
        noted: None,
    };
    if let Err(fault) = pass.run() {
        return Err(match (fault, pass.noted) {
            (Fault::Odd, _) => Ended::Odd,
            (Fault::Full, _) => Ended::Full,
            (_, Some(error)) => Ended::Wrong(error),
            (fault, None) => Ended::Wrong(DecodeError::malformed("profile", fault.to_string())),
        });
    }
    if !CAREFUL && !trust_was_right(pass.trusted, pass.columns) {
        return Err(Ended::Odd);
    }
    let Pass { counts, depth_max, lines_max, string_length_max, .. } = pass;
    let mut altered = Altered::default();
    if let Err(error) = strings::check(text, columns, string_length_max, limits, &mut altered) {
        return Err(Ended::Wrong(error));
    }
    let mut finish = Finish { text, columns, budget, limits, altered: &mut altered, added };
    match finish.run(counts, depth_max, lines_max) {
        Ok(()) => Ok(altered),
        Err(FinishError::Full) => Err(Ended::Full),
        Err(FinishError::Wrong(error)) => Err(Ended::Wrong(error)),
    }
}

/// Whether every id and index that the quick pass took for a position is one.
fn trust_was_right(trusted: Trusted, columns: &Columns) -> bool {
    trusted.location_id <= columns.locations.len() as u64
        && trusted.function_id <= columns.functions.len() as u64
        && trusted.mapping_id <= columns.mappings.len() as u64
        && trusted.string < columns.strings.len() as u64
        && are_within(&columns.stacks, columns.locations.len())
}

/// Whether all entries are below `count`.
fn are_within(stacks: &[LocationIndex], count: usize) -> bool {
    let Some(last) =
        u32::try_from(count).ok().filter(|&count| count <= 1 << 31).and_then(|count| count.checked_sub(1))
    else {
        return stacks.is_empty();
    };
    work::count(stacks.len());
    // The upper bit of the sum of bits tells whether some entry is negative or beyond the last: a loop without branches,
    // which compilers turn into vector instructions.
    let bits = stacks.iter().fold(0, |bits, location| bits | location.0 | last.wrapping_sub(location.0));
    bits >> 31 == 0
}

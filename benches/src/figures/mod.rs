//! The figures of `make bench`, one module each.

pub mod answers;
pub mod decode;
pub mod flame;
pub mod ingest;
pub mod merge;
pub mod rules;

use testkit::FleetOptions;

use crate::{BenchError, figure::Figure, set::Set};

/// How fast the bare walk must be against `gzip -dc` for ratios to it to mean anything.
pub const WALK_OVER_GZIP_MIN: f64 = 6.0;

/// Sets that figures share; each is loaded when the first figure asks for it.
#[derive(Default)]
pub struct Sets {
    mix: Option<Set>,
    one: Option<Set>,
    thousand: Option<Set>,
}

impl Sets {
    /// Five services from large to tiny, 2,000 profiles.
    ///
    /// # Errors
    /// When it cannot be drawn or read.
    pub fn mix(&mut self) -> Result<&Set, BenchError> {
        load(&mut self.mix, "mix", &FleetOptions::mix())
    }

    /// One service with a heavy tail, 10,240 profiles.
    ///
    /// # Errors
    /// When it cannot be drawn or read.
    pub fn one(&mut self) -> Result<&Set, BenchError> {
        load(&mut self.one, "one", &FleetOptions::one())
    }

    /// 1,000 services, one small profile each.
    ///
    /// # Errors
    /// When it cannot be drawn or read.
    pub fn thousand(&mut self) -> Result<&Set, BenchError> {
        load(&mut self.thousand, "thousand", &FleetOptions::thousand())
    }
}

fn load<'a>(place: &'a mut Option<Set>, name: &str, options: &FleetOptions) -> Result<&'a Set, BenchError> {
    let set = match place.take() {
        Some(set) => set,
        None => Set::load(name, options)?,
    };
    Ok(place.insert(set))
}

/// A family of figures: the names it gives begin with its own.
pub struct Family {
    /// What `ONLY=` may name, beside a figure's own name.
    pub name: &'static str,
    /// Measures the family.
    pub measure: fn(&mut Sets) -> Result<Vec<Figure>, BenchError>,
}

/// All families in the order in which they are printed.
pub const FAMILIES: &[Family] = &[
    Family { name: "decode", measure: decode::measure },
    Family { name: "ingest-mix", measure: ingest::mix },
    Family { name: "ingest-tail", measure: ingest::tail },
    Family { name: "merge", measure: merge::measure },
    Family { name: "flame", measure: flame::measure },
    Family { name: "query", measure: answers::measure },
    Family { name: "rules", measure: rules::measure },
];

//! The figures of `make bench-server`: the release binary under load, as a process of its own.
//!
//! Sets come from the shared load generator `sidebyside`, because limits and the figures of other servers refer to its
//! sets. CPU is user + system time of all threads of the server, from before the load until the last profile is in a
//! block and the process is idle.

pub mod everflame;
pub mod load;
pub mod paced;
pub mod pushes;
pub mod queries;
pub mod scraped;
pub mod sidebyside;
pub mod single;

use crate::{BenchError, figure::Figure};
use everflame::Binary;
use sidebyside::SideBySide;

/// What figures are measured with.
pub struct Bench {
    /// The program under test.
    pub binary: Binary,
    /// The load generator.
    pub generator: SideBySide,
}

/// A family of figures: the names it gives begin with its own.
pub struct Family {
    /// What `ONLY=` may name.
    pub name: &'static str,
    /// Measures the family.
    pub measure: fn(&Bench) -> Result<Vec<Figure>, BenchError>,
}

/// All families in the order in which they are printed.
pub const FAMILIES: &[Family] = &[
    Family { name: "mix", measure: pushes::mix },
    Family { name: "one", measure: pushes::one },
    Family { name: "large", measure: pushes::large },
    Family { name: "paced", measure: paced::measure },
    Family { name: "query", measure: queries::measure },
    Family { name: "scraped", measure: scraped::measure },
    Family { name: "latency", measure: single::latency },
    Family { name: "top", measure: single::top },
    Family { name: "start", measure: single::start },
    Family { name: "load", measure: load::measure },
];

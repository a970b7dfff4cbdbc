//! What a run over seeded damage is made of, for every test of a fuzz body. It is said where everybody sees it: the test
//! harness keeps what `println!` writes in a test that passes to itself, so this writes to stdout directly.

use std::io::Write;

use crate::Random;

/// Seed and number of cases of one run.
#[derive(Clone, Copy, Debug)]
pub struct FuzzRun {
    /// Where the random numbers begin.
    pub seed: u64,
    /// How many inputs are made and tried.
    pub cases: u64,
}

impl FuzzRun {
    /// The run that `EVERFLAME_FUZZ_SEED` and `EVERFLAME_FUZZ_CASES` ask for, else this one. Says name, count and seed.
    #[must_use]
    pub fn begin(name: &str, seed: u64, cases: u64) -> Self {
        let setting = |variable: &str, otherwise| {
            std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
        };
        let run = Self {
            seed: setting("EVERFLAME_FUZZ_SEED", seed),
            cases: setting("EVERFLAME_FUZZ_CASES", cases),
        };
        let line = format!("fuzz {name}: {} cases, seed {}\n", run.cases, run.seed);
        // Nobody may be listening, which is no reason to fail.
        let _ = std::io::stdout().lock().write_all(line.as_bytes());
        run
    }

    /// Its random numbers; tests of one seed differ by their stream.
    #[must_use]
    pub fn random(&self, stream: u64) -> Random {
        Random::new(self.seed, stream)
    }
}

//! A small seeded generator of random numbers: equal seeds give equal numbers on every machine and in every version.

/// xoshiro256**, seeded by splitmix64.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator for a seed and a stream; streams of one seed do not overlap in practice.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut next = seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95);
        let state = std::array::from_fn(|_| {
            next = next.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(next)
        });
        Self { state }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let out = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        out
    }

    /// A number below `bound`, which must not be 0. The bias of the multiplication is below 2⁻³² for bounds of a table.
    pub fn below(&mut self, bound: usize) -> usize {
        debug_assert!(bound > 0);
        let wide = u128::from(self.next_u64()) * bound as u128;
        usize::try_from(wide >> 64).unwrap_or_default()
    }

    /// A number from 0 up to but not including 1.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Spreads every bit of the input over the output (splitmix64's last step).
#[must_use]
pub(crate) fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

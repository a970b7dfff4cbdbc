//! Numbers that a merge adds up: plain 64-bit sums, or wide ones where values are averaged or of both signs.

use std::ops::{AddAssign, Sub};

/// How an average is kept whole: values × `denominator` ÷ `rounds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    /// See [`crate::plan::Plan::denominator`].
    pub denominator: i128,
    /// Collection rounds.
    pub rounds: u32,
}

/// A sum in progress.
pub(crate) trait Amount: Copy + Default + Ord + AddAssign + Sub<Output = Self> + Send + Sync {
    /// A value as part of a sum.
    fn scaled(value: i64, scale: Scale) -> Self;
    /// Adds a value.
    #[inline]
    fn add_scaled(&mut self, value: i64, scale: Scale) {
        // Most places have no value, and scaling divides.
        if value != 0 {
            *self += Self::scaled(value, scale);
        }
    }
    /// The sum for further arithmetic; still scaled.
    fn wide(self) -> i128;
    /// The distance from zero.
    fn magnitude(self) -> Self;
}

impl Amount for i64 {
    #[inline]
    fn scaled(value: i64, _: Scale) -> Self {
        value
    }

    #[inline]
    fn add_scaled(&mut self, value: i64, _: Scale) {
        // Without a branch, which could not be foretold.
        *self += value;
    }

    fn wide(self) -> i128 {
        i128::from(self)
    }

    fn magnitude(self) -> Self {
        self.saturating_abs()
    }
}

impl Amount for i128 {
    #[inline]
    fn scaled(value: i64, scale: Scale) -> Self {
        divide_rounded(Self::from(value) * scale.denominator, Self::from(scale.rounds.max(1)))
    }

    fn wide(self) -> i128 {
        self
    }

    fn magnitude(self) -> Self {
        self.saturating_abs()
    }
}

/// The nearest whole number, halves upwards.
pub(crate) fn divide_rounded(value: i128, divisor: i128) -> i128 {
    // Most sums are divided by one, and a division of this width is a call.
    if divisor == 1 { value } else { (value + divisor / 2).div_euclid(divisor) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_up_on_both_sides_of_zero() {
        let cases = [(7, 2, 4), (6, 4, 2), (5, 4, 1), (-7, 2, -3), (-5, 4, -1), (0, 3, 0), (10, 1, 10)];
        for (value, divisor, expected) in cases {
            assert_eq!(divide_rounded(value, divisor), expected, "{value} / {divisor}");
        }
    }
}

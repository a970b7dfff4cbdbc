//! The greatest common divisor of a column, and division by it.
//!
//! Columns of counts times a period (Go's `cpu` is its `samples` times 10 ms) become small numbers by it, in the log and
//! the head as in blocks. Not for numbers that it does not divide.

/// A divisor of all values of a column. Dividing what it divides is a shift and a product with the inverse of its odd part
/// modulo 2⁶⁴ (Granlund and Montgomery 1994, §9), many times as fast as the machine's division.
#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    value: u64,
    shift: u32,
    inverse: u64,
    /// Largest multiple of the odd part, divided by it.
    quotient_max: u64,
}

impl Divisor {
    /// `value` is not 0.
    fn new(value: u64) -> Self {
        let shift = value.trailing_zeros();
        let odd = value >> shift;
        // Newton's steps double the number of right bits, of which an odd number has three by itself.
        let inverse = (0..5)
            .fold(odd, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))));
        Self { value, shift, inverse, quotient_max: u64::MAX / odd }
    }

    /// The greatest common divisor of all magnitudes; `None` where all are 0.
    #[must_use]
    pub fn of_all(values: &[i64]) -> Option<Self> {
        let mut magnitudes = values.iter().map(|value| value.unsigned_abs()).filter(|&value| value != 0);
        let mut divisor = Self::new(magnitudes.next()?);
        for magnitude in magnitudes {
            if divisor.value == 1 {
                break;
            }
            if !divisor.divides(magnitude) {
                divisor = Self::new(greatest_common_divisor(divisor.value, magnitude));
            }
        }
        Some(divisor)
    }

    /// The number.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.value
    }

    #[inline]
    fn divides(&self, value: u64) -> bool {
        let low_bits = value & ((1 << self.shift) - 1);
        low_bits == 0 && (value >> self.shift).wrapping_mul(self.inverse) <= self.quotient_max
    }

    /// Divides a multiple; any other number gives nonsense.
    #[inline]
    #[must_use]
    pub fn divide(&self, multiple: u64) -> u64 {
        debug_assert!(self.divides(multiple));
        (multiple >> self.shift).wrapping_mul(self.inverse)
    }
}

fn greatest_common_divisor(mut left: u64, mut right: u64) -> u64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_is_that_of_the_machine() {
        let shifts = (0..64).map(|shift| 1u64 << shift);
        for value in
            (1..200).chain(shifts).chain([10_000_000, 6_000_000_007, u64::MAX, u64::MAX / 3, 3 << 40])
        {
            let divisor = Divisor::new(value);
            for factor in [0, 1, 2, 3, 7, 255, 65_537, u64::MAX / value] {
                if let Some(multiple) = value.checked_mul(factor) {
                    assert!(divisor.divides(multiple));
                    assert_eq!(divisor.divide(multiple), factor, "{multiple} / {value}");
                    for near in [multiple.wrapping_add(1), multiple.wrapping_sub(1), multiple ^ 1 << 33] {
                        assert_eq!(divisor.divides(near), near % value == 0, "{near} / {value}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_greatest_common_divisor_of_all_is_found() {
        assert!(Divisor::of_all(&[]).is_none());
        assert!(Divisor::of_all(&[0, 0]).is_none());
        let of = |values: &[i64]| Divisor::of_all(values).map(|divisor| divisor.value());
        assert_eq!(of(&[0, -12, 18, 0]), Some(6));
        assert_eq!(of(&[i64::MIN, 0]), Some(1 << 63));
        assert_eq!(of(&[i64::MIN, 48]), Some(16));
        assert_eq!(of(&[10_000_000, 30_000_000, 20_000_000]), Some(10_000_000));
        assert_eq!(of(&[7, 11, 1 << 40]), Some(1));
    }
}

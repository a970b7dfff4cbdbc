//! Decimal numbers as exact amounts: time in units of any size, weights with a fraction.
//!
//! A number is read digit by digit, never through a floating-point number: seconds since 1970 with nine digits behind the
//! point do not fit into one.

/// Digits behind the point that a [`Fixed`] keeps.
const FRACTION_DIGITS: i32 = 9;

/// One, as a [`Fixed`].
const ONE: i128 = 1_000_000_000;

/// Digits of a number that are read; the others are below anything that is kept.
const DIGITS_MAX: u32 = 36;

/// An amount in billionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fixed(i128);

impl Fixed {
    /// Reads a JSON number that counts units of ten to the power of `exponent`; `None` where it is no number or its size
    /// passes 64 bits by far.
    pub(super) fn read(text: &[u8], exponent: i32) -> Option<Self> {
        let (is_negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let end = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
        let (digits, power) = text.split_at(end);
        let mut shift = exponent + FRACTION_DIGITS;
        if let [_, power @ ..] = power {
            let power = std::str::from_utf8(power).ok()?;
            // larger ones say zero or far too much either way
            shift = shift.checked_add(power.parse::<i32>().ok()?.clamp(-1_000_000, 1_000_000))?;
        }
        let (mut amount, mut count, mut has_digit, mut is_behind_point) = (0_u128, 0_u32, false, false);
        for &byte in digits {
            match byte {
                b'.' if has_digit && !is_behind_point => is_behind_point = true,
                b'0'..=b'9' => {
                    has_digit = true;
                    let is_read = count < DIGITS_MAX;
                    if is_read {
                        amount = amount * 10 + u128::from(byte - b'0');
                        count += u32::from(amount > 0);
                    }
                    // each digit behind the point makes the number smaller, each one that is not read larger
                    shift =
                        shift.checked_sub(i32::from(is_behind_point))?.checked_add(i32::from(!is_read))?;
                }
                _ => return None,
            }
        }
        if !has_digit {
            return None;
        }
        let amount = i128::try_from(scaled(amount, shift)?).ok()?;
        Some(Self(if is_negative { -amount } else { amount }))
    }

    /// The sum; `None` where it does not fit.
    pub(super) fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The nearest whole number, half away from zero; `None` where it does not fit.
    pub(super) fn rounded(self) -> Option<i64> {
        let half = if self.0 < 0 { -ONE / 2 } else { ONE / 2 };
        i64::try_from(self.0.checked_add(half)? / ONE).ok()
    }
}

/// `amount` times ten to the power of `shift`, without what is left below one: rounding is done once, at the end.
fn scaled(amount: u128, shift: i32) -> Option<u128> {
    let power = shift.unsigned_abs();
    match (amount, 10_u128.checked_pow(power)) {
        (0, _) => Some(0),
        (_, Some(power)) if shift >= 0 => amount.checked_mul(power),
        (_, Some(power)) => Some(amount / power),
        (_, None) => (shift < 0).then_some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, exponent: i32) -> Option<i64> {
        Fixed::read(text.as_bytes(), exponent)?.rounded()
    }

    #[test]
    fn numbers_are_exact() {
        for (text, exponent, value) in [
            ("0", 9, 0),
            ("14", 9, 14_000_000_000),
            ("1730000000.123456789", 9, 1_730_000_000_123_456_789),
            ("-1.5", 3, -1_500),
            ("1e3", 0, 1_000),
            ("1.25E-2", 6, 12_500),
            ("0.5", 0, 1),
            ("0.49999999999", 0, 0),
            ("-0.5", 0, -1),
            ("9223372036854775807", 0, i64::MAX),
            ("1e-400", 9, 0),
            ("0e999999999", 9, 0),
            ("00000000000000000000000000000000000000000000000001", 0, 1),
            ("0.0000000000000000000000000000000000000000000000001", 9, 0),
        ] {
            assert_eq!(read(text, exponent), Some(value), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_or_is_no_number_is_none() {
        for text in
            ["9223372036854775808", "1e400", "1e99999999999", "", "-", ".", ".5", "1.2.3", "1e", "--1", "e5"]
        {
            assert_eq!(read(text, 0), None, "{text}");
        }
        assert_eq!(read("9223372037", 9), None);
    }

    #[test]
    fn rounded_sums_lose_nothing() {
        let third = Fixed::read(b"0.3333333333", 0).unwrap();
        let (mut sum, mut values) = (Fixed::default(), Vec::new());
        for _ in 0..30 {
            let next = sum.plus(third).unwrap();
            values.push(next.rounded().unwrap() - sum.rounded().unwrap());
            sum = next;
        }
        assert_eq!(values.iter().sum::<i64>(), 10);
        assert!(values.iter().all(|value| (0..=1).contains(value)));
    }
}

//! Exact fractions of 128-bit integers; every operation that would leave them answers `None`.

use std::cmp::Ordering;
use std::fmt;

/// A fraction in lowest terms with a positive denominator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rational {
    numerator: i128,
    denominator: i128,
}

impl Rational {
    /// The fraction `numerator / denominator`; `None` when the denominator is zero or the result does not fit.
    #[must_use]
    pub fn new(numerator: i128, denominator: i128) -> Option<Self> {
        let divisor =
            i128::try_from(greatest_common_divisor(numerator.unsigned_abs(), denominator.unsigned_abs())).ok()?;
        if denominator == 0 {
            return None;
        }
        let (numerator, denominator) = (numerator / divisor, denominator / divisor);
        if denominator < 0 {
            return Some(Self { numerator: numerator.checked_neg()?, denominator: denominator.checked_neg()? });
        }
        Some(Self { numerator, denominator })
    }

    /// A whole number.
    #[must_use]
    pub fn whole(number: i64) -> Self {
        Self { numerator: i128::from(number), denominator: 1 }
    }

    /// The numerator in lowest terms.
    #[must_use]
    pub const fn numerator(self) -> i128 {
        self.numerator
    }

    /// The denominator in lowest terms, above zero.
    #[must_use]
    pub const fn denominator(self) -> i128 {
        self.denominator
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Option<Self> {
        let left = self.numerator.checked_mul(other.denominator)?;
        let right = other.numerator.checked_mul(self.denominator)?;
        Self::new(left.checked_add(right)?, self.denominator.checked_mul(other.denominator)?)
    }

    /// The difference.
    #[must_use]
    pub fn minus(self, other: Self) -> Option<Self> {
        self.plus(Self { numerator: other.numerator.checked_neg()?, denominator: other.denominator })
    }

    /// The product.
    #[must_use]
    pub fn times(self, other: Self) -> Option<Self> {
        // Crossing out first keeps the intermediate products as small as the result.
        let first = Self::new(self.numerator, other.denominator)?;
        let second = Self::new(other.numerator, self.denominator)?;
        Self::new(first.numerator.checked_mul(second.numerator)?, first.denominator.checked_mul(second.denominator)?)
    }

    /// The quotient; `None` also when `other` is zero.
    #[must_use]
    pub fn over(self, other: Self) -> Option<Self> {
        self.times(Self::new(other.denominator, other.numerator)?)
    }

    /// Compares the two; `None` when that cannot be told within 128 bits.
    #[must_use]
    pub fn compare(self, other: Self) -> Option<Ordering> {
        let left = self.numerator.checked_mul(other.denominator)?;
        Some(left.cmp(&other.numerator.checked_mul(self.denominator)?))
    }
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.denominator == 1 {
            write!(f, "{}", self.numerator)
        } else {
            write!(f, "{}/{}", self.numerator, self.denominator)
        }
    }
}

/// Euclid's algorithm; of zero and zero it is one, so that it can always be divided by.
fn greatest_common_divisor(mut left: u128, mut right: u128) -> u128 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fraction(numerator: i128, denominator: i128) -> Rational {
        Rational::new(numerator, denominator).expect("a fraction")
    }

    #[test]
    fn fractions_are_exact_and_in_lowest_terms() {
        assert_eq!(fraction(6, -8), fraction(-3, 4));
        assert_eq!(fraction(1, 3).plus(fraction(1, 6)), Some(fraction(1, 2)));
        assert_eq!(fraction(1, 3).minus(fraction(1, 3)), Some(Rational::whole(0)));
        assert_eq!(fraction(2, 3).times(fraction(3, 4)), Some(fraction(1, 2)));
        assert_eq!(fraction(2, 3).over(fraction(4, 9)), Some(fraction(3, 2)));
        assert_eq!(fraction(1, 3).compare(fraction(2, 5)), Some(Ordering::Less));
        assert_eq!(fraction(-3, 4).to_string(), "-3/4");
    }

    #[test]
    fn overflow_and_division_by_zero_are_none() {
        assert_eq!(Rational::new(1, 0), None);
        assert_eq!(Rational::whole(1).over(Rational::whole(0)), None);
        assert_eq!(fraction(i128::MAX, 1).plus(Rational::whole(1)), None);
        assert_eq!(fraction(i128::MAX, 1).times(Rational::whole(2)), None);
        assert_eq!(Rational::new(i128::MIN, -1), None);
    }
}

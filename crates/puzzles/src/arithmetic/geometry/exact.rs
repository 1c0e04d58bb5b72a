//! Plane geometry in exact fractions, which counts its own work.

use palestra_environment::verifier::rational::Rational;

/// A point by its two coordinates.
pub(super) type Point = [Rational; 2];

/// Exact arithmetic that counts products of digits, as in written multiplication; a division counts like a product. All
/// operations answer `None` where the result leaves 128 bits or a divisor is zero.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Products of digits so far.
    pub(super) products: u64,
}

impl Ledger {
    fn times(&mut self, left: Rational, right: Rational) -> Option<Rational> {
        self.products += length(left) * length(right);
        left.times(right)
    }

    pub(super) fn over(&mut self, left: Rational, right: Rational) -> Option<Rational> {
        self.products += length(left) * length(right);
        left.over(right)
    }

    /// `left + right` by a common denominator.
    fn plus(&mut self, left: Rational, right: Rational) -> Option<Rational> {
        if left.denominator() != right.denominator() {
            self.products += length(left) * length(right);
        }
        left.plus(right)
    }

    fn minus(&mut self, left: Rational, right: Rational) -> Option<Rational> {
        self.plus(left, right.times(Rational::whole(-1))?)
    }

    /// The way from one point to another.
    fn way(&mut self, from: Point, to: Point) -> Option<Point> {
        Some([self.minus(to[0], from[0])?, self.minus(to[1], from[1])?])
    }

    /// `left.x * right.y - left.y * right.x`.
    fn cross(&mut self, left: Point, right: Point) -> Option<Rational> {
        let (one, other) = (self.times(left[0], right[1])?, self.times(left[1], right[0])?);
        self.minus(one, other)
    }

    fn dot(&mut self, left: Point, right: Point) -> Option<Rational> {
        let (one, other) = (self.times(left[0], right[0])?, self.times(left[1], right[1])?);
        self.plus(one, other)
    }

    /// The point at `share` of the way on from `from`.
    fn along(&mut self, from: Point, way: Point, share: Rational) -> Option<Point> {
        let (x, y) = (self.times(way[0], share)?, self.times(way[1], share)?);
        Some([self.plus(from[0], x)?, self.plus(from[1], y)?])
    }

    /// Twice the area of a polygon, positive where its corners go round counterclockwise (the shoelace formula).
    pub(super) fn doubled_area(&mut self, corners: &[Point]) -> Option<Rational> {
        let next = corners.iter().cycle().skip(1);
        corners.iter().zip(next).try_fold(Rational::whole(0), |sum, (corner, next)| {
            let product = self.cross(*corner, *next)?;
            self.plus(sum, product)
        })
    }

    /// Side of `c` seen from the line from `a` to `b`: to the left (above zero), on it (zero) or to its right.
    pub(super) fn side(&mut self, a: Point, b: Point, c: Point) -> Option<Rational> {
        let (first, second) = (self.way(a, b)?, self.way(a, c)?);
        self.cross(first, second)
    }

    /// The tangent of the angle at `b` between `a` and `c`; `None` for a right one.
    pub(super) fn tangent(&mut self, a: Point, b: Point, c: Point) -> Option<Rational> {
        let (first, second) = (self.way(b, a)?, self.way(b, c)?);
        let (cross, dot) = (self.cross(first, second)?, self.dot(first, second)?);
        let size = if cross.numerator() < 0 { cross.times(Rational::whole(-1))? } else { cross };
        self.over(size, dot)
    }

    /// The square of the distance of `c` from the line through `a` and `b`.
    pub(super) fn squared_distance(&mut self, a: Point, b: Point, c: Point) -> Option<Rational> {
        let way = self.way(a, b)?;
        let side = self.side(a, b, c)?;
        let (square, length) = (self.times(side, side)?, self.dot(way, way)?);
        self.over(square, length)
    }

    /// Where the line through `a` and `b` meets the line through `c` and `d`; `None` for parallels.
    pub(super) fn crossing(&mut self, [a, b, c, d]: [Point; 4]) -> Option<Point> {
        let (first, second, between) = (self.way(a, b)?, self.way(c, d)?, self.way(a, c)?);
        let (top, bottom) = (self.cross(between, second)?, self.cross(first, second)?);
        let share = self.over(top, bottom)?;
        self.along(a, first, share)
    }

    /// The mirror image of `c` in the line through `a` and `b`.
    pub(super) fn mirror(&mut self, a: Point, b: Point, c: Point) -> Option<Point> {
        let (line, way) = (self.way(a, b)?, self.way(a, c)?);
        let (top, bottom) = (self.dot(way, line)?, self.dot(line, line)?);
        let share = self.over(top, bottom)?;
        let foot = self.along(a, line, share)?;
        let back = self.way(c, foot)?;
        self.along(c, back, Rational::whole(2))
    }

    /// The centre of the circle through three points.
    pub(super) fn circumcentre(&mut self, a: Point, b: Point, c: Point) -> Option<Point> {
        let (first, second) = (self.way(a, b)?, self.way(a, c)?);
        let (first_square, second_square) = (self.dot(first, first)?, self.dot(second, second)?);
        let bottom = self.cross(first, second)?.times(Rational::whole(2))?;
        let top = self.cross([first_square, first[1]], [second_square, second[1]])?;
        let x = self.over(top, bottom)?;
        let top = self.cross([first[0], first_square], [second[0], second_square])?;
        let y = self.over(top, bottom)?;
        Some([self.plus(a[0], x)?, self.plus(a[1], y)?])
    }

    /// Number of steps from one point of whole coordinates to the next that an edge has: Euclid's algorithm.
    pub(super) const fn steps(&mut self, [x, y]: [i64; 2], [next_x, next_y]: [i64; 2]) -> i64 {
        let (mut left, mut right) = ((next_x - x).abs(), (next_y - y).abs());
        while right != 0 {
            self.products += 1;
            (left, right) = (right, left % right);
        }
        left
    }

    /// Part of a polygon within a convex polygon with corners counterclockwise: Sutherland and Hodgman, "Reentrant
    /// Polygon Clipping" (1974).
    pub(super) fn clip(&mut self, corners: &[Point], window: &[Point]) -> Option<Vec<Point>> {
        let mut left = corners.to_vec();
        for (a, b) in window.iter().zip(window.iter().cycle().skip(1)) {
            let mut kept = Vec::new();
            for (corner, next) in left.iter().zip(left.iter().cycle().skip(1)) {
                let here = self.side(*a, *b, *corner)?.numerator().signum();
                let there = self.side(*a, *b, *next)?.numerator().signum();
                if here >= 0 {
                    kept.push(*corner);
                }
                if here * there < 0 {
                    kept.push(self.crossing([*corner, *next, *a, *b])?);
                }
            }
            left = kept;
        }
        Some(left)
    }
}

/// Digits of a fraction, those of a denominator of one left out.
fn length(number: Rational) -> u64 {
    let digits = |value: i128| u64::from(value.unsigned_abs().checked_ilog10().unwrap_or(0)) + 1;
    digits(number.numerator()) + if number.denominator() == 1 { 0 } else { digits(number.denominator()) }
}

/// A point of whole coordinates.
pub(super) fn point([x, y]: [i64; 2]) -> Point {
    [Rational::whole(x), Rational::whole(y)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points<const N: usize>(points: [[i64; 2]; N]) -> [Point; N] {
        points.map(point)
    }

    fn shown(point: Option<Point>) -> Option<String> {
        point.map(|[x, y]| format!("{x} {y}"))
    }

    #[test]
    fn points_are_those_of_the_textbook() {
        let mut ledger = Ledger::default();
        let [a, b, c, d] = points([[0, 0], [4, 4], [0, 4], [4, 0]]);
        assert_eq!(shown(ledger.crossing([a, b, c, d])).as_deref(), Some("2 2"));
        assert_eq!(ledger.crossing([a, d, c, b]), None, "parallels");
        assert_eq!(shown(ledger.mirror(a, b, d)).as_deref(), Some("0 4"));
        assert_eq!(shown(ledger.circumcentre(a, c, d)).as_deref(), Some("2 2"));
        assert_eq!(ledger.squared_distance(a, b, d), Some(Rational::whole(8)));
        let [a, b, c] = points([[0, 0], [3, 1], [1, 2]]);
        assert_eq!(shown(ledger.mirror(a, b, c)).as_deref(), Some("2 -1"));
        assert_eq!(ledger.squared_distance(a, b, c), Rational::new(5, 2));
        assert_eq!(ledger.tangent(b, a, c), Some(Rational::whole(1)));
        assert_eq!(ledger.tangent(a, c, b), None, "a right angle");
        assert!(ledger.products > 0);
    }

    #[test]
    fn the_rest_of_a_clipped_polygon_is_the_overlap() {
        let mut ledger = Ledger::default();
        let square = points([[0, 0], [4, 0], [4, 4], [0, 4]]);
        for (other, doubled) in [
            (points([[2, 2], [6, 2], [2, 6]]), 8),
            (points([[1, 1], [3, 1], [1, 3]]), 4),
            (points([[-9, -9], [40, -9], [-9, 40]]), 32),
            (points([[5, 5], [9, 5], [5, 9]]), 0),
        ] {
            let rest = ledger.clip(&square, &other).expect("a polygon");
            assert_eq!(ledger.doubled_area(&rest), Some(Rational::whole(doubled)), "{other:?}");
        }
    }
}

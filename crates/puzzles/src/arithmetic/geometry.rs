//! `puzzle/geometry`: questions about points, lines and polygons whose answers are fractions.

mod exact;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::exact::{Ledger, Point, point};
use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};
use palestra_environment::verifier::number::Written;
use palestra_environment::verifier::rational::Rational;

/// Coordinates of triangles that overlap go from minus this to this, so that the fractions stay short.
const OVERLAP_SPREAD_MAX: i64 = 20;

/// The largest denominator of an answer.
const DENOMINATOR_MAX: i128 = 1_000_000;

/// The corners of a polygon lie all round a point inside.
static ROUND: Requirement = Requirement::new("round", "the corners of a polygon lie all round a point inside", 0.12);

/// Points and lines are in a position that has an answer.
static DECIDED: Requirement =
    Requirement::new("decided", "points and lines are in a position that has an answer", 0.02);

/// The answer is not zero, and a mirror image is another point.
static GENERAL: Requirement =
    Requirement::new("general", "the answer is not zero, and a mirror image is another point", 0.05);

/// The fractions of the answer are short.
static SHORT: Requirement = Requirement::new("short", "the fractions of the answer are short", 0.05);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Geometry;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    asked: Asked,
    /// Named A, B, C and so on.
    points: Vec<[i64; 2]>,
}

/// Kinds of questions, from the easiest to the hardest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Asked {
    /// The tangent of the angle ABC.
    Tangent,
    /// The area of a polygon.
    Area,
    /// The square of the distance of C from the line AB.
    SquaredDistance,
    /// Where the lines AB and CD meet.
    Crossing,
    /// The image of C in the line AB.
    Mirror,
    /// The centre of the circle through A, B and C.
    Circumcentre,
    /// Points of whole coordinates strictly inside a polygon.
    InnerPoints,
    /// The area that the triangles ABC and DEF have in common.
    Overlap,
}

impl Asked {
    const ALL: [Self; 8] = [
        Self::Tangent,
        Self::Area,
        Self::SquaredDistance,
        Self::Crossing,
        Self::Mirror,
        Self::Circumcentre,
        Self::InnerPoints,
        Self::Overlap,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Tangent => "tangent",
            Self::Area => "area",
            Self::SquaredDistance => "squared_distance",
            Self::Crossing => "crossing",
            Self::Mirror => "mirror",
            Self::Circumcentre => "circumcentre",
            Self::InnerPoints => "inner_points",
            Self::Overlap => "overlap",
        }
    }

    const fn is_point(self) -> bool {
        matches!(self, Self::Crossing | Self::Mirror | Self::Circumcentre)
    }
}

impl Instance {
    /// The right answer, one number or the two of a point, and the work that it took; `None` where there is none.
    fn truth(&self) -> Option<(Vec<Rational>, u64)> {
        let mut ledger = Ledger::default();
        let points: Vec<Point> = self.points.iter().copied().map(point).collect();
        let truth = match (self.asked, points.as_slice()) {
            (Asked::Tangent, [a, b, c]) => vec![ledger.tangent(*a, *b, *c)?],
            (Asked::Area, corners) => vec![area(&mut ledger, corners)?],
            (Asked::SquaredDistance, [a, b, c]) => vec![ledger.squared_distance(*a, *b, *c)?],
            (Asked::Crossing, [a, b, c, d]) => ledger.crossing([*a, *b, *c, *d])?.to_vec(),
            (Asked::Mirror, [a, b, c]) => ledger.mirror(*a, *b, *c)?.to_vec(),
            (Asked::Circumcentre, [a, b, c]) => ledger.circumcentre(*a, *b, *c)?.to_vec(),
            (Asked::InnerPoints, corners) => {
                // Pick's theorem: the area is the inner points and half of those on the edge, less one.
                let next = self.points.iter().cycle().skip(1);
                let edge: i64 = self.points.iter().zip(next).map(|(here, next)| ledger.steps(*here, *next)).sum();
                let rest = Rational::new(i128::from(edge), 2)?.minus(Rational::whole(1))?;
                vec![area(&mut ledger, corners)?.minus(rest)?]
            }
            (Asked::Overlap, [a, b, c, d, e, f]) => {
                let window = counterclockwise(&mut ledger, [*d, *e, *f])?;
                let common = ledger.clip(&[*a, *b, *c], &window)?;
                vec![area(&mut ledger, &common)?]
            }
            _ => return None,
        };
        Some((truth, ledger.products))
    }

    /// Holds the problem to what is worth asking for: points in general position, and an answer of short fractions.
    fn examine(&self) -> Result<(), Refusal> {
        let (truth, _) = self.truth().ok_or(&DECIDED)?;
        let short = truth.iter().all(|number| number.denominator() <= DENOMINATOR_MAX);
        let general = match (self.asked, self.points.as_slice()) {
            (Asked::Mirror, [.., c]) => truth != point(*c),
            (Asked::Crossing | Asked::Circumcentre, _) => true,
            _ => truth.iter().all(|number| number.numerator() != 0),
        };
        GENERAL.demand(general)?;
        SHORT.demand(short)
    }

    /// The points from one to another by their names: `A(1, 2), B(3, 4)`.
    fn named(&self) -> String {
        let named = ('A'..='Z').zip(&self.points).map(|(name, [x, y])| format!("{name}({x}, {y})"));
        named.collect::<Vec<_>>().join(", ")
    }
}

impl Question for Geometry {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "geometry",
            version: 1,
            category: Category::Arithmetic,
            tags: &[],
            multi_turn: false,
            description: "Answer a question about points, lines, circles or polygons in the plane with an exact number or point.",
            rule: "The number, or both coordinates of the point, have to be equal to the truth exactly, as a fraction or a decimal in any usual spelling.",
            scale: "Harder questions, larger coordinates and polygons of more corners.",
            effort: "Calculates in exact fractions by hand; products of digits.",
            floor: 0.02,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let level = |easy, hard| usize::try_from(scale(difficulty, easy, hard)).unwrap_or(0);
        let asked = Asked::ALL[rng.random_range(level(0, 4)..=level(2, 7))];
        let spread = i64::from(scale(difficulty, 9, 60));
        draws.domain("asked", Asked::ALL.map(Asked::name));
        draws.note("asked", asked.name());
        let points = match asked {
            Asked::Area | Asked::InnerPoints => star(rng, level(4, 10), spread).ok_or(&ROUND)?,
            Asked::Overlap => scatter(rng, 6, spread.min(OVERLAP_SPREAD_MAX)),
            Asked::Crossing => scatter(rng, 4, spread),
            _ => scatter(rng, 3, spread),
        };
        let instance = Instance { asked, points };
        instance.examine()?;
        Ok(instance)
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"asked": instance.asked, "points": instance.points})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let last = ('A'..='Z').nth(instance.points.len().saturating_sub(1)).unwrap_or('Z');
        let polygon = format!("the polygon with the corners A to {last}, in this order");
        let asked = match instance.asked {
            Asked::Tangent => {
                "What is the tangent of the angle ABC, which has its corner at B and lies between 0 and 180 degrees (the \
                 tangent of an obtuse angle is negative)?"
                    .to_owned()
            }
            Asked::Area => format!("What is the area of {polygon}?"),
            Asked::SquaredDistance => {
                "What is the square of the distance from the point C to the line through A and B?".to_owned()
            }
            Asked::Crossing => {
                "In which point does the line through A and B meet the line through C and D? (Lines have no ends.)".to_owned()
            }
            Asked::Mirror => "What is the mirror image of the point C in the line through A and B?".to_owned(),
            Asked::Circumcentre => "Which point is the centre of the circle through A, B and C?".to_owned(),
            Asked::InnerPoints => {
                format!("How many points with two whole coordinates lie strictly inside {polygon} (on an edge is not inside)?")
            }
            Asked::Overlap => {
                "What is the area that the triangle ABC and the triangle DEF have in common?".to_owned()
            }
        };
        let form = if instance.asked.is_point() { "a point such as (7/3, -2)" } else { "a number such as 7/3" };
        format!(
            "Points of the plane: {}\n{asked}\nThe answer is {form}, exact: fractions (or decimals that end), no roots, no \
             rounding.",
            instance.named()
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let Some((truth, _)) = instance.truth() else { return Mark::wrong("there is no answer") };
        let read = if instance.asked.is_point() { read_point(answer) } else { number(answer).map(|read| vec![read]) };
        match read {
            None => Mark::wrong("the answer does not have the form that was asked for"),
            Some(read) if read == truth => Mark::right(format!("it is {}", write(&truth))),
            Some(read) => Mark::wrong(format!("it is {}, not {}", write(&truth), write(&read))),
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        instance.truth().map_or_else(String::new, |(truth, _)| write(&truth))
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let mut number = || Rational::new(rng.random_range(-200..=200), rng.random_range(1..=4));
        let numbers: Option<Vec<Rational>> = (0..=u8::from(instance.asked.is_point())).map(|_| number()).collect();
        write(&numbers.unwrap_or_default())
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // A slip in a numerator: another value, since the denominator stays.
        let mut truth = instance.truth().map(|(truth, _)| truth).unwrap_or_default();
        let place = rng.random_range(0..truth.len());
        let slip = [-10, -2, -1, 1, 2, 10][rng.random_range(0..6)];
        let slipped = Rational::new(truth[place].numerator() + slip, truth[place].denominator());
        truth[place] = slipped.unwrap_or(truth[place]);
        write(&truth)
    }

    #[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
    fn effort(&self, instance: &Instance) -> f64 {
        instance.truth().map_or(0.0, |(_, products)| products as f64)
    }
}

fn area(ledger: &mut Ledger, corners: &[Point]) -> Option<Rational> {
    let doubled = ledger.doubled_area(corners)?;
    ledger.over(doubled, Rational::whole(if doubled.numerator() < 0 { -2 } else { 2 }))
}

/// The corners of a triangle counterclockwise; `None` where they are on a line.
fn counterclockwise(ledger: &mut Ledger, [a, b, c]: [Point; 3]) -> Option<[Point; 3]> {
    match ledger.side(a, b, c)?.numerator().signum() {
        0 => None,
        1 => Some([a, b, c]),
        _ => Some([a, c, b]),
    }
}

fn scatter(rng: &mut ChaCha8Rng, count: usize, spread: i64) -> Vec<[i64; 2]> {
    (0..count).map(|_| [rng.random_range(-spread..=spread), rng.random_range(-spread..=spread)]).collect()
}

/// The corners of a polygon that does not cross itself: all are seen from one point inside, in the order of their directions.
fn star(rng: &mut ChaCha8Rng, corners: usize, spread: i64) -> Option<Vec<[i64; 2]>> {
    let cross = |[x, y]: &[i64; 2], [next_x, next_y]: &[i64; 2]| x * next_y - y * next_x;
    let mut around = scatter(rng, corners, spread);
    let lower_half = |[x, y]: &[i64; 2]| *y < 0 || (*y == 0 && *x < 0);
    around.sort_by(|one, other| lower_half(one).cmp(&lower_half(other)).then(0.cmp(&cross(one, other))));
    // Turning left all the way round, by less than half a turn at each corner.
    let round = around.iter().zip(around.iter().cycle().skip(1)).all(|(here, next)| cross(here, next) > 0);
    if rng.random_range(0..2) == 0 {
        around.reverse();
    }
    let [x, y] = scatter(rng, 1, spread)[0];
    round.then(|| around.into_iter().map(|[across, up]| [across + x, up + y]).collect())
}

/// `7/3`, or `(7/3, -2)`.
fn write(numbers: &[Rational]) -> String {
    match numbers {
        [number] => number.to_string(),
        numbers => format!("({})", numbers.iter().map(Rational::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn number(text: &str) -> Option<Rational> {
    match Written::parse(text)? {
        Written::Exact(value) => Some(value),
        Written::Long { .. } => None,
    }
}

/// Reads `(7/3, -2)`, also with brackets or none, a semicolon, and `x =` and `y =`.
fn read_point(text: &str) -> Option<Vec<Rational>> {
    let text = text.replace("\\left", "").replace("\\right", "");
    let text = text.trim();
    let inner = text.strip_prefix(['(', '[']).and_then(|rest| rest.strip_suffix([')', ']'])).unwrap_or(text);
    let (x, y) = inner.split_once([',', ';'])?;
    let value = |text: &str, name: &str| {
        let text = text.trim();
        number(text.strip_prefix(name).and_then(|rest| rest.trim_start().strip_prefix('=')).unwrap_or(text))
    };
    // A further comma would make it another point than meant.
    let two = !y.contains([',', ';']);
    Some(vec![value(x, "x").filter(|_| two)?, value(y, "y")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(asked: Asked, points: &[[i64; 2]], answer: &str) -> f64 {
        Geometry.check(&Instance { asked, points: points.to_vec() }, answer).score
    }

    #[test]
    fn numbers_are_right_in_every_exact_spelling() {
        let triangle = [[0, 0], [3, 0], [0, 1]];
        for answer in ["3/2", "1.5", "6/4", "\\frac{3}{2}", "1.50", " 3 / 2 ", "+1.5", "15e-1"] {
            assert_eq!(score(Asked::Area, &triangle, answer.trim()), 1.0, "{answer}");
        }
        for answer in
            ["", "-3/2", "1.4999999999999999999", "3/2/1", "3", "3/0", "NaN", "inf", "sqrt(9/4)", "(3/2, 0)", "١.٥"]
        {
            assert_eq!(score(Asked::Area, &triangle, answer), 0.0, "{answer}");
        }
    }

    #[test]
    fn points_are_right_in_every_exact_spelling() {
        let lines = [[0, 0], [2, 1], [0, 1], [1, 0]];
        for answer in [
            "(2/3, 1/3)",
            "2/3, 1/3",
            "[2/3; 1/3]",
            "x = 2/3, y = 1/3",
            "(4/6,1/3)",
            "\\left(\\frac{2}{3}, \\frac{1}{3}\\right)",
        ] {
            assert_eq!(score(Asked::Crossing, &lines, answer), 1.0, "{answer}");
        }
        for answer in
            ["", "2/3", "(1/3, 2/3)", "(2/3, 1/3, 0)", "(0.67, 0.33)", "y = 2/3, x = 1/3", "((2/3, 1/3))", ","]
        {
            assert_eq!(score(Asked::Crossing, &lines, answer), 0.0, "{answer}");
        }
    }

    #[test]
    fn inner_points_are_counted_by_looking_too() {
        let square = [[0, 0], [4, 0], [4, 4], [0, 4]];
        assert_eq!(score(Asked::InnerPoints, &square, "9"), 1.0);
        let mut rng = palestra_environment::task::seeded(&[b"stars"]);
        for points in (0..60).filter_map(|_| star(&mut rng, 5, 9)) {
            let inside = |x: i64, y: i64| {
                let (mut odd, mut on_edge) = (false, false);
                for ([a, b], [c, d]) in points.iter().zip(points.iter().cycle().skip(1)) {
                    let side = (c - a) * (y - b) - (d - b) * (x - a);
                    on_edge |= side == 0 && x >= *a.min(c) && x <= *a.max(c) && y >= *b.min(d) && y <= *b.max(d);
                    odd ^= ((*b > y) != (*d > y)) && ((side > 0) == (d > b));
                }
                odd && !on_edge
            };
            let count =
                (-20..=20).flat_map(|x| (-20..=20).map(move |y| (x, y))).filter(|(x, y)| inside(*x, *y)).count();
            assert_eq!(score(Asked::InnerPoints, &points, &count.to_string()), 1.0, "{points:?} {count}");
        }
    }

    #[test]
    fn questions_without_an_answer_are_not_asked() {
        for (asked, points) in [
            (Asked::Tangent, &[[1, 0], [0, 0], [0, 1]][..]),
            (Asked::Tangent, &[[1, 1], [0, 0], [2, 2]]),
            (Asked::Crossing, &[[0, 0], [1, 1], [1, 0], [2, 1]]),
            (Asked::Circumcentre, &[[0, 0], [1, 1], [2, 2]]),
            (Asked::Mirror, &[[0, 0], [1, 1], [2, 2]]),
            (Asked::Overlap, &[[0, 0], [1, 0], [0, 1], [5, 5], [6, 5], [5, 6]]),
            (Asked::Overlap, &[[0, 0], [1, 0], [0, 1], [0, 0], [1, 1], [2, 2]]),
        ] {
            assert!(Instance { asked, points: points.to_vec() }.examine().is_err(), "{asked:?} {points:?}");
        }
    }
}

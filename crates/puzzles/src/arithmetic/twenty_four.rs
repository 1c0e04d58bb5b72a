//! `puzzle/twenty_four`: several hands of four numbers, each to be joined to 24.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::expression::{evaluate, without_result};
use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};
use palestra_environment::verifier::rational::Rational;

const TARGET: i64 = 24;

/// Hands that are drawn before a problem is given up.
const DRAWS_MAX: u32 = 100;

const SIGNS: [char; 4] = ['+', '-', '*', '/'];

/// The hand is another one than those before.
static NEW: Requirement = Requirement::new("new", "the hand is another one than those before", 0.02);

/// Some expression makes 24 of the hand.
static MADE: Requirement = Requirement::new("made", "some expression makes 24 of the hand", 0.4);

/// Enough hands are found in as many draws as are made.
static HANDS: Requirement = Requirement::new("hands", "enough hands are found in as many draws as are made", 0.01);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct TwentyFour;

/// A problem. One hand alone would leave too few of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// Different hands of four numbers each, in ascending order.
    hands: Vec<Vec<i64>>,
}

impl Question for TwentyFour {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "twenty_four",
            version: 1,
            category: Category::Arithmetic,
            tags: &[],
            multi_turn: false,
            description: "Make 24 from each of several hands of four numbers with + - * / and parentheses.",
            rule: "Each expression is evaluated exactly, in fractions, and has to use all four numbers of its hand; the score is the share of hands that are made, and nothing where there are more expressions than hands.",
            scale: "More hands, and larger numbers, of which fewer ways lead to 24.",
            effort: "Joins pairs of numbers of each hand until 24 comes up; joins made.",
            floor: 0.03,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let count = usize::try_from(scale(difficulty, 3, 6))?;
        let largest = i64::from(scale(difficulty, 10, 25));
        let mut hands: Vec<Vec<i64>> = Vec::with_capacity(count);
        draws.note("hands", count);
        for _ in 0..DRAWS_MAX {
            let mut hand: Vec<i64> = (0..4).map(|_| rng.random_range(1..=largest)).collect();
            hand.sort_unstable();
            let (new, made) = (!hands.contains(&hand), make(&hand, &mut 0).is_some());
            hand.iter().for_each(|number| draws.note_part("number", number, new && made));
            draws.count(&NEW, 1, u64::from(!new));
            draws.count(&MADE, 1, u64::from(new && !made));
            if new && made {
                hands.push(hand);
            }
            if hands.len() == count {
                return Ok(Instance { hands });
            }
        }
        Err(Refusal::from(&HANDS))
    }

    fn content(&self, instance: &Instance) -> Value {
        let mut hands = instance.hands.clone();
        hands.sort();
        json!(hands)
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"hands": instance.hands, "target": TARGET})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let hands: Vec<String> = instance.hands.iter().map(|hand| format!("- {}", join(hand))).collect();
        format!(
            "Make {TARGET} from each of these hands of four numbers:\n{}\n\
             Rules: use each number of a hand exactly once, no other numbers, and only + - * / and parentheses. Fractions on \
             the way are fine; numbers cannot be put together to longer ones.\n\
             The answer is one expression a line, one line for each hand, such as:\n6 * (5 - 1) * 1\n(10 - 4) * (8 - 4)",
            hands.join("\n")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let lines: Vec<&str> = answer.split(['\n', ';', ',']).map(str::trim).filter(|line| !line.is_empty()).collect();
        let count = instance.hands.len();
        if lines.len() > count {
            // Otherwise many attempts at a hand could be handed in at once.
            return Mark::wrong(format!("there are {} expressions for {count} hands", lines.len()));
        }
        let mut open = instance.hands.clone();
        let mut faults = Vec::new();
        for line in lines {
            match made(&open, line) {
                Ok(place) => drop(open.swap_remove(place)),
                Err(fault) => faults.push(fault),
            }
        }
        if open.is_empty() {
            return Mark::right("every hand makes 24");
        }
        let made = count - open.len();
        faults.insert(0, format!("{made} of {count} hands make 24"));
        #[expect(clippy::cast_precision_loss, reason = "there are few hands")]
        let share = made as f64 / count as f64;
        Mark::partial(share, faults.join("; "))
    }

    fn solution(&self, instance: &Instance) -> String {
        let lines: Vec<String> = instance.hands.iter().filter_map(|hand| make(hand, &mut 0)).collect();
        lines.join("\n")
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let lines: Vec<String> = instance
            .hands
            .iter()
            .map(|hand| {
                let mut hand = hand.clone();
                hand.shuffle(rng);
                let mut sign = || SIGNS[rng.random_range(0..SIGNS.len())];
                format!("({} {} {}) {} {} {} {}", hand[0], sign(), hand[1], sign(), hand[2], sign(), hand[3])
            })
            .collect();
        lines.join("\n")
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // One hand comes to 24 and something, or has only three of its numbers.
        let spoilt = rng.random_range(0..instance.hands.len());
        let lines = instance.hands.iter().enumerate().filter_map(|(index, hand)| match make(hand, &mut 0)? {
            line if index != spoilt => Some(line),
            line if rng.random_range(0..2) == 0 => Some(format!("{line} + {}", rng.random_range(1..=9))),
            _ => Some(format!("{} + {} * {}", hand[0], hand[1], hand[2])),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let mut joins = 0;
        for hand in &instance.hands {
            make(hand, &mut joins);
        }
        f64::from(joins)
    }
}

/// The hand of which an expression makes 24; the reason where it is none.
fn made(hands: &[Vec<i64>], line: &str) -> Result<usize, String> {
    let target = Rational::whole(TARGET);
    let line = line.rsplit(':').next().unwrap_or(line);
    let result = evaluate(without_result(line, target)?)?;
    if result.value != target {
        return Err(format!("an expression equals {}", result.value));
    }
    let mut numbers = result.numbers;
    numbers.sort_unstable();
    hands.iter().position(|hand| *hand == numbers).ok_or_else(|| format!("no hand left is {}", join(&numbers)))
}

fn join(numbers: &[i64]) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

/// A fraction that is not reduced: products of four small numbers stay far below the bounds of the type.
#[derive(Debug, Clone, Copy)]
struct Fraction {
    numerator: i64,
    denominator: i64,
}

impl Fraction {
    const fn is_target(self) -> bool {
        self.numerator == TARGET * self.denominator
    }

    /// `None` for a division by zero.
    fn join(self, sign: char, other: Self) -> Option<Self> {
        let (left, right) = (self.numerator * other.denominator, other.numerator * self.denominator);
        let both = self.denominator * other.denominator;
        match sign {
            '+' => Some(Self { numerator: left + right, denominator: both }),
            '-' => Some(Self { numerator: left - right, denominator: both }),
            '*' => Some(Self { numerator: self.numerator * other.numerator, denominator: both }),
            _ => (other.numerator != 0).then_some(Self { numerator: left, denominator: right }),
        }
    }
}

/// An expression of all numbers of a hand that equals 24, if there is one; counts the joins.
fn make(hand: &[i64], joins: &mut u32) -> Option<String> {
    let values: Vec<Fraction> = hand.iter().map(|number| Fraction { numerator: *number, denominator: 1 }).collect();
    let trail = search(&values, joins)?;
    let mut parts: Vec<String> = hand.iter().map(i64::to_string).collect();
    for (left, right, sign) in trail.into_iter().rev() {
        let joined = format!("({} {sign} {})", parts[left], parts[right]);
        parts = others(&parts, left, right).chain([joined]).collect();
    }
    // The outermost parentheses mean nothing.
    let whole = parts.pop()?;
    Some(whole.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(&whole).to_owned())
}

/// The joins that lead from the values to 24, the last one first: two places among the values that are left, and a sign.
fn search(values: &[Fraction], joins: &mut u32) -> Option<Vec<(usize, usize, char)>> {
    for left in 0..values.len() {
        for right in (0..values.len()).filter(|right| *right != left) {
            for sign in SIGNS.into_iter().filter(|sign| left < right || matches!(sign, '-' | '/')) {
                *joins += 1;
                let Some(joined) = values[left].join(sign, values[right]) else { continue };
                let trail = if values.len() == 2 {
                    joined.is_target().then(Vec::new)
                } else {
                    let next: Vec<Fraction> = others(values, left, right).chain([joined]).collect();
                    search(&next, joins)
                };
                if let Some(mut trail) = trail {
                    trail.push((left, right, sign));
                    return Some(trail);
                }
            }
        }
    }
    None
}

fn others<T: Clone>(parts: &[T], left: usize, right: usize) -> impl Iterator<Item = T> {
    parts.iter().enumerate().filter(move |(index, _)| *index != left && *index != right).map(|(_, part)| part.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(answer: &str) -> f64 {
        TwentyFour.check(&Instance { hands: vec![vec![3, 3, 8, 8], vec![1, 5, 5, 5], vec![1, 2, 3, 4]] }, answer).score
    }

    #[test]
    fn hands_that_need_fractions_are_made_and_others_are_known_to_be_impossible() {
        for hand in [[3, 3, 8, 8], [1, 5, 5, 5], [1, 3, 4, 6], [4, 4, 10, 10], [1, 4, 5, 6]] {
            let line = make(&hand, &mut 0).expect("a way");
            assert_eq!(evaluate(&line).expect("an expression").value, Rational::whole(24), "{line}");
        }
        for hand in [[1, 1, 1, 1], [1, 1, 1, 10], [10, 10, 10, 10]] {
            assert_eq!(make(&hand, &mut 0), None, "{hand:?}");
        }
        // Of the 715 hands of numbers up to ten 566 can be made.
        let mut count = 0;
        for a in 1..=10 {
            for b in a..=10 {
                for c in b..=10 {
                    count += (c..=10).filter(|d| make(&[a, b, c, *d], &mut 0).is_some()).count();
                }
            }
        }
        assert_eq!(count, 566);
    }

    #[test]
    fn every_way_and_order_is_right() {
        for answer in [
            "8/(3-8/3)\n5*(5-1/5)\n1*2*3*4",
            "4*3*2*1\n(5 - 1 ÷ 5) × 5 = 24\n8 / (3 - 8/3)",
            "8/(3-8/3); (5-1/5)*5; (1+3)*(2+4)",
            "3 3 8 8: 8/(3-8/3)\n1 5 5 5: (5-1/5)*5\nHand 3: 4*(1+2+3)",
        ] {
            assert_eq!(score(answer), 1.0, "{answer}");
        }
    }

    #[test]
    fn hands_count_once_and_only_with_their_own_numbers() {
        let third = |answer: &str| (score(answer) * 3.0).round() as u8;
        assert_eq!(third("4*3*2*1"), 1);
        assert_eq!(third("4*3*2*1\n4*3*2*1\n1*2*3*4"), 1);
        assert_eq!(third("4*3*2*1\n8/(3-8/3)\n5*5-1"), 2);
        for answer in [
            "",
            "24",
            "24\n24\n24",
            "12*2\n1*24",
            "4*3*2",
            "4*3*2*1*1",
            "3*8+3-8",
            "4*3*2*1=25",
            "4*3*2*1/0",
            "٤*3*2*1",
        ] {
            assert_eq!(score(answer), 0.0, "{answer}");
        }
        let many = "8/(3-8/3)\n5*(5-1/5)\n1*2*3*4\n1*2*3*4";
        assert_eq!(score(many), 0.0, "more expressions than hands");
        assert_eq!(score(&"(".repeat(8000)), 0.0);
    }
}

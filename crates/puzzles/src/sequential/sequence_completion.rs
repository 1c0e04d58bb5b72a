//! `puzzle/sequence_completion`: find the rule of a sequence, whose form is known, and continue it.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::{Category, Facts};
use crate::list::numbers;
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// A prime beyond all numbers that come up: what is unique modulo this prime is unique.
const LARGE_PRIME: i64 = 2_147_483_647;

/// Sequences with larger terms are left out.
const TERM_MAX: i64 = 1_000_000_000;

/// Moduli of remainders.
const MODULI: [i64; 12] = [101, 127, 149, 173, 197, 223, 251, 277, 307, 331, 353, 379];

/// Sequences that take turns and unknown numbers in each, from easy to hard.
const SIZES: [(usize, usize); 7] = [(1, 2), (2, 2), (1, 3), (2, 3), (3, 3), (2, 4), (3, 4)];

/// No term is too large.
static SMALL: Requirement = Requirement::new("small", "no term is too large", 0.02);

/// The terms that are shown leave one continuation.
static UNIQUE: Requirement = Requirement::new("unique", "the terms that are shown leave one continuation", 0.02);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct SequenceCompletion;

/// Part of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Feature {
    /// The term so many places before.
    Before(usize),
    /// This power of the place, which counts from 1.
    Power(u32),
}

impl Feature {
    const ALL: [Self; 6] =
        [Self::Before(1), Self::Before(2), Self::Before(3), Self::Power(2), Self::Power(1), Self::Power(0)];

    /// Its value for the term that follows `earlier`.
    fn value(self, earlier: &[i64]) -> Option<i64> {
        match self {
            Self::Before(back) => earlier.get(earlier.len().checked_sub(back)?).copied(),
            Self::Power(power) => i64::try_from(earlier.len() + 1).ok()?.checked_pow(power),
        }
    }

    fn name(self) -> String {
        match self {
            Self::Before(back) => format!("s(n-{back})"),
            Self::Power(0) => "1".to_owned(),
            Self::Power(1) => "n".to_owned(),
            Self::Power(power) => format!("n^{power}"),
        }
    }

    /// A coefficient other than 0, of a size that leaves the terms readable.
    fn coefficient(self, rng: &mut ChaCha8Rng, modulus: Option<i64>) -> i64 {
        let largest = match (modulus, self) {
            (Some(modulus), _) => return rng.random_range(1..modulus),
            (None, Self::Before(_)) => 4,
            (None, Self::Power(0)) => 9_999,
            (None, Self::Power(_)) => 999,
        };
        rng.random_range(1..=largest) * if rng.random() { 1 } else { -1 }
    }
}

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// Features of which a term sums multiples.
    features: Vec<Feature>,
    /// A prime: terms are remainders by it.
    modulus: Option<i64>,
    /// Number of interleaved sequences.
    sequences: usize,
    terms: Vec<i64>,
    /// The next terms.
    next: Vec<i64>,
}

impl Question for SequenceCompletion {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "sequence_completion",
            version: 1,
            category: Category::Sequential,
            tags: &["induction"],
            multi_turn: false,
            description: "Continue a sequence, or several that take turns, made by a recurrence or a polynomial of known form with unknown whole numbers in it.",
            rule: "All terms asked for are right; the terms shown leave one continuation.",
            scale: "More unknown numbers, more sequences that take turns, and terms that are remainders.",
            effort: "Solves the linear equations for the unknown numbers by elimination; multiplications.",
            floor: 0.01,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let (sequences, unknowns) = SIZES[usize::try_from(scale(difficulty, 0, 6))?];
        let modulus = rng.random_bool(difficulty).then(|| MODULI[rng.random_range(0..MODULI.len())]);
        let mut features = Feature::ALL.to_vec();
        features.shuffle(rng);
        features.truncate(unknowns);
        features.sort_unstable();
        draws.note("sequences", sequences);
        draws.note("modulus", modulus.unwrap_or(0));
        features.iter().for_each(|feature| draws.note("feature", feature.name()));
        let asked = if sequences == 1 { 2 } else { 1 };
        let mut parts = Vec::new();
        for _ in 0..sequences {
            let mut part = Sequence { features: &features, modulus, terms: Vec::new() };
            part.extend(rng, asked)?;
            parts.push(part.terms);
        }
        let length = parts.first().map_or(0, Vec::len);
        let mut terms: Vec<i64> = (0..length).flat_map(|place| parts.iter().map(move |part| part[place])).collect();
        let next = terms.split_off((length - asked) * sequences);
        Ok(Instance { features, modulus, sequences, terms, next })
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({
            "terms": instance.terms, "summands": instance.features.iter().map(|feature| feature.name()).collect::<Vec<_>>(),
            "modulus": instance.modulus, "sequences": instance.sequences, "asked": instance.next.len()
        })
    }

    fn prompt(&self, instance: &Instance) -> String {
        let letters = ["a", "b", "c", "d"];
        let summand = |(feature, letter): (&Feature, &&str)| match feature {
            Feature::Power(0) => (*letter).to_owned(),
            other => format!("{letter}*{}", other.name()),
        };
        let sum = instance.features.iter().zip(&letters).map(summand).collect::<Vec<_>>().join(" + ");
        let rule = match instance.modulus {
            None => format!("s(n) = {sum}"),
            Some(modulus) => {
                format!("s(n) = the remainder, from 0 to {}, when {sum} is divided by {modulus}", modulus - 1)
            }
        };
        let turns = match instance.sequences {
            1 => "In the sequence".to_owned(),
            count => format!(
                "The list is made of {count} sequences that take turns: first the first term of each, then the second term of \
                 each, and so on. Each sequence has numbers {} of its own. In each",
                letters[..instance.features.len()].join(", ")
            ),
        };
        let first = instance.first() + 1;
        let beginning = if first > 1 { " The terms before that are given freely." } else { "" };
        let terms: Vec<String> = instance.terms.iter().map(i64::to_string).collect();
        let letters = letters[..instance.features.len()].join(", ");
        format!(
            "Continue this list of numbers:\n{}\n\
             {turns}, with n counting its terms from 1, for every n from {first} on {rule}, where {letters} are fixed whole \
             numbers, positive or negative, that you have to find.{beginning} What is shown leaves only one continuation.\n\
             The answer is the next {} numbers of the list, separated by commas, such as: {}",
            terms.join(", "),
            instance.next.len(),
            ["17, -4", "17, -4, 250"][usize::from(instance.next.len() > 2)]
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        match numbers(answer) {
            Some(read) if read == instance.next => Mark::right("these are the next numbers"),
            Some(read) if read.len() != instance.next.len() => {
                Mark::wrong(format!("there are {} numbers, not {}", read.len(), instance.next.len()))
            }
            Some(_) => Mark::wrong(format!("the next numbers are {}", write(&instance.next))),
            None => Mark::wrong("it is not a list of whole numbers"),
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        write(&instance.next)
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let (least, most) = (instance.terms.iter().min().unwrap_or(&0), instance.terms.iter().max().unwrap_or(&0));
        write(&instance.next.iter().map(|_| rng.random_range(*least..=*most)).collect::<Vec<_>>())
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // One of the numbers is missed by a little.
        let mut next = instance.next.clone();
        let place = rng.random_range(0..next.len());
        next[place] += rng.random_range(1..=9) * if rng.random() { 1 } else { -1 };
        write(&next)
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let part = |at: usize| instance.terms.iter().skip(at).step_by(instance.sequences).copied().collect::<Vec<_>>();
        let solved = (0..instance.sequences).map(|at| {
            let sequence = Sequence { features: &instance.features, modulus: instance.modulus, terms: part(at) };
            sequence.eliminate().multiplications
        });
        f64::from(solved.sum::<u32>())
    }
}

impl Instance {
    /// Terms at the beginning of each sequence that its rule does not make.
    fn first(&self) -> usize {
        free_terms(&self.features)
    }
}

fn free_terms(features: &[Feature]) -> usize {
    let back = |feature: &Feature| if let Feature::Before(back) = feature { *back } else { 0 };
    features.iter().map(back).max().unwrap_or(0)
}

fn write(numbers: &[i64]) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

/// One sequence of the form that the features give.
struct Sequence<'a> {
    features: &'a [Feature],
    modulus: Option<i64>,
    terms: Vec<i64>,
}

/// Result of solving for the coefficients.
struct Elimination {
    rank: usize,
    multiplications: u32,
}

impl Sequence<'_> {
    /// Makes the terms to be shown and so many more.
    ///
    /// # Errors
    /// When they become too large or leave the continuation open.
    fn extend(&mut self, rng: &mut ChaCha8Rng, asked: usize) -> Result<(), Refusal> {
        let coefficients: Vec<i64> =
            self.features.iter().map(|feature| feature.coefficient(rng, self.modulus)).collect();
        for _ in 0..free_terms(self.features) {
            self.terms.push(match self.modulus {
                Some(modulus) => rng.random_range(0..modulus),
                None => rng.random_range(-99..=99),
            });
        }
        // As many equations as unknowns, and one more that confirms the rule.
        let shown = self.terms.len() + self.features.len() + 1;
        while self.terms.len() < shown + asked {
            let mut sum = 0_i64;
            for (feature, coefficient) in self.features.iter().zip(&coefficients) {
                let product = feature.value(&self.terms).and_then(|value| value.checked_mul(*coefficient));
                sum = product.and_then(|product| sum.checked_add(product)).ok_or(&SMALL)?;
            }
            let term = self.modulus.map_or(sum, |modulus| sum.rem_euclid(modulus));
            SMALL.demand(term.abs() <= TERM_MAX)?;
            self.terms.push(term);
        }
        let known = Sequence { terms: self.terms[..shown].to_vec(), ..*self };
        UNIQUE.demand(known.eliminate().rank == self.features.len())
    }

    /// Solves for the coefficients by Gaussian elimination, modulo the modulus or a large prime. With as many pivots as
    /// features there is at most one solution, and so one continuation.
    fn eliminate(&self) -> Elimination {
        let prime = self.modulus.unwrap_or(LARGE_PRIME);
        let mut rows: Vec<Vec<i64>> = (free_terms(self.features)..self.terms.len())
            .map(|at| {
                let values = self.features.iter().map(|feature| feature.value(&self.terms[..at]).unwrap_or(0));
                values.chain([self.terms[at]]).map(|value| value.rem_euclid(prime)).collect()
            })
            .collect();
        let mut multiplications = 0;
        for column in 0..self.features.len() {
            let Some(pivot) = (column..rows.len()).find(|row| rows[*row][column] != 0) else {
                return Elimination { rank: column, multiplications };
            };
            rows.swap(column, pivot);
            let (above, below) = rows.split_at_mut(column + 1);
            let pivot = &above[column];
            // Without division: multiplies both rows crosswise.
            for row in below {
                let factor = row[column];
                for (value, other) in row.iter_mut().zip(pivot).skip(column) {
                    *value = (*value * pivot[column] % prime - other * factor % prime).rem_euclid(prime);
                    multiplications += 2;
                }
            }
        }
        Elimination { rank: self.features.len(), multiplications }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    fn of(features: &[Feature], modulus: Option<i64>, terms: &[i64]) -> usize {
        Sequence { features, modulus, terms: terms.to_vec() }.eliminate().rank
    }

    #[test]
    fn the_next_numbers_are_right_and_nothing_else_is() {
        let features = vec![Feature::Before(1), Feature::Before(2)];
        let instance =
            Instance { features, modulus: None, sequences: 1, terms: vec![1, 1, 2, 3, 5], next: vec![8, -13] };
        for answer in ["8, -13", "8 -13", "[8,-13]", "08\n-13"] {
            assert_eq!(SequenceCompletion.check(&instance, answer).score, 1.0, "{answer}");
        }
        for answer in [
            "",
            "8",
            "-13, 8",
            "8, 13",
            "8, -13, 21",
            "8, -13.0",
            "8; - 13",
            "８, -13",
            "5, 8, -13",
            "1e999, -13",
            "8, −13",
        ] {
            assert_eq!(SequenceCompletion.check(&instance, answer).score, 0.0, "{answer}");
        }
    }

    #[test]
    fn a_sequence_that_leaves_its_rule_open_is_known_as_such() {
        let fibonacci = [Feature::Before(1), Feature::Before(2)];
        assert_eq!(of(&fibonacci, None, &[1, 1, 2, 3, 5]), 2);
        assert_eq!(of(&fibonacci, None, &[1, 2, 4, 8, 16]), 1, "2 a + b = 4 has many solutions");
        assert_eq!(of(&[Feature::Before(1), Feature::Power(0)], None, &[7, 7, 7, 7]), 1);
        assert_eq!(of(&[Feature::Power(1), Feature::Power(0)], None, &[7, 9, 11]), 2);
        assert_eq!(of(&[Feature::Before(1), Feature::Power(0)], Some(101), &[1, 102, 1, 102]), 1);
    }

    #[test]
    fn small_coefficients_that_fit_continue_as_the_solution_does() {
        // All pairs of coefficients of a small prime are tried, without elimination.
        let mut rng = seeded(&[b"sequences"]);
        for features in [[Feature::Before(1), Feature::Power(0)], [Feature::Before(1), Feature::Before(2)]] {
            let mut made = Sequence { features: &features, modulus: Some(11), terms: Vec::new() };
            while made.extend(&mut rng, 2).is_err() {
                made.terms.clear();
            }
            let shown = made.terms.len() - 2;
            let fitting = (0..11 * 11).filter_map(|number| {
                let mut terms = made.terms[..free_terms(&features)].to_vec();
                while terms.len() < made.terms.len() {
                    let values = features.map(|feature| feature.value(&terms).expect("enough terms"));
                    terms.push((values[0] * (number / 11) + values[1] * (number % 11)).rem_euclid(11));
                }
                (terms[..shown] == made.terms[..shown]).then_some(terms)
            });
            assert_eq!(fitting.collect::<Vec<_>>(), [made.terms.clone()]);
        }
    }
}

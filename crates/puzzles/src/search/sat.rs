//! `puzzle/sat`: find truth values that make every clause true.

use std::collections::BTreeSet;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::{Category, Facts};
use crate::list::entries;
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// Values that the reference solver assigns before it gives up.
const ASSIGNED_MAX: u32 = 5_000;

/// A clause is new, has three variables, and holds for the planted values and for their opposites.
static CLAUSE: Requirement = Requirement::new(
    "clause",
    "a clause is new, has three variables, and holds for the planted values and for their opposites",
    0.45,
);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sat;

/// Three literals: `3` says that variable 3 is true, `-3` that it is false.
type Clause = [i8; 3];

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    clauses: Vec<Clause>,
    /// Values that make all clauses true, of variables 1, 2 and so on.
    planted: Vec<bool>,
}

impl Question for Sat {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "sat",
            version: 1,
            category: Category::Search,
            tags: &["constraints"],
            multi_turn: false,
            description: "Find truth values for 12 to 40 variables that make every clause of three literals true.",
            rule: "Every variable has one value and every clause is true; any such values are right.",
            scale: "More variables, and more clauses for each, up to the region where formulas turn unsatisfiable.",
            effort: "Assigns values with unit propagation and takes them back at contradictions; values assigned.",
            floor: 0.03,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let count = scale(difficulty, 12, 40);
        // Clauses for 100 variables: formulas of 426 and more mostly have no solution.
        let clauses = count * scale(difficulty, 320, 426) / 100;
        let planted: Vec<bool> = (0..count).map(|_| rng.random()).collect();
        let last = i8::try_from(count)?;
        let clauses = usize::try_from(clauses)?;
        let mut drawn = 0;
        let mut made = BTreeSet::new();
        let mut order = Vec::new();
        while order.len() < clauses {
            drawn += 1;
            let mut chosen = [(); 3].map(|()| rng.random_range(1..=last));
            chosen.sort_unstable();
            if chosen[0] == chosen[1] || chosen[1] == chosen[2] {
                continue;
            }
            let clause = chosen.map(|variable| if rng.random() { variable } else { -variable });
            // Neither the planted values nor their opposites may fail, or else the majority of the signs of a variable would
            // give its value away.
            let holding = clause.iter().filter(|literal| holds(**literal, &planted)).count();
            if (1..=2).contains(&holding) && made.insert(clause) {
                order.push(clause);
            }
        }
        draws.note("variables", count);
        draws.count(&CLAUSE, drawn, drawn - u64::try_from(order.len()).unwrap_or(drawn));
        Ok(Instance { clauses: order, planted })
    }

    fn content(&self, instance: &Instance) -> Value {
        json!(instance.clauses.iter().collect::<BTreeSet<_>>())
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"variables": instance.planted.len(), "clauses": instance.clauses})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let clauses: Vec<String> = instance.clauses.iter().map(|clause| write(*clause)).collect();
        let count = instance.planted.len();
        format!(
            "Give each of the variables x1 to x{count} a truth value so that every one of these clauses is true. A clause is true \
             when at least one of its three parts is; `not x` is true when x is false.\n{}\n\
             The answer has all {count} variables, separated by spaces, with a minus before those that are false, for example for \
             three variables: x1 -x2 x3",
            clauses.join("\n")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let values = match read(answer, instance.planted.len()) {
            Ok(values) => values,
            Err(fault) => return Mark::wrong(fault),
        };
        let failing = instance.clauses.iter().filter(|clause| !clause.iter().any(|literal| holds(*literal, &values)));
        match failing.count() {
            0 => Mark::right("every clause is true"),
            count => Mark::wrong(format!("{count} of {} clauses are false", instance.clauses.len())),
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        write_values(&instance.planted)
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        write_values(&instance.planted.iter().map(|_| rng.random()).collect::<Vec<bool>>())
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // All is right but one clause, whose three parts are made false.
        let mut values = instance.planted.clone();
        for literal in instance.clauses[rng.random_range(0..instance.clauses.len())] {
            values[index(literal)] = literal < 0;
        }
        write_values(&values)
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let mut solver = Solver { clauses: &instance.clauses, values: vec![None; instance.planted.len()], assigned: 0 };
        solver.solve();
        f64::from(solver.assigned)
    }
}

/// Tries both values of a variable in turn, after everything that follows by itself.
struct Solver<'a> {
    clauses: &'a [Clause],
    values: Vec<Option<bool>>,
    assigned: u32,
}

impl Solver<'_> {
    /// True when all clauses are true, or the solver gave up.
    fn solve(&mut self) -> bool {
        let mut trail = Vec::new();
        let solved = self.propagate(&mut trail)
            && match self.values.iter().position(Option::is_none) {
                None => true,
                Some(free) => [true, false].into_iter().any(|value| {
                    self.values[free] = Some(value);
                    self.assigned += 1;
                    let solved = self.solve();
                    if !solved {
                        self.values[free] = None;
                    }
                    solved
                }),
            };
        if !solved {
            trail.into_iter().for_each(|variable: usize| self.values[variable] = None);
        }
        solved || self.assigned >= ASSIGNED_MAX
    }

    /// Makes true what is the last hope of a clause; false when a clause has none left.
    fn propagate(&mut self, trail: &mut Vec<usize>) -> bool {
        let mut settled = false;
        while !settled {
            settled = true;
            for clause in self.clauses {
                let mut free = clause.iter().filter(|literal| self.values[index(**literal)].is_none());
                let (first, second) = (free.next(), free.next());
                let is_true = clause.iter().any(|literal| self.values[index(*literal)] == Some(*literal > 0));
                match (is_true, first, second) {
                    (true, ..) | (_, _, Some(_)) => {}
                    (false, Some(literal), None) => {
                        self.values[index(*literal)] = Some(*literal > 0);
                        self.assigned += 1;
                        trail.push(index(*literal));
                        settled = false;
                    }
                    (false, None, _) => return false,
                }
            }
        }
        true
    }
}

fn index(literal: i8) -> usize {
    usize::from(literal.unsigned_abs()).saturating_sub(1)
}

fn holds(literal: i8, values: &[bool]) -> bool {
    values[index(literal)] == (literal > 0)
}

fn write(clause: Clause) -> String {
    let part = |literal: i8| format!("{}x{}", if literal < 0 { "not " } else { "" }, literal.unsigned_abs());
    format!("({})", clause.map(part).join(" or "))
}

fn write_values(values: &[bool]) -> String {
    let part = |(at, value): (usize, &bool)| format!("{}x{}", if *value { "" } else { "-" }, at + 1);
    values.iter().enumerate().map(part).collect::<Vec<_>>().join(" ")
}

/// Reads `x1 -x2`, `1 -2`, `x1 not x2`, `x1 = true, x2 = 0` and the like. Every variable has to come exactly once.
fn read(answer: &str, count: usize) -> Result<Vec<bool>, String> {
    let lower = answer.to_ascii_lowercase().replace('"', "");
    let joined = lower.split(['=', ':']).map(str::trim).collect::<Vec<_>>().join("=");
    let mut values = vec![None; count];
    let mut negated = false;
    for entry in entries(&joined) {
        if entry == "not" && !negated {
            negated = true;
            continue;
        }
        let (name, said) = entry.split_once('=').unwrap_or((entry, "true"));
        let bare = name.strip_prefix(['-', '!', '~', '¬', '−']);
        let said = match said {
            "true" | "t" | "1" => true,
            "false" | "f" | "0" => false,
            _ => return Err(format!("{said:?} is no truth value")),
        };
        if bare.is_some() && negated {
            return Err("a variable is negated twice".to_owned());
        }
        let name = bare.unwrap_or(name);
        let digits = name.strip_prefix('x').unwrap_or(name);
        let number = if digits.starts_with('+') { None } else { digits.parse::<usize>().ok() };
        let Some(place) = number.and_then(|number| values.get_mut(number.checked_sub(1)?)) else {
            return Err(format!("there is no variable {name:?}"));
        };
        if place.replace(said != (bare.is_some() || negated)).is_some() {
            return Err(format!("{name} comes twice"));
        }
        negated = false;
    }
    if negated {
        return Err("nothing follows the last not".to_owned());
    }
    let missing = values.iter().position(Option::is_none);
    missing.map_or_else(|| Ok(values.into_iter().flatten().collect()), |at| Err(format!("x{} has no value", at + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    fn instance() -> Instance {
        Instance { clauses: vec![[1, -2, 3], [-1, -2, -3], [1, 2, 3]], planted: vec![true, false, true] }
    }

    #[test]
    fn every_satisfying_assignment_is_right_in_any_notation() {
        let right = [
            "x1 -x2 x3",
            "1 -2 3",
            "x3, not x2, x1",
            "x1=true, x2=false, x3=true",
            "x1 = T; x2 : 0; x3 = 1",
            "[X1, ~X2, X3]",
            "-x1 -x2 x3",
            "x1 -x2 -x3",
            "x1\n¬x2\nx3",
            "!x1 !x2 x3",
            "x1 −x2 -x3",
            "-x1=false x2=f x3",
            "{\"x1\": true, \"x2\": false, \"x3\": true}",
        ];
        for answer in right {
            assert_eq!(Sat.check(&instance(), answer).score, 1.0, "{answer}");
        }
        let wrong = [
            "",
            "x1 x2 x3",
            "¬1 2 ¬3",
            "-x1 -x2 -x3",
            "x1 -x2",
            "x1 -x2 x3 x4",
            "x1 -x2 x3 x3",
            "x1 -x2 x3 -x3",
            "x0 x1 -x2 x3",
            "x1 not -x2 x3",
            "x1 --x2 x3",
            "x1 not not x2 x3",
            "x1 -x2 x3 not",
            "x１ -x2 x3",
            "x1=maybe -x2 x3",
            "x1 -x2 x+3",
            "true false true",
            "x1 -x2 x99999999999999999999999",
        ];
        for answer in wrong {
            assert_eq!(Sat.check(&instance(), answer).score, 0.0, "{answer}");
        }
    }

    #[test]
    fn the_judge_agrees_with_the_clauses_on_all_assignments() {
        let made = Sat.generate(&mut seeded(&[b"sat"]), 0.0, &mut Draws::default()).expect("a problem");
        let count = made.planted.len();
        let mut right = 0;
        for number in 0..1_u32 << count {
            let literals: Vec<i32> = (0..12).map(|at| if number >> at & 1 == 1 { at + 1 } else { -at - 1 }).collect();
            let words: Vec<String> = literals.iter().map(i32::to_string).collect();
            let satisfied =
                made.clauses.iter().all(|clause| clause.iter().any(|literal| literals.contains(&i32::from(*literal))));
            assert_eq!(Sat.check(&made, &words.join(" ")).score == 1.0, satisfied);
            right += u32::from(satisfied);
        }
        assert!(right >= 2, "the planted values and their opposites");
    }
}

//! `puzzle/countdown`: reach a target by arithmetic over given numbers. One answer, and many right ones.

use palestra_protocol::action::Action;
use palestra_protocol::observation::Observation;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::expression::{evaluate, without_result};
use crate::facts::{Category, Facts};
use crate::{Puzzle, call, scale};
use palestra_environment::draws::{Draws, Refusal, Requirement};
use palestra_environment::tool::function;
use palestra_environment::verifier::Judgement;
use palestra_environment::verifier::final_answer::extract;
use palestra_environment::verifier::rational::Rational;
use palestra_environment::{Input, Reaction};

/// The answer is kept up to here; no right one is as long.
const ANSWER_BYTES_MAX: usize = 2000;

/// The largest target of the easiest problems and of the hardest; also of the values on the way to one.
const TARGET_MAX: [u32; 2] = [400, 2000];

/// The smallest target is such a part of the largest.
const TARGET_RANGE: i64 = 20;

/// Joins that the reference solver makes before it gives up.
const JOINS_MAX: u32 = 100_000;

/// Two numbers that are joined have a whole, positive value that is not too large.
static JOINED: Requirement =
    Requirement::new("joined", "two numbers that are joined have a whole, positive value that is not too large", 0.05);

/// The target is no small part of the largest one.
static LARGE: Requirement = Requirement::new("large", "the target is no small part of the largest one", 0.15);

/// The target is none of the numbers.
static NEW: Requirement = Requirement::new("new", "the target is none of the numbers", 0.03);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Countdown;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    numbers: Vec<i64>,
    target: i64,
    /// One of the right answers.
    solution: String,
}

/// The one answer, once it was given.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Progress {
    answer: Option<String>,
}

impl Puzzle for Countdown {
    type Instance = Instance;
    type Progress = Progress;

    fn facts(&self) -> Facts {
        Facts {
            name: "countdown",
            version: 1,
            category: Category::Arithmetic,
            tags: &[],
            multi_turn: false,
            description: "Reach a target number with + - * / and parentheses, using each of 3 to 6 given numbers at most once.",
            rule: "The expression is evaluated exactly, in fractions; it has to equal the target, and each of its numbers has to be given.",
            scale: "More numbers, larger ones, and larger targets.",
            effort: "Makes one join of two numbers in every way, then two joins, and so on until the target comes up; joins made.",
            floor: 0.05,
            heavy: false,
        }
    }

    fn tools(&self) -> Vec<Value> {
        vec![function(
            "answer",
            "Gives the one answer.",
            json!({
                "type": "object", "required": ["expression"], "additionalProperties": false,
                "properties": {"expression": {"type": "string", "description": "Such as (3 + 5) * 4."}}
            }),
        )]
    }

    fn observation_schema(&self) -> Value {
        json!({
            "type": "object", "required": ["numbers", "target"],
            "properties": {"numbers": {"type": "array", "items": {"type": "integer"}}, "target": {"type": "integer"}}
        })
    }

    fn steps_max(&self) -> u64 {
        4
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let count = scale(difficulty, 3, 6);
        let largest = i64::from(scale(difficulty, 80, 100));
        let numbers: Vec<i64> = (0..count).map(|_| rng.random_range(1..=largest)).collect();
        let target_max = i64::from(scale(difficulty * difficulty, TARGET_MAX[0], TARGET_MAX[1]));
        let (solution, target) = combine(rng, &numbers, target_max).ok_or(&JOINED)?;
        draws.note("numbers", count);
        draws.note("last_sign", last_sign(&solution));
        LARGE.demand((target_max / TARGET_RANGE..=target_max).contains(&target))?;
        NEW.demand(!numbers.contains(&target))?;
        Ok(Instance { numbers, target, solution })
    }

    fn content(&self, instance: &Instance) -> Value {
        // The order of the numbers does not make another problem.
        let mut numbers = instance.numbers.clone();
        numbers.sort_unstable();
        json!({"numbers": numbers, "target": instance.target})
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"numbers": instance.numbers, "target": instance.target})
    }

    fn prompt(&self, Instance { numbers, target, .. }: &Instance) -> String {
        let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
        format!(
            "Find an arithmetic expression that equals {target}.\n\
             Numbers: {}\n\
             Rules: use each of these numbers at most once, no other numbers, and only + - * / and parentheses. Fractions on \
             the way are fine. You have one answer.\n\
             Answer with the expression alone, or think first and put the expression into <answer></answer>, for example \
             <answer>(1 + 2) * 3</answer>; or call the tool `answer`.",
            numbers.join(", ")
        )
    }

    fn start(&self, _instance: &Instance) -> Progress {
        Progress { answer: None }
    }

    fn show(&self, instance: &Instance, progress: &Progress) -> Observation {
        let text = progress.answer.as_ref().map_or_else(String::new, |answer| format!("Your answer: {answer}"));
        Observation { data: self.metadata(instance), ..Observation::text(text) }
    }

    fn act(&self, _instance: &Instance, progress: &mut Progress, input: Input<'_>) -> Reaction {
        let answer = match input {
            Input::Text(text) => extract(text),
            Input::Call { arguments, .. } => arguments.get("expression").and_then(Value::as_str).unwrap_or_default(),
        };
        let cut = answer.floor_char_boundary(ANSWER_BYTES_MAX);
        progress.answer = Some(answer[..cut].to_owned());
        Reaction::end("Your answer was taken.")
    }

    fn judge(&self, instance: &Instance, progress: &Progress) -> Judgement {
        let found = match &progress.answer {
            None => Err("no answer was given".to_owned()),
            Some(answer) => check(instance, answer),
        };
        match found {
            Ok(evidence) => Judgement::single("reaches_target", 1.0, evidence),
            Err(evidence) => Judgement::single("reaches_target", 0.0, evidence),
        }
    }

    fn solve(&self, instance: &Instance) -> Vec<Action> {
        vec![call("answer", "expression", json!(instance.solution))]
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Action {
        let mut numbers = instance.numbers.clone();
        let mut expression = take_one(rng, &mut numbers).unwrap_or_default().to_string();
        while let Some(number) = take_one(rng, &mut numbers) {
            let sign = ['+', '-', '*', '/'][rng.random_range(0..4)];
            expression = format!("({expression} {sign} {number})");
        }
        Action::Text(expression)
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Vec<Action> {
        let Instance { solution, target, .. } = instance;
        let expression = match rng.random_range(0..3) {
            0 => target.to_string(),
            1 => format!("{solution} + {}", rng.random_range(1..=9)),
            _ => format!("({solution}) * {}", rng.random_range(2..=9)),
        };
        vec![call("answer", "expression", json!(expression))]
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let mut joins = 0;
        (1..instance.numbers.len()).find(|depth| reaches(&instance.numbers, instance.target, *depth, &mut joins));
        f64::from(joins)
    }
}

/// True if so many joins of numbers can lead to the target, by whole and positive values; counts the joins, and gives up
/// (as if it could) at [`JOINS_MAX`].
fn reaches(numbers: &[i64], target: i64, depth: usize, joins: &mut u32) -> bool {
    for (at, left) in numbers.iter().enumerate() {
        for (beside, right) in numbers.iter().enumerate().filter(|(beside, _)| *beside != at) {
            for (_, value) in results(*left, *right).into_iter().flatten() {
                // A sum or a product is the same from the other side.
                let doubled = at > beside && (value == left + right || value == left * right);
                if doubled || value > i64::from(TARGET_MAX[1]) {
                    continue;
                }
                *joins += 1;
                if value == target || *joins >= JOINS_MAX {
                    return true;
                }
                if depth > 1 {
                    let others = numbers.iter().enumerate().filter(|(other, _)| *other != at && *other != beside);
                    let joined: Vec<i64> = others.map(|(_, number)| *number).chain([value]).collect();
                    if reaches(&joined, target, depth - 1, joins) {
                        return true;
                    }
                }
            }
        }
    }
    false
}

/// Results of joining two numbers, with the sign: whole and positive values, but no product or quotient with one.
fn results(left: i64, right: i64) -> [Option<(char, i64)>; 4] {
    [
        Some(('+', left + right)),
        (left > right).then(|| ('-', left - right)),
        (left > 1 && right > 1).then(|| ('*', left * right)),
        (right > 1 && left % right == 0).then(|| ('/', left / right)),
    ]
}

/// Error of an answer that breaks the rules or misses the target; the reason either way.
fn check(instance: &Instance, answer: &str) -> Result<String, String> {
    let target = Rational::whole(instance.target);
    let expression = without_result(answer, target)?;
    let result = evaluate(expression)?;
    let mut left = instance.numbers.clone();
    for number in &result.numbers {
        let place = left.iter().position(|given| given == number);
        let place = place.ok_or_else(|| format!("{number} is not given, or used too often"))?;
        left.swap_remove(place);
    }
    let verdict = format!("it equals {}, the target is {target}", result.value);
    if result.value == target { Ok(verdict) } else { Err(verdict) }
}

/// The sign of the join that is made last: the one outside all parentheses.
fn last_sign(expression: &str) -> char {
    let mut depth = 0;
    let outside = expression.chars().filter(|letter| {
        depth += i32::from(*letter == '(') - i32::from(*letter == ')');
        depth == 0 && "+-*/".contains(*letter)
    });
    outside.last().unwrap_or('+')
}

/// Joins all numbers into one expression with whole, positive values on the way.
fn combine(rng: &mut ChaCha8Rng, numbers: &[i64], value_max: i64) -> Option<(String, i64)> {
    let mut parts: Vec<(String, i64)> = numbers.iter().map(|number| (number.to_string(), *number)).collect();
    while parts.len() > 1 {
        let (left, right) = (take_one(rng, &mut parts)?, take_one(rng, &mut parts)?);
        let mut results: Vec<(char, i64)> =
            results(left.1, right.1).into_iter().flatten().filter(|(_, value)| *value <= value_max).collect();
        let (sign, value) = take_one(rng, &mut results)?;
        let joined = format!("{} {sign} {}", left.0, right.0);
        let whole = parts.is_empty();
        parts.push((if whole { joined } else { format!("({joined})") }, value));
    }
    parts.pop()
}

fn take_one<T>(rng: &mut ChaCha8Rng, parts: &mut Vec<T>) -> Option<T> {
    if parts.is_empty() { None } else { Some(parts.swap_remove(rng.random_range(0..parts.len()))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(answer: &str) -> f64 {
        let instance = Instance { numbers: vec![3, 5, 4, 4], target: 32, solution: String::new() };
        let progress = Progress { answer: Some(answer.to_owned()) };
        Countdown.judge(&instance, &progress).checks[0].score
    }

    #[test]
    fn every_right_expression_scores() {
        for answer in ["(3+5)*4", "4*(5+3)", " 4 × (3 + 5) ", "(3+5)*4 = 32"] {
            assert_eq!(score(answer), 1.0, "{answer}");
        }
    }

    #[test]
    fn wrong_expressions_do_not() {
        for answer in [
            "",
            "32",
            "(3+5)*4+0",
            "(3+5)*5",
            "4*4*4/4+4*4",
            "35-3",
            "(3+5)*4=31",
            "(3+5)*4=",
            "3+5*4",
            "(3+5)*4==32",
            "=32",
            "(3+5)*4*4/4",
        ] {
            assert_eq!(score(answer), 0.0, "{answer}");
        }
    }

    #[test]
    fn the_last_marked_expression_is_the_answer() {
        let instance = Instance { numbers: vec![3, 5, 4], target: 32, solution: String::new() };
        let mut progress = Countdown.start(&instance);
        let text = "Maybe 3*5 = 15? No. <answer>(3+5)*4</answer>";
        assert!(Countdown.act(&instance, &mut progress, Input::Text(text)).terminated);
        assert_eq!(Countdown.judge(&instance, &progress).checks[0].score, 1.0);
    }
}

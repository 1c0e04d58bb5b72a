//! `puzzle/cryptarithm`: a sum in which letters stand for digits, with one solution.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::search::{Columns, Nodes};
use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

mod search;

/// Sums that are drawn before a problem is given up.
const DRAWS_MAX: usize = 400;

/// Nodes that a search visits before it gives up.
const NODES_MAX: u64 = 200_000;

/// Addends and sum have the digits of the problem, all of them and no others.
static ALL_DIGITS: Requirement =
    Requirement::new("all_digits", "addends and sum have the digits of the problem, all of them and no others", 0.985);

/// Such a sum is found in as many draws as are made for one set of digits.
static SUM: Requirement =
    Requirement::new("sum", "such a sum is found in as many draws as are made for one set of digits", 0.05);

/// The sum has one solution.
static UNIQUE: Requirement = Requirement::new("unique", "the sum has one solution", 0.75);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cryptarithm;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// Words of capital letters.
    addends: Vec<String>,
    sum: String,
    /// The one solution, as the prompt asks for it.
    solution: String,
}

impl Instance {
    /// The words, the sum last.
    fn words(&self) -> Vec<&str> {
        self.addends.iter().chain([&self.sum]).map(String::as_str).collect()
    }

    fn letters(&self) -> BTreeSet<char> {
        self.words().concat().chars().collect()
    }
}

impl Question for Cryptarithm {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "cryptarithm",
            version: 1,
            category: Category::Arithmetic,
            tags: &[],
            multi_turn: false,
            description: "Find the digits that the letters of a sum stand for, each letter for another digit.",
            rule: "Every letter needs one digit, no two the same and none leading with 0, and the sum has to come out; a search has shown that there is one solution.",
            scale: "More letters, more addends and longer ones.",
            effort: "Goes through the columns from the right and tries the digits that are left; digits tried.",
            floor: 0.02,
            heavy: true,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let letters = usize::try_from(scale(difficulty, 5, 10))?;
        let (addends, length) = (scale(difficulty, 2, 3), scale(difficulty, 6, 7));
        let mut digits: Vec<u8> = (0..10).collect();
        digits.shuffle(rng);
        digits.truncate(letters);
        draws.note("letters", letters);
        draws.note("addends", addends);
        let numbers = draws.until(&ALL_DIGITS, DRAWS_MAX, |_| draw(rng, &digits, addends, length)).ok_or(&SUM)?;
        let mut alphabet: Vec<char> = ('A'..='Z').collect();
        alphabet.shuffle(rng);
        let names: BTreeMap<u8, char> = digits.into_iter().zip(alphabet).collect();
        let mut words: Vec<String> = numbers
            .iter()
            .map(|number| number.to_string().bytes().filter_map(|digit| names.get(&(digit - b'0'))).collect())
            .collect();
        let sum = words.pop().ok_or_else(|| Refusal::fault("there is no sum"))?;
        let mut solution: Vec<String> = names.iter().map(|(digit, letter)| format!("{letter}={digit}")).collect();
        solution.sort();
        let instance = Instance { addends: words, sum, solution: solution.join(", ") };
        let mut nodes = Nodes::up_to(NODES_MAX);
        let solutions = Columns::of(&instance.words()).solutions(2, &mut nodes);
        if nodes.exhausted() {
            return Err(Refusal::fault(format!("the search for a second solution gave up after {NODES_MAX} nodes")));
        }
        UNIQUE.demand(solutions == 1)?;
        Ok(instance)
    }

    fn content(&self, instance: &Instance) -> Value {
        // Names of letters and the order of the addends do not make another problem: the numbers themselves do.
        let digits = read(&instance.solution).unwrap_or_default();
        let mut numbers: Vec<Option<u64>> = instance.words().iter().map(|word| value(word, &digits)).collect();
        numbers.sort_unstable();
        json!(numbers)
    }

    fn metadata(&self, instance: &Instance) -> Value {
        json!({"addends": instance.addends, "sum": instance.sum})
    }

    fn prompt(&self, instance: &Instance) -> String {
        let letters: Vec<String> = instance.letters().iter().map(char::to_string).collect();
        format!(
            "In this sum each letter stands for one digit from 0 to 9, different letters for different digits, and no number \
             begins with 0:\n{} = {}\n\
             Find the digits. There is one solution. The answer names each of the letters {} with its digit, such as: \
             A=1, B=2, C=3",
            instance.addends.join(" + "),
            instance.sum,
            letters.join(", ")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let Some(digits) = read(answer) else {
            return Mark::wrong("the answer is not a list of letters with a digit each, every letter once");
        };
        let named: BTreeSet<char> = digits.keys().copied().collect();
        if named != instance.letters() {
            return Mark::wrong("the letters are not those of the sum");
        }
        if digits.values().collect::<BTreeSet<_>>().len() < digits.len() {
            return Mark::wrong("two letters have the same digit");
        }
        let words = instance.words();
        if words.iter().any(|word| word.chars().next().is_none_or(|first| digits.get(&first) == Some(&0))) {
            return Mark::wrong("a number begins with 0");
        }
        let mut values: Vec<u64> = words.iter().filter_map(|word| value(word, &digits)).collect();
        let sum = values.pop();
        let total = values.iter().sum();
        let evidence = format!("the addends make {total}, the sum is {}", sum.unwrap_or_default());
        if sum == Some(total) { Mark::right(evidence) } else { Mark::wrong(evidence) }
    }

    fn solution(&self, instance: &Instance) -> String {
        instance.solution.clone()
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        let mut digits: Vec<u8> = (0..10).collect();
        digits.shuffle(rng);
        write(instance.letters().into_iter().zip(digits))
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // Two letters have changed their digits, and there is one solution only.
        let mut digits: Vec<(char, u8)> = read(&instance.solution).unwrap_or_default().into_iter().collect();
        let one = rng.random_range(0..digits.len());
        let other = (one + rng.random_range(1..digits.len())) % digits.len();
        let kept = digits[one].1;
        digits[one].1 = digits[other].1;
        digits[other].1 = kept;
        write(digits.into_iter())
    }

    #[expect(clippy::cast_precision_loss, reason = "the number of nodes is bounded")]
    fn effort(&self, instance: &Instance) -> f64 {
        let mut nodes = Nodes::up_to(NODES_MAX);
        Columns::of(&instance.words()).solutions(1, &mut nodes);
        nodes.visited() as f64
    }
}

/// Addends of the given digits whose sum has no other digits either and which, with it, have them all; the sum comes last.
fn draw(rng: &mut ChaCha8Rng, digits: &[u8], addends: u32, length: u32) -> Option<Vec<u64>> {
    let mut numbers = Vec::new();
    for _ in 0..addends {
        let places = rng.random_range(length - 1..=length);
        let number = (0..places).try_fold(0, |number, _| Some(number * 10 + u64::from(*digits.choose(rng)?)))?;
        let leads = number >= 10_u64.pow(places - 1);
        leads.then(|| numbers.push(number))?;
    }
    numbers.push(numbers.iter().sum());
    let wanted = digits.iter().fold(0, |set, digit| set | 1_u16 << digit);
    let used = numbers.iter().fold(0, |set, number| set | digit_set(*number));
    (used == wanted).then_some(numbers)
}

/// The digits of a number above zero, as bits.
fn digit_set(mut number: u64) -> u16 {
    let mut set = 0;
    while number > 0 {
        set |= 1 << (number % 10);
        number /= 10;
    }
    set
}

/// Value of a word; `None` where a letter has no digit.
fn value(word: &str, digits: &BTreeMap<char, u8>) -> Option<u64> {
    word.chars().try_fold(0, |value, letter| Some(value * 10 + u64::from(*digits.get(&letter)?)))
}

fn write(digits: impl Iterator<Item = (char, u8)>) -> String {
    digits.map(|(letter, digit)| format!("{letter}={digit}")).collect::<Vec<_>>().join(", ")
}

/// Reads `A=1, B=2`, in any order, with `:` for `=`, spaces, semicolons or lines for commas, lower case, or as a JSON object.
fn read(answer: &str) -> Option<BTreeMap<char, u8>> {
    let bare: String = answer
        .chars()
        .filter(|letter| !matches!(letter, '{' | '}' | '"' | '\''))
        .map(|letter| if letter == ':' { '=' } else { letter.to_ascii_uppercase() })
        .collect();
    let tokens = bare.split_inclusive('=').flat_map(|part| part.split([',', ';', ' ', '\n', '\r', '\t']));
    let mut tokens = tokens.map(str::trim).filter(|token| !token.is_empty());
    let mut digits = BTreeMap::new();
    while let Some(first) = tokens.next() {
        // Either `A=` or, with a space before the sign, `A` and `=`.
        let letter = match first.strip_suffix('=') {
            Some(letter) => letter,
            None if tokens.next() == Some("=") => first,
            None => return None,
        };
        let (letter, digit) = (single(letter)?, single(tokens.next()?)?);
        let digit = u8::try_from(digit.to_digit(10)?).ok()?;
        let repeated = !letter.is_ascii_uppercase() || digits.insert(letter, digit).is_some();
        if repeated {
            return None;
        }
    }
    Some(digits)
}

/// The only letter of a text.
fn single(text: &str) -> Option<char> {
    let mut letters = text.chars();
    letters.next().filter(|_| letters.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money() -> Instance {
        Instance {
            addends: vec!["SEND".to_owned(), "MORE".to_owned()],
            sum: "MONEY".to_owned(),
            solution: "D=7, E=5, M=1, N=6, O=0, R=8, S=9, Y=2".to_owned(),
        }
    }

    #[test]
    fn the_solution_is_right_in_every_spelling() {
        for answer in [
            "D=7, E=5, M=1, N=6, O=0, R=8, S=9, Y=2",
            "S=9,E=5,N=6,D=7,M=1,O=0,R=8,Y=2",
            "s = 9; e = 5; n = 6; d = 7; m = 1; o = 0; r = 8; y = 2",
            "S: 9\nE: 5\nN: 6\nD: 7\nM: 1\nO: 0\nR: 8\nY: 2\n",
            "{\"S\": 9, \"E\": 5, \"N\": 6, \"D\": 7, \"M\": 1, \"O\": 0, \"R\": 8, \"Y\": 2}",
            "S=9 E=5 N=6 D=7 M=1 O=0 R=8 Y=2",
        ] {
            assert_eq!(Cryptarithm.check(&money(), answer).score, 1.0, "{answer}");
        }
    }

    #[test]
    fn everything_else_is_wrong() {
        let long = "S=9,".repeat(1900);
        for answer in [
            "",
            "=",
            "S",
            "9567 + 1085 = 10652",
            "D=7, E=5, M=1, N=6, O=0, R=8, S=9",
            "D=7, E=5, M=1, N=6, O=0, R=8, S=9, Y=2, Z=3",
            "D=7, E=5, M=1, N=6, O=0, R=8, S=9, Y=2, Y=2",
            "D=7, E=5, M=1, N=6, O=0, R=8, S=9, Y=3",
            "D=7, E=5, M=1, N=6, O=0, R=8, S=9, Y=12",
            "D=7, E=5, M=1, N=6, O=0, R=8, S=9, Y=-2",
            "D=7, E=5, M=1, N=6, O=0, R=8, S=9, Y=٢",
            // The sum comes out, but a number begins with 0, or two letters have one digit.
            "D=7, E=2, M=0, N=3, O=8, R=9, S=5, Y=9",
            "D=0, E=0, M=0, N=0, O=0, R=0, S=0, Y=0",
            &long,
        ] {
            assert_eq!(Cryptarithm.check(&money(), answer).score, 0.0, "{answer:.60}");
        }
    }

    #[test]
    fn the_content_knows_no_names_and_no_order() {
        let other = Instance {
            addends: vec!["BCDE".to_owned(), "AEFG".to_owned()],
            sum: "BCFEH".to_owned(),
            solution: "A=9, B=1, C=0, D=8, E=5, F=6, G=7, H=2".to_owned(),
        };
        assert_eq!(Cryptarithm.check(&other, &other.solution).score, 1.0);
        assert_eq!(Cryptarithm.content(&money()), Cryptarithm.content(&other));
    }
}

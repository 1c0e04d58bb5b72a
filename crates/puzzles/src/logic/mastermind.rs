//! `puzzle/mastermind`: find a hidden code from what each guess reveals. Many turns.

use palestra_protocol::action::Action;
use palestra_protocol::observation::Observation;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::{Category, Facts};
use crate::{Puzzle, call, scale};
use palestra_environment::draws::{Draws, Refusal, Requirement};
use palestra_environment::tool::function;
use palestra_environment::verifier::Judgement;
use palestra_environment::verifier::final_answer::extract;
use palestra_environment::{Input, Reaction};

/// The code is neither the example nor one of the clues.
static HIDDEN: Requirement = Requirement::new("hidden", "the code is neither the example nor one of the clues", 0.02);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mastermind;

/// Codes that the prompt and the tool give as examples begin this.
const EXAMPLE: &str = "123456";

/// A problem: the hidden code, one digit from 1 to `digits` per place, and guesses that somebody made before.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    code: String,
    digits: u8,
    guesses_max: u32,
    clues: Vec<Guess>,
}

/// The guesses so far, each with what it revealed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Progress {
    guesses: Vec<Guess>,
}

/// One guess.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Guess {
    code: String,
    /// Right digits in the right place.
    exact: usize,
    /// Further right digits, in another place.
    misplaced: usize,
}

impl Guess {
    /// A guess of `code` where `hidden` is to be found.
    fn of(code: String, hidden: &str) -> Self {
        let (exact, misplaced) = compare(hidden, &code);
        Self { code, exact, misplaced }
    }

    fn sentence(&self) -> String {
        format!("{}: {} exact, {} misplaced.", self.code, self.exact, self.misplaced)
    }
}

impl Puzzle for Mastermind {
    type Instance = Instance;
    type Progress = Progress;

    fn facts(&self) -> Facts {
        Facts {
            name: "mastermind",
            version: 2,
            category: Category::Logic,
            tags: &[],
            multi_turn: true,
            description: "Find a hidden code of 4 to 6 digits; every guess, and a few made before, tells how many digits are right and in the right place.",
            rule: "One of the guesses has to be the code.",
            scale: "More places, more digits, fewer guesses, fewer clues to begin with.",
            effort: "Guesses the first code that agrees with everything revealed; beginnings of codes looked at.",
            floor: 0.02,
            heavy: false,
        }
    }

    fn tools(&self) -> Vec<Value> {
        vec![function(
            "guess",
            "Guesses the code.",
            json!({
                "type": "object", "required": ["code"], "additionalProperties": false,
                "properties": {"code": {"type": "string", "description": "All digits in order, such as 1234."}}
            }),
        )]
    }

    fn observation_schema(&self) -> Value {
        let guesses = json!({"type": "array", "items": {
            "type": "object", "required": ["code", "exact", "misplaced"],
            "properties": {"code": {"type": "string"}, "exact": {"type": "integer"}, "misplaced": {"type": "integer"}}
        }});
        json!({
            "type": "object", "required": ["clues", "guesses", "guesses_left"],
            "properties": {"clues": guesses, "guesses": guesses, "guesses_left": {"type": "integer"}}
        })
    }

    fn steps_max(&self) -> u64 {
        // Turns that are no guess are answered with an error: there is room for as many of them.
        28
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        // The easiest scale has 4,096 codes, the hardest 531,441; the clues make many problems of each.
        let places = usize::try_from(scale(difficulty, 4, 6))?;
        let digits = u8::try_from(scale(difficulty, 8, 9))?;
        let code = random_code(rng, places, digits);
        let clues: Vec<Guess> =
            (0..scale(difficulty, 3, 1)).map(|_| Guess::of(random_code(rng, places, digits), &code)).collect();
        HIDDEN.demand(!EXAMPLE.starts_with(&code) && clues.iter().all(|clue| clue.code != code))?;
        draws.note("places", places);
        draws.note("first_digit", &code[..1]);
        Ok(Instance { code, digits, guesses_max: scale(difficulty, 14, 10), clues })
    }

    fn content(&self, Instance { code, clues, .. }: &Instance) -> Value {
        // The order of the clues does not make another problem.
        let mut clues: Vec<&str> = clues.iter().map(|clue| clue.code.as_str()).collect();
        clues.sort_unstable();
        json!({"hidden": code, "clues": clues})
    }

    fn metadata(&self, Instance { code, digits, guesses_max, clues }: &Instance) -> Value {
        json!({"places": code.len(), "digits": digits, "guesses_max": guesses_max, "clues": clues})
    }

    fn prompt(&self, Instance { code, digits, guesses_max, clues }: &Instance) -> String {
        let places = code.len();
        let clues: String = clues.iter().map(|clue| format!("{}\n", clue.sentence())).collect();
        format!(
            "Find the hidden code of {places} digits. Each digit is from 1 to {digits}; a digit may come more than once. You \
             have {guesses_max} guesses.\n\
             After each guess you are told how many digits are exact (right digit, right place) and how many are misplaced \
             (right digit, wrong place). This is what guesses revealed that were made before, and do not count:\n\
             {clues}\
             Guess with the {places} digits alone, or think first and put them into <answer></answer>, for example \
             <answer>{}</answer>; or call the tool `guess`.",
            &EXAMPLE[..places.min(EXAMPLE.len())]
        )
    }

    fn start(&self, _instance: &Instance) -> Progress {
        Progress { guesses: Vec::new() }
    }

    fn show(&self, instance: &Instance, progress: &Progress) -> Observation {
        let mut text = String::new();
        for (turn, guess) in progress.guesses.iter().enumerate() {
            text.push_str(&format!("Guess {}: {}\n", turn + 1, guess.sentence()));
        }
        text.push_str(&format!("Guesses left: {}.", guesses_left(instance, progress)));
        observation(instance, progress, text)
    }

    fn act(&self, instance: &Instance, progress: &mut Progress, input: Input<'_>) -> Reaction {
        let written = match input {
            Input::Text(text) => extract(text),
            Input::Call { arguments, .. } => arguments.get("code").and_then(Value::as_str).unwrap_or_default(),
        };
        let Some(code) = read_code(instance, written) else {
            let (places, digits) = (instance.code.len(), instance.digits);
            let text = format!(
                "Error: that is no guess; it costs nothing. A guess is {places} digits from 1 to {digits}, nothing else. \
                 Guesses left: {}.",
                guesses_left(instance, progress)
            );
            return Reaction { observation: observation(instance, progress, text), ..Reaction::default() };
        };
        let guess = Guess::of(code, &instance.code);
        let sentence = guess.sentence();
        let solved = guess.code == instance.code;
        progress.guesses.push(guess);
        let left = guesses_left(instance, progress);
        let outcome = match (solved, left) {
            (true, _) => "You found the code.".to_owned(),
            (false, 0) => "No guesses are left.".to_owned(),
            (false, left) => format!("Guesses left: {left}."),
        };
        let text = format!("{sentence} {outcome}");
        let observation = observation(instance, progress, text);
        Reaction { observation, terminated: solved || left == 0, ..Reaction::default() }
    }

    fn judge(&self, instance: &Instance, progress: &Progress) -> Judgement {
        let limit = usize::try_from(instance.guesses_max).unwrap_or(usize::MAX);
        let found = progress.guesses.iter().take(limit).position(|guess| guess.code == instance.code);
        match found {
            Some(turn) => Judgement::single("finds_code", 1.0, format!("guess {} was the code", turn + 1)),
            None => Judgement::single(
                "finds_code",
                0.0,
                format!("none of {} guesses was the code {}", progress.guesses.len(), instance.code),
            ),
        }
    }

    fn solve(&self, instance: &Instance) -> Vec<Action> {
        vec![call("guess", "code", json!(instance.code))]
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Action {
        Action::Text(random_code(rng, instance.code.len(), instance.digits))
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Vec<Action> {
        let slip = |rng: &mut ChaCha8Rng| {
            let place = rng.random_range(0..instance.code.len());
            let others = ('1'..='9').take(usize::from(instance.digits));
            let others: Vec<char> = others.filter(|digit| !instance.code[place..].starts_with(*digit)).collect();
            let digit = others[rng.random_range(0..others.len())];
            format!("{}{digit}{}", &instance.code[..place], &instance.code[place + 1..])
        };
        (0..instance.guesses_max).map(|_| call("guess", "code", json!(slip(rng)))).collect()
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let mut solver = Solver { instance, revealed: instance.clues.clone(), looked_at: 0 };
        solver.search(&mut String::new());
        f64::from(solver.looked_at)
    }
}

/// Goes through the codes in order and guesses each that agrees with everything revealed so far.
struct Solver<'a> {
    instance: &'a Instance,
    revealed: Vec<Guess>,
    looked_at: u32,
}

impl Solver<'_> {
    /// Looks at all codes with this beginning; true when the code was found.
    fn search(&mut self, beginning: &mut String) -> bool {
        self.looked_at += 1;
        if beginning.len() == self.instance.code.len() {
            self.revealed.push(Guess::of(beginning.clone(), &self.instance.code));
            return *beginning == self.instance.code;
        }
        for digit in ('1'..='9').take(usize::from(self.instance.digits)) {
            beginning.push(digit);
            let found = self.agrees(beginning) && self.search(beginning);
            beginning.pop();
            if found {
                return true;
            }
        }
        false
    }

    /// True if some code with this beginning could have revealed what was revealed.
    fn agrees(&self, beginning: &str) -> bool {
        let left = self.instance.code.len() - beginning.len();
        self.revealed.iter().all(|guess| {
            let (exact, _) = compare(beginning, &guess.code[..beginning.len()]);
            let (common_exact, common_misplaced) = compare(beginning, &guess.code);
            let (common, total) = (common_exact + common_misplaced, guess.exact + guess.misplaced);
            exact <= guess.exact && exact + left >= guess.exact && common <= total && common + left >= total
        })
    }
}

fn observation(instance: &Instance, progress: &Progress, text: String) -> Observation {
    let left = guesses_left(instance, progress);
    let data = json!({"clues": instance.clues, "guesses": progress.guesses, "guesses_left": left});
    Observation { data, ..Observation::text(text) }
}

fn guesses_left(instance: &Instance, progress: &Progress) -> u32 {
    instance.guesses_max.saturating_sub(u32::try_from(progress.guesses.len()).unwrap_or(u32::MAX))
}

fn random_code(rng: &mut ChaCha8Rng, places: usize, digits: u8) -> String {
    (0..places).map(|_| char::from(b'0' + rng.random_range(1..=digits.min(9)))).collect()
}

/// The digits of a guess; spaces, commas and hyphens between them are fine.
fn read_code(instance: &Instance, written: &str) -> Option<String> {
    let largest = char::from(b'0' + instance.digits.min(9));
    let mut code = String::new();
    for letter in written.chars() {
        match letter {
            ' ' | ',' | '-' => {}
            digit if ('1'..=largest).contains(&digit) && code.len() < instance.code.len() => code.push(digit),
            _ => return None,
        }
    }
    (code.len() == instance.code.len()).then_some(code)
}

/// Number of digits that are exact, and of further ones in other positions.
fn compare(code: &str, guess: &str) -> (usize, usize) {
    let exact = code.bytes().zip(guess.bytes()).filter(|(left, right)| left == right).count();
    let count = |text: &str| {
        let mut counts = [0_usize; 10];
        text.bytes().for_each(|digit| counts[usize::from(digit.saturating_sub(b'0').min(9))] += 1);
        counts
    };
    let common: usize = count(code).into_iter().zip(count(guess)).map(|(left, right)| left.min(right)).sum();
    (exact, common - exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance() -> Instance {
        let clues = vec![Guess::of("2266".to_owned(), "1123")];
        Instance { code: "1123".to_owned(), digits: 6, guesses_max: 2, clues }
    }

    #[test]
    fn feedback_counts_each_digit_once() {
        for (guess, revealed) in
            [("1123", (4, 0)), ("3211", (0, 4)), ("1111", (2, 0)), ("4455", (0, 0)), ("1231", (1, 3)), ("2111", (1, 2))]
        {
            assert_eq!(compare("1123", guess), revealed, "{guess}");
        }
    }

    #[test]
    fn clues_are_told_and_count_as_no_guess() {
        let instance = instance();
        let progress = Mastermind.start(&instance);
        assert!(Mastermind.prompt(&instance).contains("\n2266: 0 exact, 1 misplaced.\nGuess"));
        let shown = Mastermind.show(&instance, &progress);
        assert_eq!(shown.text, "Guesses left: 2.");
        assert_eq!(shown.data["clues"], json!([{"code": "2266", "exact": 0, "misplaced": 1}]));
        assert_eq!(Mastermind.metadata(&instance)["clues"], shown.data["clues"]);
    }

    #[test]
    fn guesses_run_out_and_what_is_no_guess_costs_none() {
        let instance = instance();
        let mut progress = Mastermind.start(&instance);
        for text in ["", "112", "11233", "1127", "1 1 2 x", "guess", "0000", "１１２３"] {
            let reaction = Mastermind.act(&instance, &mut progress, Input::Text(text));
            assert!(reaction.observation.text.starts_with("Error") && !reaction.terminated, "{text}");
        }
        assert!(!Mastermind.act(&instance, &mut progress, Input::Text("3 2 1 1")).terminated);
        assert!(Mastermind.act(&instance, &mut progress, Input::Text("I think <answer>1,1,2,2</answer>")).terminated);
        assert_eq!(Mastermind.judge(&instance, &progress).checks[0].score, 0.0);
    }

    #[test]
    fn the_code_ends_it_with_a_score() {
        let instance = instance();
        let mut progress = Mastermind.start(&instance);
        let arguments = json!({"code": "1123"});
        let call = Input::Call { tool: "guess", arguments: arguments.as_object().expect("an object") };
        assert!(Mastermind.act(&instance, &mut progress, call).terminated);
        assert_eq!(Mastermind.judge(&instance, &progress).checks[0].score, 1.0);
    }
}

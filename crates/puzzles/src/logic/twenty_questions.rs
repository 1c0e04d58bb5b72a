//! `puzzle/twenty_questions`: find the hidden one of many objects by questions about their properties. Many turns.

mod objects;

use palestra_protocol::action::Action;
use palestra_protocol::observation::Observation;
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::objects::{Objects, Query};
use super::words::{listed, words};
use crate::facts::{Category, Facts};
use crate::{Puzzle, call, scale};
use palestra_environment::draws::{Draws, Refusal, Requirement};
use palestra_environment::tool::function;
use palestra_environment::verifier::Judgement;
use palestra_environment::verifier::final_answer::extract;
use palestra_environment::{Input, Reaction};

/// Words that may stand in a question without a meaning.
const FILLERS: [&str; 12] = ["ask", "is", "are", "was", "its", "it", "the", "of", "or", "either", "one", "does"];

/// As many objects as wanted differ, in as many draws as are made.
static OBJECTS: Requirement =
    Requirement::new("objects", "as many objects as wanted differ, in as many draws as are made", 0.02);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct TwentyQuestions;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    objects: Objects,
    /// The place of the hidden object in the list.
    hidden: usize,
    questions_max: u32,
}

/// The questions so far, and the guess.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Progress {
    questions: Vec<Answered>,
    guess: Option<String>,
}

/// A question with its answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    property: String,
    values: Vec<String>,
    yes: bool,
}

/// Action of a turn.
enum Turn {
    Ask(Query),
    Guess(usize),
}

impl Puzzle for TwentyQuestions {
    type Instance = Instance;
    type Progress = Progress;

    fn facts(&self) -> Facts {
        Facts {
            name: "twenty_questions",
            version: 1,
            category: Category::Logic,
            tags: &["information"],
            multi_turn: true,
            description: "Find out by yes-or-no questions about properties which of 24 to 64 listed objects is hidden, and guess it once.",
            rule: "The one guess has to be the hidden object.",
            scale: "More objects, and fewer questions than would be comfortable: of hard problems as many as halving needs.",
            effort: "Asks what comes nearest to halving the objects that are left; objects looked at over all questions weighed.",
            floor: 0.06,
            heavy: false,
        }
    }

    fn tools(&self) -> Vec<Value> {
        let ask = function(
            "ask",
            "Asks whether a property of the hidden object has one of these values.",
            json!({
                "type": "object", "required": ["property", "values"], "additionalProperties": false,
                "properties": {
                    "property": {"type": "string"},
                    "values": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 16}
                }
            }),
        );
        let guess = function(
            "guess",
            "Guesses the hidden object; the game ends.",
            json!({
                "type": "object", "required": ["object"], "additionalProperties": false,
                "properties": {"object": {"type": "string"}}
            }),
        );
        vec![ask, guess]
    }

    fn observation_schema(&self) -> Value {
        json!({
            "type": "object", "required": ["questions", "questions_left"],
            "properties": {
                "questions": {"type": "array", "items": {
                    "type": "object", "required": ["property", "values", "yes"],
                    "properties": {
                        "property": {"type": "string"},
                        "values": {"type": "array", "items": {"type": "string"}},
                        "yes": {"type": "boolean"}
                    }
                }},
                "questions_left": {"type": "integer"}
            }
        })
    }

    fn steps_max(&self) -> u64 {
        // Turns that are neither question nor guess are answered with an error: there is room for as many of them.
        24
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let count = usize::try_from(scale(difficulty, 24, 64))?;
        let objects = Objects::make(rng, count, draws).ok_or(&OBJECTS)?;
        objects.properties.iter().for_each(|property| draws.note("property", &property.name));
        let questions_max = objects.questions_needed() + scale(difficulty, 2, 0);
        Ok(Instance { hidden: rng.random_range(0..count), objects, questions_max })
    }

    fn content(&self, Instance { objects, hidden, .. }: &Instance) -> Value {
        // Neither the names of the objects nor their order make another problem.
        let mut rows = objects.rows.clone();
        rows.sort_unstable();
        json!({"properties": objects.properties, "rows": rows, "hidden": objects.rows[*hidden]})
    }

    fn metadata(&self, Instance { objects, questions_max, .. }: &Instance) -> Value {
        let object = |object: usize| {
            let values = objects.properties.iter().enumerate();
            let values = values.map(|(at, property)| (property.name.clone(), json!(objects.value(object, at))));
            (objects.names[object].clone(), Value::Object(values.collect()))
        };
        json!({
            "objects": Map::from_iter((0..objects.rows.len()).map(object)),
            "questions_max": questions_max
        })
    }

    fn prompt(&self, Instance { objects, questions_max, .. }: &Instance) -> String {
        let names: Vec<&str> = objects.properties.iter().map(|property| property.name.as_str()).collect();
        let rows = (0..objects.rows.len()).map(|object| {
            let values: Vec<&str> = (0..names.len()).map(|property| objects.value(object, property)).collect();
            format!("{}: {}", objects.names[object], values.join(", "))
        });
        let rows: Vec<String> = rows.collect();
        format!(
            "One of these objects is hidden. Each is given with its {}:\n{}\n\
             You may ask {questions_max} questions that are answered by yes or no, and then, or earlier, guess once which object \
             it is. A question names one property and one or more of its values, and asks whether the hidden object has one of \
             these values.\n\
             Ask so: ask {}: {}. Guess so: guess dragon. You may think first and put the question or the guess into \
             <answer></answer>; or call the tools `ask` and `guess`.",
            listed(&names, "and"),
            rows.join("\n"),
            names[0],
            listed(&objects.properties[0].values[..2], "or")
        )
    }

    fn start(&self, _instance: &Instance) -> Progress {
        Progress { questions: Vec::new(), guess: None }
    }

    fn show(&self, instance: &Instance, progress: &Progress) -> Observation {
        let mut text: String = progress.questions.iter().map(|answered| format!("{}\n", sentence(answered))).collect();
        text.push_str(&left(instance, progress));
        observation(instance, progress, text)
    }

    fn act(&self, instance: &Instance, progress: &mut Progress, input: Input<'_>) -> Reaction {
        let turn = match input {
            Input::Text(text) => read_text(&instance.objects, extract(text)),
            Input::Call { tool: "ask", arguments } => read_question(&instance.objects, arguments),
            Input::Call { arguments, .. } => {
                let object = arguments.get("object").and_then(Value::as_str).unwrap_or_default();
                instance.objects.find(object.trim()).map(Turn::Guess)
            }
        };
        let refuse = |why: &str| {
            let text = format!("Error: {why} It costs nothing. {}", left(instance, progress));
            Reaction { observation: observation(instance, progress, text), ..Reaction::default() }
        };
        match turn {
            None => refuse(
                "that is neither a question about one property and values that it can have nor a guess of one of the objects.",
            ),
            Some(Turn::Ask(_)) if questions_left(instance, progress) == 0 => {
                refuse("no questions are left; guess which object it is.")
            }
            Some(Turn::Ask(query)) => {
                let answered = Answered {
                    property: instance.objects.properties[query.property].name.clone(),
                    values: query.values().map(|value| instance.objects.named(query.property, value)).collect(),
                    yes: instance.objects.answer(instance.hidden, query),
                };
                let sentence = sentence(&answered);
                progress.questions.push(answered);
                let text = format!("{sentence} {}", left(instance, progress));
                Reaction { observation: observation(instance, progress, text), ..Reaction::default() }
            }
            Some(Turn::Guess(object)) => {
                let name = &instance.objects.names[object];
                progress.guess = Some(name.clone());
                let text = if object == instance.hidden { "Yes, it is." } else { "No, it is not." };
                let observation = observation(instance, progress, format!("{name}? {text}"));
                Reaction { observation, terminated: true, ..Reaction::default() }
            }
        }
    }

    fn judge(&self, instance: &Instance, progress: &Progress) -> Judgement {
        let hidden = &instance.objects.names[instance.hidden];
        let asked = progress.questions.len();
        match &progress.guess {
            Some(guess) if guess == hidden => {
                Judgement::single("finds_object", 1.0, format!("{guess} was guessed after {asked} questions"))
            }
            Some(guess) => Judgement::single("finds_object", 0.0, format!("{guess} was guessed, and {hidden} hidden")),
            None => Judgement::single("finds_object", 0.0, "nothing was guessed"),
        }
    }

    fn solve(&self, instance: &Instance) -> Vec<Action> {
        let mut actions = questions_to(instance);
        actions.push(guess(&instance.objects.names[instance.hidden]));
        actions
    }

    fn guess(&self, Instance { objects, .. }: &Instance, rng: &mut ChaCha8Rng) -> Action {
        if rng.random_ratio(1, 3) {
            return Action::Text(format!("guess {}", objects.names[rng.random_range(0..objects.names.len())]));
        }
        let property = objects.properties.choose(rng);
        let value = property.and_then(|property| Some((property, property.values.choose(rng)?)));
        Action::Text(value.map_or_else(String::new, |(property, value)| format!("ask {}: {value}", property.name)))
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> Vec<Action> {
        // Stops asking too early, and guesses another object than the hidden one.
        let mut actions = questions_to(instance);
        actions.truncate(rng.random_range(0..=actions.len()));
        let others: Vec<&String> =
            instance.objects.names.iter().filter(|name| **name != instance.objects.names[instance.hidden]).collect();
        actions.extend(others.choose(rng).map(|name| guess(name)));
        actions
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let (_, looked_at) = instance.objects.narrow_down(instance.hidden);
        f64::from(looked_at)
    }
}

/// Questions after which one object is left.
fn questions_to(instance: &Instance) -> Vec<Action> {
    let (queries, _) = instance.objects.narrow_down(instance.hidden);
    let ask = |query: &Query| {
        let values: Vec<String> = query.values().map(|value| instance.objects.named(query.property, value)).collect();
        let property = json!(instance.objects.properties[query.property].name);
        let arguments = Map::from_iter([("property".to_owned(), property), ("values".to_owned(), json!(values))]);
        Action::Tool { tool: "ask".to_owned(), arguments }
    };
    queries.iter().map(ask).collect()
}

fn guess(object: &str) -> Action {
    call("guess", "object", json!(object))
}

fn sentence(Answered { property, values, yes }: &Answered) -> String {
    format!("{property} {}? {}.", listed(values, "or"), if *yes { "Yes" } else { "No" })
}

fn questions_left(instance: &Instance, progress: &Progress) -> u32 {
    instance.questions_max.saturating_sub(u32::try_from(progress.questions.len()).unwrap_or(u32::MAX))
}

fn left(instance: &Instance, progress: &Progress) -> String {
    format!("Questions left: {}, and one guess.", questions_left(instance, progress))
}

fn observation(instance: &Instance, progress: &Progress, text: String) -> Observation {
    let data = json!({"questions": progress.questions, "questions_left": questions_left(instance, progress)});
    Observation { data, ..Observation::text(text) }
}

/// `guess` and an object, or a property and values with nothing but [`FILLERS`] beside them.
fn read_text(objects: &Objects, text: &str) -> Option<Turn> {
    let words = words(text)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["guess", rest @ ..] = words.as_slice() {
        let mut rest = rest.iter().filter(|word| !FILLERS.contains(word));
        let object = objects.find(rest.next()?)?;
        return rest.next().is_none().then_some(Turn::Guess(object));
    }
    let mut meant = words.into_iter().filter(|word| !FILLERS.contains(word));
    let first = meant.next()?;
    let query = objects.query(first, meant)?;
    Some(Turn::Ask(query))
}

fn read_question(objects: &Objects, arguments: &Map<String, Value>) -> Option<Turn> {
    let property = arguments.get("property")?.as_str()?;
    let values: Option<Vec<&str>> = arguments.get("values")?.as_array()?.iter().map(Value::as_str).collect();
    objects.query(property, values?).map(Turn::Ask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    fn instance() -> Instance {
        let mut rng = seeded(&[b"objects"]);
        let objects = (0..50).find_map(|_| Objects::make(&mut rng, 24, &mut Draws::default())).expect("objects");
        Instance { objects, hidden: 5, questions_max: 2 }
    }

    fn question(instance: &Instance) -> (String, String, String) {
        let property = &instance.objects.properties[1];
        (property.name.clone(), property.values[0].clone(), property.values[1].clone())
    }

    #[test]
    fn questions_are_read_as_people_write_them() {
        let instance = instance();
        let (property, first, second) = question(&instance);
        let query = instance.objects.query(&property, [first.as_str(), second.as_str()]).expect("a question");
        for text in [
            format!("ask {property}: {first}, {second}"),
            format!("ASK {property} {second} or {first}?"),
            format!("Is the {property} either {first} or {second}?"),
            format!("I halve them.\n<answer>{property} = {first}, {second}</answer>"),
        ] {
            let mut progress = TwentyQuestions.start(&instance);
            let reaction = TwentyQuestions.act(&instance, &mut progress, Input::Text(&text));
            assert!(!reaction.terminated);
            assert_eq!(progress.questions[0].values.len(), 2, "{text}");
            assert_eq!(progress.questions[0].yes, instance.objects.answer(5, query));
        }
    }

    #[test]
    fn invalid_turns_cost_nothing_and_questions_run_out() {
        let instance = instance();
        let (property, first, _) = question(&instance);
        let mut progress = TwentyQuestions.start(&instance);
        let asked = format!("ask {property}: {first}");
        let long = first.repeat(2000);
        let foreign = format!("ask {property}: {}", instance.objects.properties[0].values[0]);
        let both = format!("{asked}, {property}: {first}");
        let negated = format!("{property} not {first}");
        let hedged = format!("guess {} {}", instance.objects.names[0], instance.objects.names[5]);
        for text in
            ["", "ask", "guess", "guess nothing", &property, &foreign, &both, &negated, &hedged, &long, "\u{202e}"]
        {
            let reaction = TwentyQuestions.act(&instance, &mut progress, Input::Text(text));
            assert!(reaction.observation.text.starts_with("Error") && !reaction.terminated, "{text:.60}");
        }
        assert!(progress.questions.is_empty());
        for _ in 0..4 {
            let reaction = TwentyQuestions.act(&instance, &mut progress, Input::Text(&asked));
            assert!(!reaction.terminated);
        }
        assert_eq!(progress.questions.len(), 2);
        let text = format!("guess the {}", instance.objects.names[5]);
        assert!(TwentyQuestions.act(&instance, &mut progress, Input::Text(&text)).terminated);
        assert_eq!(TwentyQuestions.judge(&instance, &progress).checks[0].score, 1.0);
    }

    #[test]
    fn there_is_one_guess() {
        let instance = instance();
        let mut progress = TwentyQuestions.start(&instance);
        let arguments = json!({"object": instance.objects.names[4]});
        let input = Input::Call { tool: "guess", arguments: arguments.as_object().expect("an object") };
        let reaction = TwentyQuestions.act(&instance, &mut progress, input);
        assert!(reaction.terminated && !reaction.observation.text.contains(&instance.objects.names[5]));
        assert_eq!(TwentyQuestions.judge(&instance, &progress).checks[0].score, 0.0);
    }
}

//! `bench/document`: edits values in a JSON document of a chosen size. It measures what forks and state hashes cost where
//! there is much state and each turn changes little of it.

use std::collections::VecDeque;
use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::environment::Environment as Spec;
use palestra_protocol::observation::Observation;
use parking_lot::Mutex;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{read_settings, target_of, target_task};
use palestra_environment::spec::{GENERATED_SPLITS, SpecBuilder, builtin_verifier_version};
use palestra_environment::state::State;
use palestra_environment::task::{SEED_MAX, Task, TaskError};
use palestra_environment::tool::function;
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{
    ConfigError, Context, Environment, EnvironmentKind, Input, Opening, Place, Reaction, TaskGenerator, Tasks,
};

/// Bytes of JSON text of a document where a session names no size.
const BYTES_DEFAULT: usize = 10_000;
/// Bytes of JSON text that a session may ask for.
const BYTES_MAX: usize = 4 << 20;
/// Documents of different sizes that are kept to be copied.
const TEMPLATES_MAX: usize = 4;
/// Records of a section. Hashing after an edit reads the digests of one section and of all sections.
const RECORDS_PER_SECTION: usize = 64;
/// Characters of a text that can be set.
const TEXT_CHARACTERS_MAX: usize = 200;
/// Characters of a path that can be named.
const PATH_CHARACTERS_MAX: usize = 200;
/// Turns in an episode where a session names no limit: enough for any measurement.
const STEPS_MAX: u64 = 1_000_000;
/// Where the task wants its number; every document has this place.
const GOAL: &str = "/sections/0/records/0/count";
const HELP: &str = "Call the tool `set` with {\"path\": \"/sections/0/records/0/count\", \"value\": 7}.";

/// The kind.
pub struct Document {
    spec: Spec,
    verifier_version: String,
    /// By size, the newest last. Copies share their structure with the document kept here.
    templates: Mutex<VecDeque<(usize, State)>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Bytes of the document's JSON text, up to the length of one record more.
    #[serde(default = "bytes_default")]
    bytes: usize,
}

const fn bytes_default() -> usize {
    BYTES_DEFAULT
}

impl Document {
    /// The kind as it is registered.
    #[must_use]
    pub fn new() -> Self {
        let value = json!({"anyOf": [
            {"type": "integer", "minimum": -(SEED_MAX as i64), "maximum": SEED_MAX},
            {"type": "string", "maxLength": TEXT_CHARACTERS_MAX},
            {"type": "boolean"}, {"type": "null"}
        ]});
        let spec = SpecBuilder::new(
            "bench/document",
            1,
            "Set values in a large JSON document. For measuring forks and state hashes.",
        )
        .tags(&["bench"])
        .tools(vec![function(
            "set",
            "Replaces a number, text, boolean or null of the document.",
            json!({
                "type": "object", "required": ["path", "value"], "additionalProperties": false,
                "properties": {
                    "path": {"type": "string", "maxLength": PATH_CHARACTERS_MAX, "description": "JSON Pointer (RFC 6901)"},
                    "value": value
                }
            }),
        )])
        .observation(json!({
            "type": "object", "properties": {"path": {"type": "string"}, "value": value}
        }))
        .splits(&GENERATED_SPLITS)
        .steps_max(STEPS_MAX)
        .floor(0.05)
        .build();
        let verifier_version = builtin_verifier_version("value", &spec);
        Self { spec, verifier_version, templates: Mutex::default() }
    }

    /// The document of a size, with all its digests: built once, then copied.
    fn template(&self, bytes: usize) -> State {
        let mut templates = self.templates.lock();
        if let Some((_, state)) = templates.iter().find(|(size, _)| *size == bytes) {
            return state.clone();
        }
        let state = State::from(document(bytes));
        // Asked for once, every digest in it is there for all copies.
        let _digest = state.digest();
        if templates.len() == TEMPLATES_MAX {
            templates.pop_front();
        }
        templates.push_back((bytes, state.clone()));
        state
    }
}

impl Default for Document {
    fn default() -> Self {
        Self::new()
    }
}

/// Sections of records, `bytes` of JSON text long or one record longer. The same size always gives the same document.
fn document(bytes: usize) -> Value {
    let mut sections: Vec<Value> = Vec::new();
    let mut written = 0;
    for number in 0.. {
        if number > 0 && written >= bytes {
            break;
        }
        let record = record(number);
        written += record.to_string().len();
        if number.is_multiple_of(RECORDS_PER_SECTION) {
            sections.push(json!({"title": format!("Section {}", sections.len()), "records": []}));
        }
        if let Some(Value::Array(records)) = sections.last_mut().and_then(|section| section.get_mut("records")) {
            records.push(record);
        }
    }
    json!({"sections": sections})
}

fn record(number: usize) -> Value {
    const PLACES: [&str; 5] = ["the harbour", "the market", "the upper town", "the mill", "the station"];
    const GOODS: [&str; 7] = ["barley", "copper wire", "tiles", "paper", "olive oil", "timber", "glass"];
    let (place, goods) = (PLACES[number % PLACES.len()], GOODS[number % GOODS.len()]);
    json!({
        "id": number,
        "count": 0,
        "title": format!("Order {number} of {goods} for {place}"),
        "note": format!("To be brought to {place} before noon; weigh the {goods} again on arrival and write the weight down."),
        "done": number.is_multiple_of(3),
        "tags": [goods, place],
    })
}

impl EnvironmentKind for Document {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        Tasks::Generated(self)
    }

    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError> {
        let Settings { bytes } = read_settings(opening.config)?;
        if !(1..=BYTES_MAX).contains(&bytes) {
            let detail = format!("bytes must be 1 to {BYTES_MAX}");
            return Err(ConfigError { field: Some("bytes".to_owned()), detail });
        }
        Ok(Place::Pure(Box::new(Editor { task: Arc::clone(opening.task), state: self.template(bytes) })))
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        AnyVerifier::Pure(self)
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        Some(vec![set(GOAL, target_of(task)?)])
    }

    fn random_action(&self, _task: &Task, rng: &mut ChaCha8Rng) -> Action {
        let record = rng.random_range(0..10);
        set(&format!("/sections/0/records/{record}/count"), rng.random_range(1..=1000))
    }
}

fn set(path: &str, value: i64) -> Action {
    let arguments = Map::from_iter([("path".to_owned(), json!(path)), ("value".to_owned(), json!(value))]);
    Action::Tool { tool: "set".to_owned(), arguments }
}

impl TaskGenerator for Document {
    fn generate(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, TaskError> {
        target_task(&self.spec, split, seed, difficulty, |target| {
            format!(
                "You keep a JSON document of sections and records. Make the value at {GOAL} exactly {target}. {HELP}"
            )
        })
    }
}

impl Verifier for Document {
    fn name(&self) -> &str {
        "value"
    }

    fn version(&self) -> &str {
        &self.verifier_version
    }

    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError> {
        let target = target_of(case.task).ok_or_else(|| VerifierError("the task has no target".to_owned()))?;
        let value = case.state.pointer(GOAL).ok_or_else(|| VerifierError(format!("the state has no {GOAL}")))?;
        let reached = matches!(value, State::Number(number) if number.as_i64() == Some(target));
        let evidence = format!("the value at {GOAL} is {}, the target {target}", value.to_value());
        Ok(Judgement::single("value", if reached { 1.0 } else { 0.0 }, evidence))
    }
}

/// A document in one session.
#[derive(Clone)]
struct Editor {
    task: Arc<Task>,
    state: State,
}

impl Editor {
    /// Replaces the scalar at `path` by another.
    fn set(&mut self, path: &str, value: State) -> Result<(), &'static str> {
        match self.state.pointer(path) {
            None => Err("there is nothing at this path"),
            Some(State::Array(_) | State::Object(_)) => Err("at this path there are several values"),
            Some(_) => {
                let place = place(&mut self.state, path).ok_or("there is nothing at this path")?;
                *place = value;
                Ok(())
            }
        }
    }
}

/// The value at a path that is known to lead somewhere. Copies what is shared on the way, and forgets its digests.
fn place<'a>(state: &'a mut State, path: &str) -> Option<&'a mut State> {
    path.split('/').skip(1).try_fold(state, |state, token| match state {
        State::Object(object) => {
            let key = token.replace("~1", "/").replace("~0", "~");
            Arc::make_mut(object).members_mut().get_mut(key.as_str())
        }
        State::Array(array) => Arc::make_mut(array).elements_mut().get_mut(token.parse::<usize>().ok()?),
        _ => None,
    })
}

impl Environment for Editor {
    fn observe(&self) -> Observation {
        let instruction = self.task.public.messages.last().map(|message| message.content.clone());
        Observation::text(instruction.unwrap_or_default())
    }

    fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Reaction {
        let Input::Call { arguments, .. } = input else {
            return Reaction::text(format!("Error: text changes nothing here. {HELP}"));
        };
        let (Some(Value::String(path)), Some(value)) = (arguments.get("path"), arguments.get("value")) else {
            return Reaction::text(format!("Error: a path and a value are needed. {HELP}"));
        };
        if value.is_array() || value.is_object() {
            return Reaction::text(format!("Error: a value is a number, a text, a boolean or null. {HELP}"));
        }
        match self.set(path, State::from(value.clone())) {
            Err(reason) => Reaction::text(format!("Error: {reason}. {HELP}")),
            Ok(()) => {
                let text = format!("The value at {path} is now {value}.");
                let observation =
                    Observation { data: json!({"path": path, "value": value}), ..Observation::text(text) };
                Reaction { observation, ..Reaction::default() }
            }
        }
    }

    fn state(&self) -> State {
        self.state.clone()
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::id::EpisodeId;

    use super::*;
    use palestra_environment::Secrets;

    fn open(kind: &Document, config: &Value) -> Result<Box<dyn Environment>, ConfigError> {
        let task = Arc::new(kind.generate("train", 1, None).expect("a task"));
        let config = config.as_object().expect("an object");
        let episode = EpisodeId::new();
        match kind.open(Opening {
            task: &task,
            seed: 1,
            secrets: Secrets::Seed(1),
            config,
            episode,
            resumed: false,
            folder: None,
            from: None,
        })? {
            Place::Pure(place) => Ok(place),
            Place::Live(_) => panic!("the document is pure"),
        }
    }

    fn act(place: &mut dyn Environment, arguments: &Value) -> String {
        let mut context = Context::seeded(&[b"x"]);
        let arguments = arguments.as_object().expect("an object");
        place.act(Input::Call { tool: "set", arguments }, &mut context).observation.text
    }

    #[test]
    fn a_document_has_the_size_that_was_asked_for() {
        for bytes in [1, 10_000, 1_000_000] {
            let length = document(bytes).to_string().len();
            assert!(length >= bytes && length < bytes + bytes / 20 + 1_000, "{bytes}: {length}");
        }
    }

    #[test]
    fn an_edit_changes_its_place_alone_and_no_copy() {
        let kind = Document::new();
        let mut place = open(&kind, &json!({"bytes": 100_000})).expect("a place");
        let (copy, before) = (place.fork(), place.state());
        let path = "/sections/2/records/7/note";
        assert_eq!(
            act(&mut *place, &json!({"path": path, "value": "new"})),
            format!("The value at {path} is now \"new\".")
        );
        let mut expected = document(100_000);
        *expected.pointer_mut(path).expect("a note") = json!("new");
        assert_eq!(place.state().to_value(), expected);
        assert_eq!(place.state().digest(), State::from(expected).digest());
        assert_eq!(copy.state().digest(), before.digest());
        assert_eq!(open(&kind, &json!({"bytes": 100_000})).expect("a place").state(), before);
    }

    #[test]
    fn paths_that_lead_to_no_scalar_change_nothing() {
        let mut place = open(&Document::new(), &json!({})).expect("a place");
        let before = place.state().digest();
        for path in
            ["", "/", "/sections", "/sections/0/records/-", "/sections/00/title", "/nowhere", "sections/0/title"]
        {
            assert!(act(&mut *place, &json!({"path": path, "value": 1})).starts_with("Error"), "{path}");
        }
        for arguments in [json!({}), json!({"path": GOAL}), json!({"path": GOAL, "value": {"a": 1}})] {
            assert!(act(&mut *place, &arguments).starts_with("Error"), "{arguments}");
        }
        assert_eq!(place.state().digest(), before);
    }

    #[test]
    fn sizes_out_of_bounds_and_unknown_settings_are_named() {
        let kind = Document::new();
        for config in [json!({"bytes": 0}), json!({"bytes": BYTES_MAX + 1})] {
            assert_eq!(open(&kind, &config).err().expect("refused").field.as_deref(), Some("bytes"));
        }
        assert_eq!(open(&kind, &json!({"size": 1})).err().expect("refused").field.as_deref(), Some("size"));
        assert!(open(&kind, &json!({"bytes": -1})).is_err());
    }

    #[test]
    fn few_templates_are_kept() {
        let kind = Document::new();
        for bytes in 1..=2 * TEMPLATES_MAX {
            open(&kind, &json!({"bytes": bytes})).expect("a place");
        }
        assert_eq!(kind.templates.lock().len(), TEMPLATES_MAX);
    }
}

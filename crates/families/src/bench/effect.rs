//! `bench/effect`: every input leaves one line in a file outside the server. It exists to prove that no step acts twice.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use palestra_protocol::action::Action;
use palestra_protocol::environment::{AtSeq, Capabilities, Environment as Spec, ForkKind, Recovery};
use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::Observation;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, json};
use tokio::fs::OpenOptions;
use tokio::io::AsyncWriteExt;

use super::{target_of, target_task};
use palestra_environment::spec::{GENERATED_SPLITS, SpecBuilder, builtin_verifier_version};
use palestra_environment::state::State;
use palestra_environment::task::{Task, TaskError};
use palestra_environment::tool::function;
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, Verifier, VerifierError};
use palestra_environment::{
    ConfigError, Context, EnvironmentKind, InfraError, Input, LiveEnvironment, Opening, Place, Reaction, TaskGenerator,
    Tasks,
};

/// A line is one write as long as it stays small.
const NOTE_BYTES_MAX: usize = 1024;

/// Turns in an episode where a session names no limit.
const STEPS_MAX: u64 = 1_000_000;

/// The notice for a recovered session.
const LOST: &str = "The server was restarted: running processes were lost, files were kept. ";

/// The kind.
pub struct Effect {
    spec: Spec,
    verifier_version: String,
    folder: PathBuf,
}

impl Effect {
    /// The kind with its traces in `folder`.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        let spec = SpecBuilder::new("bench/effect", 1, "Write lines to a log. For testing that no step acts twice.")
            .tags(&["bench"])
            .tools(vec![function(
                "write",
                "Writes one line to the log.",
                json!({
                    "type": "object", "required": ["line"], "additionalProperties": false,
                    "properties": {"line": {"type": "string", "maxLength": NOTE_BYTES_MAX}}
                }),
            )])
            .observation(json!({
                "type": "object", "required": ["lines"], "properties": {"lines": {"type": "integer"}}
            }))
            .splits(&GENERATED_SPLITS)
            .steps_max(STEPS_MAX)
            .floor(0.05)
            .capabilities(Capabilities {
                deterministic: false,
                recovery: Recovery::Files,
                fork: ForkKind::None,
                at_seq: AtSeq::None,
            })
            .build();
        let verifier_version = builtin_verifier_version("lines", &spec);
        Self { spec, verifier_version, folder }
    }
}

impl EnvironmentKind for Effect {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tasks(&self) -> Tasks<'_> {
        Tasks::Generated(self)
    }

    fn open(&self, opening: Opening<'_>) -> Result<Place, ConfigError> {
        ConfigError::refuse_all(opening.config)?;
        Ok(Place::Live(Box::new(Log {
            task: Arc::clone(opening.task),
            episode: opening.episode,
            path: self.folder.join(format!("{}.log", opening.episode)),
            // What a recovered session wrote before is counted at the first touch, since opening does no IO.
            lines: (!opening.resumed).then_some(0),
            notice: opening.resumed,
        })))
    }

    fn verifier(&self) -> AnyVerifier<'_> {
        AnyVerifier::Pure(self)
    }

    fn oracle(&self, task: &Task) -> Option<Vec<Action>> {
        let lines = target_of(task)?;
        Some((1..=lines).map(|line| Action::Text(format!("line {line}"))).collect())
    }

    fn random_action(&self, _task: &Task, _rng: &mut ChaCha8Rng) -> Action {
        let arguments = Map::from_iter([("line".to_owned(), json!("anything"))]);
        Action::Tool { tool: "write".to_owned(), arguments }
    }
}

impl TaskGenerator for Effect {
    fn generate(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, TaskError> {
        target_task(&self.spec, split, seed, difficulty, |target| {
            format!(
                "Write exactly {target} lines to the log. Every answer is one line; the tool `write` with \
                 {{\"line\": text}} does the same."
            )
        })
    }
}

impl Verifier for Effect {
    fn name(&self) -> &str {
        "lines"
    }

    fn version(&self) -> &str {
        &self.verifier_version
    }

    fn verify(&self, case: &Case<'_>) -> Result<Judgement, VerifierError> {
        let target = target_of(case.task).ok_or_else(|| VerifierError("the task has no target".to_owned()))?;
        let lines = match case.state.get("lines") {
            Some(State::Number(number)) => number.as_i64(),
            _ => None,
        };
        let lines = lines.ok_or_else(|| VerifierError("the state has no lines".to_owned()))?;
        let score = if lines == target { 1.0 } else { 0.0 };
        Ok(Judgement::single("lines", score, format!("{lines} lines were written, {target} were asked for")))
    }
}

/// The log of one episode.
struct Log {
    task: Arc<Task>,
    episode: EpisodeId,
    path: PathBuf,
    /// The number of lines; `None` until the file of a recovered session was read.
    lines: Option<u64>,
    /// True while the loss still has to be told with an answer.
    notice: bool,
}

impl Log {
    async fn count(&mut self) -> Result<u64, InfraError> {
        if let Some(lines) = self.lines {
            return Ok(lines);
        }
        let lines = match tokio::fs::read(&self.path).await {
            Ok(bytes) => bytes.iter().filter(|byte| **byte == b'\n').count() as u64,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(error) => return Err(failed("reading", &error)),
        };
        self.lines = Some(lines);
        Ok(lines)
    }

    async fn append(&self, note: &str) -> std::io::Result<()> {
        if let Some(folder) = self.path.parent() {
            tokio::fs::create_dir_all(folder).await?;
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path).await?;
        file.write_all(format!("{} {note}\n", self.episode).as_bytes()).await?;
        // The file hands its one write to another thread; flushing waits for it.
        file.flush().await
    }

    fn show(&self, lines: u64, before: &str) -> Observation {
        let lost = if self.notice { LOST } else { "" };
        Observation { data: json!({"lines": lines}), ..Observation::text(format!("{lost}{before}Lines: {lines}.")) }
    }
}

#[async_trait]
impl LiveEnvironment for Log {
    async fn observe(&mut self) -> Result<Observation, InfraError> {
        let lines = self.count().await?;
        let instruction = self.task.public.messages.last().map(|message| format!("{}\n\n", message.content));
        Ok(self.show(lines, &instruction.unwrap_or_default()))
    }

    async fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Result<Reaction, InfraError> {
        let lines = self.count().await?;
        let note = match input {
            Input::Text(text) => one_line(text),
            Input::Call { arguments, .. } => {
                one_line(arguments.get("line").and_then(|line| line.as_str()).unwrap_or(""))
            }
        };
        self.append(&note).await.map_err(|error| failed("writing", &error))?;
        self.lines = Some(lines + 1);
        let observation = self.show(lines + 1, "");
        self.notice = false;
        Ok(Reaction { observation, ..Reaction::default() })
    }

    async fn state(&mut self) -> Result<State, InfraError> {
        Ok(State::from(json!({"lines": self.count().await?})))
    }

    async fn fork(&mut self, _episode: EpisodeId) -> Result<Option<Box<dyn LiveEnvironment>>, InfraError> {
        Ok(None)
    }

    async fn close(&mut self) {}
}

fn failed(what: &str, error: &std::io::Error) -> InfraError {
    InfraError::new(format!("{what} the log failed: {error}"))
}

/// At most [`NOTE_BYTES_MAX`] bytes without line breaks and control characters.
fn one_line(text: &str) -> String {
    let cut = text.floor_char_boundary(NOTE_BYTES_MAX);
    text[..cut].chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::Secrets;

    fn open(effect: &Effect, episode: EpisodeId, resumed: bool) -> Box<dyn LiveEnvironment> {
        let task = Arc::new(effect.generate("test", 5, None).expect("a task"));
        let opening = Opening {
            task: &task,
            seed: 0,
            secrets: Secrets::Seed(0),
            config: &Map::new(),
            episode,
            resumed,
            folder: None,
            from: None,
        };
        match effect.open(opening).expect("a place") {
            Place::Live(place) => place,
            Place::Pure(_) => panic!("the effect is live"),
        }
    }

    #[tokio::test]
    async fn every_input_is_one_line_and_survives_the_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let effect = Effect::new(folder.path().join("effects"));
        let episode = EpisodeId::new();
        let mut context = Context::seeded(&[b"x"]);
        let mut place = open(&effect, episode, false);
        place.act(Input::Text("one\ntwo"), &mut context).await.expect("written");
        let arguments = json!({"line": "three"});
        let call = Input::Call { tool: "write", arguments: arguments.as_object().expect("an object") };
        let reaction = place.act(call, &mut context).await.expect("written");
        assert_eq!(reaction.observation.text, "Lines: 2.");
        drop(place);

        let written = std::fs::read_to_string(folder.path().join(format!("effects/{episode}.log"))).expect("a log");
        assert_eq!(written, format!("{episode} one two\n{episode} three\n"));

        let mut place = open(&effect, episode, true);
        assert_eq!(place.state().await.expect("a state").to_value(), json!({"lines": 2}));
        let first = place.observe().await.expect("an observation");
        assert!(first.text.starts_with(LOST) && first.text.ends_with("Lines: 2."), "{}", first.text);
        let next = place.act(Input::Text("four"), &mut context).await.expect("written").observation.text;
        assert_eq!(next, format!("{LOST}Lines: 3."));
        let later = place.act(Input::Text("five"), &mut context).await.expect("written").observation.text;
        assert_eq!(later, "Lines: 4.");
        assert!(place.fork(EpisodeId::new()).await.expect("an answer").is_none());
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_written_is_a_failure_of_the_infrastructure() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("file"), "").expect("a file");
        let effect = Effect::new(folder.path().join("file/below"));
        let mut context = Context::seeded(&[b"x"]);
        let mut place = open(&effect, EpisodeId::new(), false);
        assert!(place.act(Input::Text("x"), &mut context).await.is_err());
        assert_eq!(place.state().await.expect("a state").to_value(), json!({"lines": 0}));
    }
}

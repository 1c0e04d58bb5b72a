//! The proof of a task in a browser: its solution is right, and neither doing nothing nor clicking anywhere is.

use std::sync::Arc;
use std::time::Duration;

use palestra_protocol::action::Action;
use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::Observation;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value};

use palestra_environment::state::State;
use palestra_environment::task::{Task, seeded};
use palestra_environment::verifier::Case;
use palestra_environment::{
    Cause, Context, EnvironmentKind, InfraError, Input, LiveEnvironment, Opening, Place, Reaction, Secrets,
};

/// Size of the page in pixels, in which a random policy clicks.
const SIZE: (u32, u32) = (1_280, 720);
/// Clicks of the random policy in a proof.
const CLICKS: u64 = 8;
/// Waits for a browser that is free.
const WAITS_MAX: u32 = 60;

/// A click anywhere.
pub(super) fn random_click(rng: &mut ChaCha8Rng) -> Action {
    let (x, y) = (rng.random_range(0..SIZE.0), rng.random_range(0..SIZE.1));
    Action::Text(format!("mouse_click({x}, {y})"))
}

/// The end of a played episode.
pub(super) struct Played {
    /// Observations, the first one included.
    pub(super) seen: Vec<Observation>,
    /// The last state.
    pub(super) state: State,
    /// True if the last action ended the episode.
    pub(super) terminated: bool,
    /// The score.
    pub(super) score: f64,
}

/// The faults of a task; none where it is sound.
///
/// # Errors
/// In words, when no browser can be had.
pub(super) async fn faults(kind: &dyn EnvironmentKind, task: &Arc<Task>) -> Result<Vec<String>, String> {
    let mut faults = Vec::new();
    if play(kind, task, &[]).await?.score > 0.0 {
        faults.push("doing nothing is right: want something that the first page does not ask for by itself".to_owned());
    }
    let mut rng = seeded(&[b"clicks of a proof", task.public.id.as_bytes()]);
    let clicks: Vec<Action> = (0..CLICKS).map(|_| kind.random_action(task, &mut rng)).collect();
    if play(kind, task, &clicks).await?.score > 0.0 {
        faults.push(format!("{CLICKS} clicks anywhere are right: want more than one request or an answer"));
    }
    if let Some(solution) = kind.oracle(task) {
        let played = play(kind, task, &solution).await?;
        let mut errors = played.seen.iter().enumerate().skip(1);
        let wrong = errors.find_map(|(number, seen)| seen.data["error"].as_str().map(|error| (number, error)));
        if let Some((number, error)) = wrong {
            faults.push(format!("action {number} of the solution does not fit the page: {error}"));
        } else if played.score < 1.0 {
            faults.push(format!("the solution is not right: it leaves {}", played.state.to_value()));
        } else if !played.terminated {
            faults.push("the last action of the solution does not end the task: end with it".to_owned());
        }
    }
    Ok(faults)
}

/// Plays actions up to the end of the episode.
///
/// # Errors
/// In words, when no browser can be had or the definition is broken.
pub(super) async fn play(kind: &dyn EnvironmentKind, task: &Arc<Task>, actions: &[Action]) -> Result<Played, String> {
    let opening = Opening {
        task,
        seed: 0,
        secrets: Secrets::Seed(0),
        config: &Map::new(),
        episode: EpisodeId::new(),
        resumed: false,
        folder: None,
        from: None,
    };
    let place = kind.open(opening).map_err(|error| error.to_string())?;
    let Place::Live(mut place) = place else { return Err("the environment has no pages: publish it anew".to_owned()) };
    let played = play_in(kind, task, &mut *place, actions).await;
    place.close().await;
    played
}

async fn play_in(
    kind: &dyn EnvironmentKind,
    task: &Task,
    place: &mut dyn LiveEnvironment,
    actions: &[Action],
) -> Result<Played, String> {
    let mut context = Context::seeded(&[b"proof"]);
    let mut seen = vec![first_look(place).await.map_err(|error| error.detail)?];
    let mut terminated = false;
    for action in actions {
        let Reaction { observation, terminated: ended, .. } = match action {
            Action::Text(text) => place.act(Input::Text(text), &mut context).await,
            Action::Tool { tool, arguments } => place.act(Input::Call { tool, arguments }, &mut context).await,
            _ => continue,
        }
        .map_err(|error| error.detail)?;
        seen.push(observation);
        terminated = ended;
        if ended {
            break;
        }
    }
    let state = place.state().await.map_err(|error| error.detail)?;
    let judgement = kind.verifier().pure().and_then(|verifier| {
        verifier.verify(&Case { task, state: &state, trajectory: &[] }).and_then(|judgement| judgement.score())
    });
    let score = judgement.map_err(|error| error.0)?;
    Ok(Played { seen, state, terminated, score })
}

/// The first observation, for which a browser is waited for where all are in use.
async fn first_look(place: &mut dyn LiveEnvironment) -> Result<Observation, InfraError> {
    let mut waits = 0;
    loop {
        match place.observe().await {
            Err(InfraError { cause: Cause::Busy(retry_after_ms), .. }) if waits < WAITS_MAX => {
                waits += 1;
                tokio::time::sleep(Duration::from_millis(retry_after_ms)).await;
            }
            seen => return seen,
        }
    }
}

/// Lines of the console that are errors.
pub(super) fn console_errors(seen: &Observation) -> Vec<&str> {
    let lines = seen.data["console"].as_array().into_iter().flatten();
    let errors = lines.filter(|line| line["level"] == "error");
    errors.filter_map(|line| line["text"].as_str()).collect()
}

/// Requests of a page without a good answer.
pub(super) fn failed_requests(seen: &Observation) -> Vec<&Value> {
    seen.data["failed_requests"].as_array().into_iter().flatten().collect()
}

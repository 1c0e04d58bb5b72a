//! Playing a solution: the calls that it makes, with what they answered.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::call::Call;
use super::episode::Episode;
use super::judge::ending::obstacles;
use crate::app::task::Step;
use crate::expression::Checked;
use crate::json::Codec;
use crate::run::{CallError, Raised};
use crate::value::Value;

/// Calls that one solution makes.
const CALLS_MAX: usize = 200;

/// A call with what it answered.
#[derive(Debug, Clone)]
pub struct Played {
    /// The call.
    pub call: Call,
    /// The answer.
    pub answer: Json,
    /// Arguments that are the same in every task.
    pub constant: Vec<Arc<str>>,
}

/// A solution that was played.
pub struct Solved {
    /// Where it led.
    pub episode: Episode,
    /// Its calls.
    pub calls: Vec<Played>,
}

/// Reason why a solution could not be played to its end.
#[derive(Debug)]
pub struct SolveError {
    /// Message, with the number of the call from 1.
    pub message: String,
    /// The call that was refused, and with which error; none where no call was.
    pub refused: Option<Box<(Call, Raised)>>,
}

impl From<String> for SolveError {
    fn from(message: String) -> Self {
        Self { message, refused: None }
    }
}

/// Plays a solution.
///
/// # Errors
/// When a step cannot be done or raises an error.
pub fn play(episode: Episode, steps: &[Step]) -> Result<Solved, SolveError> {
    let locals = vec![episode.instance().record()];
    let mut player = Player { episode, locals, calls: Vec::new() };
    player.steps(steps)?;
    Ok(Solved { episode: player.episode, calls: player.calls })
}

/// Plays calls that are known already.
///
/// # Errors
/// When a call raises an error.
pub(crate) fn replay(episode: Episode, calls: Vec<Call>) -> Result<Solved, SolveError> {
    let mut player = Player { episode, locals: Vec::new(), calls: Vec::new() };
    for call in calls {
        player.call(call, &[])?;
    }
    Ok(Solved { episode: player.episode, calls: player.calls })
}

struct Player {
    episode: Episode,
    locals: Vec<Value>,
    calls: Vec<Played>,
}

impl Player {
    fn steps(&mut self, steps: &[Step]) -> Result<(), SolveError> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn scoped(&mut self, steps: &[Step]) -> Result<(), SolveError> {
        let depth = self.locals.len();
        self.steps(steps)?;
        self.locals.truncate(depth);
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), SolveError> {
        match step {
            Step::Do { call, args, constant, bind } => {
                let arguments = self.json(args)?;
                let value = self.call(Call { name: Arc::clone(call), arguments }, constant)?;
                if *bind {
                    self.locals.push(value);
                }
            }
            Step::Wait(time) => {
                let Value::Int(seconds) = self.value(time)? else {
                    return Err("a time was expected".to_owned().into());
                };
                let arguments = Map::from_iter([("seconds".to_owned(), json!(seconds))]);
                self.call(Call { name: "wait".into(), arguments }, &[])?;
            }
            Step::Submit { status, code, answers } => {
                let mut arguments = Map::from_iter([("status".to_owned(), json!(status.word()))]);
                if let Some(code) = code
                    && let Value::Text(code) = self.value(code)?
                {
                    arguments.insert("code".to_owned(), json!(&*code));
                }
                if let Some(about) = self.about() {
                    arguments.insert("about".to_owned(), json!(&*about));
                }
                if !answers.is_empty() {
                    arguments.insert("answers".to_owned(), Json::Object(self.json(answers)?));
                }
                self.call(Call { name: "submit".into(), arguments }, &[])?;
            }
            Step::Each(list, body) => {
                let Value::List(values) = self.value(list)? else {
                    return Err("a list was expected".to_owned().into());
                };
                for value in values.iter() {
                    self.locals.push(value.clone());
                    self.scoped(body)?;
                    self.locals.pop();
                }
            }
            Step::If(condition, then, otherwise) => match self.value(condition)? {
                Value::Bool(true) => self.scoped(then)?,
                _ => self.scoped(otherwise)?,
            },
        }
        Ok(())
    }

    fn call(&mut self, call: Call, constant: &[Arc<str>]) -> Result<Value, SolveError> {
        if self.calls.len() >= CALLS_MAX {
            return Err(format!("the solution makes more than {CALLS_MAX} calls: shorten it").into());
        }
        let number = self.calls.len() + 1;
        let reply = self.episode.perform(&call.name, &call.arguments);
        let reply = match reply {
            Ok(reply) => reply,
            Err(stop) => {
                let shown = Json::Object(call.arguments.clone());
                let message = format!("call {number}, {} {shown}: {stop}", call.name);
                let refused = if let CallError::Raised(raised) = stop { Some(Box::new((call, raised))) } else { None };
                return Err(SolveError { message, refused });
            }
        };
        self.calls.push(Played { call, answer: reply.json, constant: constant.to_vec() });
        Ok(reply.value)
    }

    /// Obstacle of an infeasible task: the first of the rows it is about that a call has answered.
    fn about(&self) -> Option<Arc<str>> {
        let instance = self.episode.instance();
        let ids = obstacles(instance.template(), &instance.record(), &instance.data);
        let answered = |id: &Arc<str>| self.calls.iter().any(|played| mentions(&played.answer, id));
        ids.iter().find(|id| answered(id)).or_else(|| ids.first()).cloned()
    }

    fn json(&self, values: &[(Arc<str>, Checked)]) -> Result<Map<String, Json>, String> {
        let world = self.episode.world();
        let codec = Codec::new(&world.app().schema);
        values
            .iter()
            .map(|(name, checked)| {
                Ok((name.to_string(), codec.to_json(&self.value(checked)?, checked.kind(), world.data())))
            })
            .collect()
    }

    fn value(&self, checked: &Checked) -> Result<Value, String> {
        let number = self.calls.len() + 1;
        let value = self.episode.world().value(checked, &self.locals);
        value.map_err(|stop| format!("an expression before call {number} fails, correct it: {stop}"))
    }
}

/// True if a text of an answer is an id.
fn mentions(answer: &Json, id: &str) -> bool {
    match answer {
        Json::String(text) => text == id,
        Json::Array(values) => values.iter().any(|value| mentions(value, id)),
        Json::Object(members) => members.values().any(|value| mentions(value, id)),
        _ => false,
    }
}

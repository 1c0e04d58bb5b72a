//! Drawing tasks from seeds.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value as Json};

use super::episode::Episode;
use super::solve::{self, Call};
use super::trace::untraced;
use super::{Draw, Param, Template};
use crate::app::{App, Role};
use crate::data::Data;
use crate::explore;
use crate::expression::{DEFAULT_BUDGET, EvalError};
use crate::json::Codec;
use crate::run::draw::Draws;
use crate::run::{Agenda, Beginning, Stop, World, initial, transact};
use crate::value::Value;

/// How often a task is drawn anew before its template counts as broken.
pub const ATTEMPTS_MAX: u32 = 50;
/// How often at most of these a way to its goal is searched for in vain.
const SEARCHES_MAX: u32 = 5;
/// How often at all, counting draws that belong to another split.
const DRAWS_MAX: u32 = 2_000;

/// Initial databases that were made, by variant.
#[derive(Debug, Default)]
pub struct Variants(Vec<OnceLock<Result<Data, String>>>);

impl Variants {
    /// None made yet.
    #[must_use]
    pub fn new(count: u32) -> Self {
        Self((0..count.max(1)).map(|_| OnceLock::new()).collect())
    }

    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.0.len()
    }

    /// The initial database of a variant; made when it is asked for first.
    ///
    /// # Errors
    /// When the definition's seed fails.
    pub fn get(&self, app: &Arc<App>, variant: usize) -> Result<&Data, String> {
        let place = variant % self.0.len();
        let number = u32::try_from(place).unwrap_or(0);
        let made = self.0[place].get_or_init(|| {
            let data = initial(app, number).map_err(|fault| fault.to_string())?;
            // All episodes share what is hashed here, and hash again what they edit.
            let _digest = data.document().digest();
            Ok(data)
        });
        made.as_ref().map_err(Clone::clone)
    }
}

/// A task, drawn and accepted.
#[derive(Debug)]
pub struct Instance {
    /// The app.
    pub app: Arc<App>,
    /// Which template.
    pub template: usize,
    /// The values of its parameters, in order.
    pub values: Vec<Value>,
    /// The data at the beginning.
    pub data: Data,
    /// What its preparation has scheduled.
    agenda: Agenda,
    /// What the agent is told.
    pub text: String,
    /// Which checks hold at the beginning already, and so carry no weight.
    pub(super) held: Vec<bool>,
    /// The calls of the solution.
    solution: Vec<Call>,
}

impl Instance {
    /// The template that it was drawn from.
    #[must_use]
    pub fn template(&self) -> &Template {
        &self.app.templates[self.template]
    }

    /// The record `t`.
    #[must_use]
    pub fn record(&self) -> Value {
        Value::Record(self.values.as_slice().into())
    }

    /// The parameters as JSON.
    #[must_use]
    pub fn parameters(&self) -> Map<String, Json> {
        parameters(&self.app, self.template(), &self.values, &self.data)
    }

    /// The calls that solve it; privileged.
    #[must_use]
    pub fn solution(&self) -> &[Call] {
        &self.solution
    }

    /// What an episode of it begins with.
    #[must_use]
    pub fn beginning(&self, seed: u64, data: Data) -> Arc<Beginning> {
        let template = self.template();
        Arc::new(Beginning {
            app: Arc::clone(&self.app),
            data,
            agenda: self.agenda.clone(),
            events: template.events.clone(),
            locals: self.values.clone(),
            watches: Arc::clone(&template.watches),
            task: self.record(),
            seed,
        })
    }
}

fn parameters(app: &App, template: &Template, values: &[Value], data: &Data) -> Map<String, Json> {
    let codec = Codec::new(&app.schema);
    template
        .params
        .iter()
        .zip(values)
        .map(|(param, value)| (param.name.to_string(), codec.to_json(value, &param.kind, data)))
        .collect()
}

/// Why a draw is not a task.
enum Unfit {
    /// Another draw may be.
    Again(String),
    /// It has no solution, and no way to its goal was found: as another draw may be, but dearer to find out.
    NoWay,
    /// It is a task of another split.
    OtherSplit,
    /// The definition is at fault.
    Broken(String),
}

impl From<Stop> for Unfit {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Raised(raised) => Self::Again(raised.to_string()),
            Stop::Crashed(EvalError::Index(_) | EvalError::NotOne) => Self::Again(stop.to_string()),
            Stop::Crashed(_) => Self::Broken(stop.to_string()),
        }
    }
}

/// The task of a seed in a split. `belongs` says whether a task is of that split, by its content.
///
/// # Errors
/// When the app has no tasks, or when no draw of the template is acceptable, with what was wrong with the last one.
pub fn instantiate(
    app: &Arc<App>,
    split: &str,
    seed: u64,
    belongs: &dyn Fn(&Json) -> bool,
) -> Result<Arc<Instance>, String> {
    let count = app.templates.len() as u64;
    if count == 0 {
        return Err("this app has no tasks".to_owned());
    }
    let place = usize::try_from(seed % count).unwrap_or(0);
    draw(app, place, split, seed, belongs)
}

/// The task of a seed and a template in a split.
///
/// # Errors
/// As [`instantiate`].
pub fn draw(
    app: &Arc<App>,
    template: usize,
    split: &str,
    seed: u64,
    belongs: &dyn Fn(&Json) -> bool,
) -> Result<Arc<Instance>, String> {
    let mut attempts = 0;
    let mut reason = (0, "every draw belongs to another split".to_owned());
    for number in 0..DRAWS_MAX {
        if attempts >= ATTEMPTS_MAX {
            break;
        }
        let mut stage = 0;
        let drawn = attempt(app, template, split, seed, number, belongs, &mut stage);
        match drawn.and_then(|instance| accept(instance, &mut stage)) {
            Ok(instance) => return Ok(Arc::new(instance)),
            Err(Unfit::OtherSplit) => {}
            Err(Unfit::Broken(message)) => {
                return Err(format!("tasks.{}: {message}", app.templates[template].name));
            }
            Err(Unfit::Again(message)) => {
                // The draw that came furthest tells most.
                if attempts == 0 || stage > reason.0 {
                    reason = (stage, message);
                }
                attempts += 1;
            }
            Err(Unfit::NoWay) => {
                reason = (stage, "no way to the goal was found".to_owned());
                attempts += ATTEMPTS_MAX / SEARCHES_MAX;
            }
        }
    }
    Err(format!("tasks.{}: no draw of seed {seed} is acceptable: {}", app.templates[template].name, reason.1))
}

/// A task of a seed and a template as it is drawn first, of which nothing is proven but that its goal does not hold already.
///
/// # Errors
/// When no draw gives a task.
pub(crate) fn propose(app: &Arc<App>, template: usize, split: &str, seed: u64) -> Result<Arc<Instance>, String> {
    let mut reason = String::new();
    for number in 0..ATTEMPTS_MAX {
        let proposed = attempt(app, template, split, seed, number, &|_| true, &mut 0)
            .and_then(|instance| begin(instance.into(), &mut 0));
        match proposed {
            Ok((instance, _)) => return Ok(instance),
            Err(Unfit::Again(message) | Unfit::Broken(message)) => reason = message,
            Err(Unfit::OtherSplit | Unfit::NoWay) => {}
        }
    }
    Err(format!("tasks.{}: no draw of seed {seed} gives a task: {reason}", app.templates[template].name))
}

fn attempt(
    app: &Arc<App>,
    place: usize,
    split: &str,
    seed: u64,
    number: u32,
    belongs: &dyn Fn(&Json) -> bool,
    stage: &mut u32,
) -> Result<Instance, Unfit> {
    let template = &app.templates[place];
    let (seed_bytes, attempt_bytes) = (seed.to_be_bytes(), number.to_be_bytes());
    let words = |name: &str| {
        Draws::of(&[split.as_bytes(), &seed_bytes, template.name.as_bytes(), &attempt_bytes, name.as_bytes()])
    };
    let variant = rand::RngExt::random_range(words("variant").random(), 0..app.variants.count());
    let base = app.variants.get(app, variant).map_err(Unfit::Broken)?;
    let mut values = Vec::with_capacity(template.params.len());
    for param in &template.params {
        let mut draws = words(&format!("param {}", param.name));
        let value = Drawing { app, data: base, values: &values, draws: &mut draws }.value(param)?;
        values.push(value);
    }
    *stage += 1;
    if !belongs(&Json::Object(parameters(app, template, &values, base))) {
        return Err(Unfit::OtherSplit);
    }
    let mut draws = words("setup");
    let nothing = Agenda::default();
    let (data, agenda) = transact(app, (base, &nothing), values.clone(), &mut draws, &template.setup)?;
    let mut draws = words("plant");
    let (data, agenda) = transact(app, (&data, &agenda), values.clone(), &mut draws, &template.plant)?;
    for (text, require) in &template.require {
        let mut draws = words("require");
        let drawing = Drawing { app, data: &data, values: &values, draws: &mut draws };
        if drawing.evaluate(require, &values)? != Value::Bool(true) {
            return Err(Unfit::Again(format!("`{text}` does not hold")));
        }
    }
    *stage += 1;
    let mut draws = words("text");
    let wording = rand::RngExt::random_range(draws.random(), 0..template.text.len());
    let mut budget = DEFAULT_BUDGET;
    let text = template.text[wording]
        .render(&mut app.frame(&data, &values, &mut draws, &mut budget))
        .map_err(|error| Unfit::from(Stop::Crashed(error)))?;
    Ok(Instance {
        app: Arc::clone(app),
        template: place,
        values,
        data,
        agenda,
        text,
        held: Vec::new(),
        solution: Vec::new(),
    })
}

/// The beginning of a task, whose rows can be told apart and whose goal is false there; with which checks hold there.
fn begin(instance: Arc<Instance>, stage: &mut u32) -> Result<(Arc<Instance>, Vec<bool>), Unfit> {
    let start = Episode::begin(&instance, 0).map_err(Unfit::from)?;
    referred(&instance, start.world())?;
    *stage += 1;
    let checks = start.judge().map_err(Unfit::Broken)?;
    if checks.iter().all(|check| check.passed) {
        return Err(Unfit::Again("the goal holds at the beginning".to_owned()));
    }
    *stage += 1;
    Ok((instance, checks.iter().map(|check| check.passed).collect()))
}

/// Proves a task: the goal is false at the beginning, and the solution reaches it with what it can know. A way that was
/// searched for need not be told by the text: nobody wrote down how its values are to be found out.
fn accept(instance: Instance, stage: &mut u32) -> Result<Instance, Unfit> {
    let (shared, held) = begin(Arc::new(instance), stage)?;
    let start = Episode::begin(&shared, 0).map_err(Unfit::from)?;
    let solved = match &shared.template().solution {
        Some(steps) => solve::play(start, steps),
        None => solve::replay(start, explore::solve(&shared, explore::Options::DRAW).ok_or(Unfit::NoWay)?),
    };
    let solved = solved.map_err(Unfit::Again)?;
    *stage += 1;
    let failed: Vec<String> = solved
        .episode
        .judge()
        .map_err(Unfit::Broken)?
        .into_iter()
        .filter(|check| !check.passed)
        .map(|check| format!("{}: {}", check.name, check.evidence))
        .collect();
    if !failed.is_empty() {
        return Err(Unfit::Again(format!("the solution does not reach the goal: {}", failed.join("; "))));
    }
    *stage += 1;
    if shared.template().solution.is_some()
        && let Some(argument) = untraced(&shared, &solved.calls)
    {
        return Err(Unfit::Again(format!("the solution uses what it cannot know: {}", argument.shown)));
    }
    let calls = solved.calls;
    drop(solved.episode);
    let instance = Arc::try_unwrap(shared).map_err(|_| Unfit::Broken("an episode outlived its task".to_owned()))?;
    Ok(Instance { held, solution: calls.into_iter().map(|played| played.call).collect(), ..instance })
}

/// Demands that each row that is named can be told from all others that the agent sees.
fn referred(instance: &Instance, world: &World) -> Result<(), Unfit> {
    for (param, value) in instance.template().params.iter().zip(&instance.values) {
        let (Value::Row(row), false) = (value, param.refer.is_empty()) else { continue };
        let like = instance.data.scan(row.table).filter(|(other, _)| {
            param.refer.iter().all(|column| instance.data.cell(*other, *column) == instance.data.cell(*row, *column))
        });
        let mut seen = 0;
        for (other, _) in like {
            seen += u32::from(world.sees(Role::AGENT, other)?);
        }
        if seen != 1 {
            return Err(Unfit::Again(format!("{} names {seen} rows that the agent sees", param.name)));
        }
    }
    Ok(())
}

/// One parameter's draw.
struct Drawing<'a> {
    app: &'a App,
    data: &'a Data,
    values: &'a [Value],
    draws: &'a mut Draws,
}

impl Drawing<'_> {
    fn value(mut self, param: &Param) -> Result<Value, Unfit> {
        let not = match &param.not {
            None => None,
            Some(not) => Some(self.evaluate(not, self.values)?),
        };
        let wanted = |value: &Value| not.as_ref() != Some(value);
        match &param.draw {
            Draw::Choice(values) => {
                self.one_of(&values.iter().filter(|value| wanted(value)).cloned().collect::<Vec<_>>())
            }
            Draw::Range(low, high, step) => self.range(*low, *high, *step, &wanted),
            Draw::Days(from, to) => match (self.evaluate(from, self.values)?, self.evaluate(to, self.values)?) {
                (Value::Int(from), Value::Int(to)) if from <= to => self.range(from, to, 1, &wanted),
                _ => Err(Unfit::Again(format!("{} has no days to draw from", param.name))),
            },
            Draw::Pick(list) => {
                let values = self.list(list)?;
                self.one_of(&values.iter().filter(|value| wanted(value)).cloned().collect::<Vec<_>>())
            }
            Draw::First { of, by, descending, gap } => {
                let gap = match gap {
                    None => 1,
                    Some(gap) => number(&self.evaluate(gap, self.values)?)?,
                };
                let mut ranked = Vec::new();
                for value in self.list(of)?.iter().filter(|value| wanted(value)) {
                    let mut locals = self.values.to_vec();
                    locals.push(value.clone());
                    ranked.push((number(&self.evaluate(by, &locals)?)?, value.clone()));
                }
                ranked.sort_by(|(left, _), (right, _)| if *descending { right.cmp(left) } else { left.cmp(right) });
                match ranked.as_slice() {
                    [] => Err(Unfit::Again(format!("{} has nothing to draw from", param.name))),
                    [(_, only)] => Ok(only.clone()),
                    [(first, value), (second, _), ..] if first.abs_diff(*second) >= gap.unsigned_abs().max(1) => {
                        Ok(value.clone())
                    }
                    _ => Err(Unfit::Again(format!("{}: the first two are too close", param.name))),
                }
            }
            Draw::Let(value) => {
                let value = self.evaluate(value, self.values)?;
                if wanted(&value) { Ok(value) } else { Err(Unfit::Again(format!("{} is not wanted", param.name))) }
            }
        }
    }

    fn one_of(&mut self, values: &[Value]) -> Result<Value, Unfit> {
        self.draws.pick(values).map_err(|_| Unfit::Again("there is nothing to draw from".to_owned()))
    }

    fn range(&mut self, low: i64, high: i64, step: i64, wanted: &dyn Fn(&Value) -> bool) -> Result<Value, Unfit> {
        let steps = high.abs_diff(low) / step.unsigned_abs().max(1);
        for _ in 0..ATTEMPTS_MAX {
            let offset = rand::RngExt::random_range(self.draws.random(), 0..=steps);
            let value = Value::Int(low.saturating_add(step.saturating_mul(i64::try_from(offset).unwrap_or(0))));
            if wanted(&value) {
                return Ok(value);
            }
        }
        Err(Unfit::Again("there is nothing to draw from".to_owned()))
    }

    fn list(&mut self, list: &crate::expression::Checked) -> Result<Arc<[Value]>, Unfit> {
        let values = self.values;
        let mut budget = DEFAULT_BUDGET;
        match list.evaluate(&mut self.app.frame(self.data, values, self.draws, &mut budget)) {
            Ok(Value::List(values)) => Ok(values),
            Ok(_) => Err(Unfit::Broken("a list was expected".to_owned())),
            Err(error) => Err(Stop::Crashed(error).into()),
        }
    }

    fn evaluate(&self, checked: &crate::expression::Checked, locals: &[Value]) -> Result<Value, Unfit> {
        let (mut draws, mut budget) = (self.draws.clone(), DEFAULT_BUDGET);
        let value = checked.evaluate(&mut self.app.frame(self.data, locals, &mut draws, &mut budget));
        value.map_err(|error| Stop::Crashed(error).into())
    }
}

fn number(value: &Value) -> Result<i64, Unfit> {
    match value {
        Value::Int(number) => Ok(*number),
        _ => Err(Unfit::Broken("a number was expected".to_owned())),
    }
}

//! Drawing tasks from seeds. A draw that shows a fault of the definition ends the drawing: another is made only for the reasons of
//! [`Redraw`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::episode::Episode;
use super::outcome::{Flaw, NoTask, Redraw, ShownDraw, Unfit};
use super::parameter::Drawing;
use super::solve::{self, Call, Solved};
use super::trace::untraced;
use crate::app::{App, Role, Template};
use crate::data::Data;
use crate::explore;
use crate::expression::{Checked, DEFAULT_BUDGET, EvalError, Rows};
use crate::json::Codec;
use crate::kinds::ColumnId;
use crate::reading::Reversed;
use crate::run::draw::Draws;
use crate::run::{Agenda, Beginning, Chance, Stop, World, database, transact};
use crate::value::{RowKey, Value};

/// How often a task is drawn anew before its template counts as broken.
pub const ATTEMPTS_MAX: u32 = 50;
/// How often at most of these a way to its goal was searched for in vain when faults were drawn again.
pub(super) const SEARCHES_MAX: u32 = 5;
/// How often at all, counting draws that belong to another split.
const DRAWS_MAX: u32 = 2_000;

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
    /// Which of the template's wordings it is.
    pub wording: usize,
    /// What the agent is told.
    pub text: String,
    /// The number of its draw among those of its seed, from 0.
    pub attempt: u32,
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

    /// The same values in other data, in which another text may be told.
    pub(crate) fn on(&self, data: Data, text: String) -> Self {
        Self { text, ..self.taken_by(self.template, self.values.clone(), data) }
    }

    /// What this begins with, taken for a task of a template, which is told nothing.
    pub(crate) fn taken_by(&self, template: usize, values: Vec<Value>, data: Data) -> Self {
        Self {
            app: Arc::clone(&self.app),
            template,
            values,
            data,
            agenda: self.agenda.clone(),
            wording: self.wording,
            text: self.text.clone(),
            attempt: self.attempt,
            held: Vec::new(),
            solution: Vec::new(),
        }
    }

    /// What an episode of it begins with.
    #[must_use]
    pub fn beginning(&self, seed: u64, data: Data) -> Arc<Beginning> {
        self.beginning_by(seed, Chance::Drawn, data)
    }

    /// The same with events of chance that take place or not.
    pub(crate) fn beginning_by(&self, seed: u64, chance: Chance, data: Data) -> Arc<Beginning> {
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
            chance,
        })
    }
}

pub(crate) fn parameters(app: &App, template: &Template, values: &[Value], data: &Data) -> Map<String, Json> {
    let codec = Codec::new(&app.schema);
    template
        .params
        .iter()
        .zip(values)
        .map(|(param, value)| (param.name.to_string(), codec.to_json(value, &param.kind, data)))
        .collect()
}

/// What a draw that shows a fault leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// To an error.
    Strict,
    /// To another draw, without a word: the tasks of stored episodes were drawn so, and numbers within texts had to be told.
    Before,
}

/// In which order of the rows a condition of `require` has to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// In that of their creation.
    Created,
    /// In that or in the opposite one: what hangs on an order that nobody chose excludes nothing.
    Any,
    /// In none: what is thrown away is looked at.
    None,
}

/// Which draw is made.
#[derive(Debug, Clone, Copy)]
pub struct Ticket<'a> {
    /// Of which app.
    pub app: &'a Arc<App>,
    /// Of which template, by its place.
    pub template: usize,
    /// For which split.
    pub split: &'a str,
    /// Of which seed.
    pub seed: u64,
    /// Its number among those of the seed, from 0.
    pub attempt: u32,
    /// By which rule.
    pub rule: Rule,
}

/// A draw that was made.
#[derive(Debug)]
pub struct Drawn {
    /// The values of the parameters, as far as it came.
    pub values: Vec<Value>,
    /// What the agent is told, where it came so far.
    pub text: Option<String>,
    /// The task, or why it is none.
    pub task: Result<Arc<Instance>, Unfit>,
}

impl Ticket<'_> {
    /// The template.
    #[must_use]
    pub fn template(&self) -> &Template {
        &self.app.templates[self.template]
    }

    /// The random numbers for a purpose.
    pub(crate) fn draws(&self, name: &str) -> Draws {
        let (seed, attempt) = (self.seed.to_be_bytes(), self.attempt.to_be_bytes());
        let template = self.template().name.as_bytes();
        Draws::of(&[self.split.as_bytes(), &seed, template, &attempt, name.as_bytes()])
    }

    /// The data before anything of the task is prepared.
    pub(crate) fn base(&self) -> Result<&Data, Unfit> {
        let base = database(self.app, self.variant());
        base.map_err(|message| Unfit::Flawed(Flaw::Breaks(message)))
    }

    /// The number of the initial database.
    pub(crate) fn variant(&self) -> usize {
        rand::RngExt::random_range(self.draws("variant").random(), 0..self.app.variants.count())
    }

    /// Makes the draw. `belongs` says whether a task is of the split, by its parameters.
    #[must_use]
    pub fn draw(&self, belongs: &dyn Fn(&Json) -> bool) -> Drawn {
        let mut drawn = Drawn { values: Vec::new(), text: None, task: Err(Unfit::Again(Redraw::Split)) };
        let task = self.begun(belongs, &mut drawn).and_then(|(instance, held)| accept(instance, held, self.rule));
        Drawn { task: task.map(Arc::new), ..drawn }
    }

    fn begun(&self, belongs: &dyn Fn(&Json) -> bool, drawn: &mut Drawn) -> Result<(Arc<Instance>, Vec<bool>), Unfit> {
        let base = self.base()?;
        for param in &self.template().params {
            let mut draws = self.draws(&format!("param {}", param.name));
            let drawing = Drawing { app: self.app, data: base, values: &drawn.values, draws: &mut draws };
            let value = drawing.value(param)?;
            drawn.values.push(value);
        }
        if !belongs(&Json::Object(parameters(self.app, self.template(), &drawn.values, base))) {
            return Err(Unfit::Again(Redraw::Split));
        }
        let instance = self.prepare(drawn.values.clone(), Order::Created)?;
        drawn.text = Some(instance.text.clone());
        begin(Arc::new(instance))
    }

    /// The task that some values of the parameters make, of which nothing is proven but what is required.
    pub(crate) fn prepare(&self, values: Vec<Value>, order: Order) -> Result<Instance, Unfit> {
        self.prepare_from(self.base()?, values, order)
    }

    /// The same from other data.
    pub(crate) fn prepare_from(&self, base: &Data, values: Vec<Value>, order: Order) -> Result<Instance, Unfit> {
        let planted = values.clone();
        self.prepare_beside(base, values, planted, order)
    }

    /// The same with the near misses of some other values.
    pub(crate) fn prepare_beside(
        &self,
        base: &Data,
        values: Vec<Value>,
        planted: Vec<Value>,
        order: Order,
    ) -> Result<Instance, Unfit> {
        self.prepare_by("", base, (values, planted), order)
    }

    /// The same with other random numbers of the set-up, by a word.
    pub(crate) fn prepare_by(
        &self,
        word: &str,
        base: &Data,
        (values, planted): (Vec<Value>, Vec<Value>),
        order: Order,
    ) -> Result<Instance, Unfit> {
        let (app, template, nothing) = (self.app, self.template(), Agenda::default());
        let mut draws = self.draws(&format!("setup{word}"));
        let prepared = transact(app, (base, &nothing), values.clone(), &mut draws, &template.setup);
        let (data, agenda) = prepared.map_err(stopped)?;
        let mut draws = self.draws(&format!("plant{word}"));
        let planted = transact(app, (&data, &agenda), planted, &mut draws, &template.plant);
        let (data, agenda) = planted.map_err(stopped)?;
        for (text, require) in &template.require {
            let draws = || self.draws("require");
            let held = order == Order::None
                || holds(app, &data, &values, draws(), require)?
                || order == Order::Any && holds(app, &Reversed(&data), &values, draws(), require)?;
            if !held {
                return Err(Unfit::Again(Redraw::Require(Arc::clone(text))));
            }
        }
        let (wording, text) = self.text(&data, &values)?;
        Ok(Instance {
            app: Arc::clone(app),
            template: self.template,
            values,
            data,
            agenda,
            wording,
            text,
            attempt: self.attempt,
            held: Vec::new(),
            solution: Vec::new(),
        })
    }

    /// What the agent is told of some values, and which wording that is.
    pub(crate) fn text(&self, data: &Data, values: &[Value]) -> Result<(usize, String), Unfit> {
        let wordings = &self.template().text;
        let mut draws = self.draws("text");
        let wording = rand::RngExt::random_range(draws.random(), 0..wordings.len());
        let mut budget = DEFAULT_BUDGET;
        let rendered = wordings[wording].render(&mut self.app.frame(data, values, &mut draws, &mut budget));
        rendered.map(|text| (wording, text)).map_err(|error| stopped(Stop::Crashed(error)))
    }

    /// The draw as people find it again.
    #[must_use]
    pub fn shown(&self, values: &[Value], text: Option<&str>) -> ShownDraw {
        let parameters = self.base().map(|data| parameters(self.app, self.template(), values, data));
        ShownDraw {
            template: Arc::clone(&self.template().name),
            split: self.split.to_owned(),
            seed: self.seed,
            attempt: self.attempt,
            parameters: parameters.unwrap_or_default(),
            text: text.map(str::to_owned),
        }
    }
}

fn holds(
    app: &Arc<App>,
    rows: &dyn Rows,
    values: &[Value],
    mut draws: Draws,
    require: &Checked,
) -> Result<bool, Unfit> {
    let mut budget = DEFAULT_BUDGET;
    let value = require.evaluate(&mut app.frame(rows, values, &mut draws, &mut budget));
    value.map(|value| value == Value::Bool(true)).map_err(|error| stopped(Stop::Crashed(error)))
}

/// The fault that a stop shows behind the parameters.
fn stopped(stop: Stop) -> Unfit {
    Unfit::Flawed(match stop {
        Stop::Raised(raised) => Flaw::Raises(raised.to_string()),
        Stop::Crashed(EvalError::Index(_) | EvalError::NotOne) => Flaw::Raises(stop.to_string()),
        Stop::Crashed(_) => Flaw::Breaks(stop.to_string()),
    })
}

/// The task of a seed in a split. `belongs` says whether a task is of that split, by its parameters.
///
/// # Errors
/// As [`draw`], and when the app has no tasks.
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
    draw(app, place, split, seed, belongs).map_err(|why| why.to_string())
}

/// The task of a seed and a template in a split.
///
/// # Errors
/// When a draw shows a fault of the definition, or too many draws were thrown away.
pub fn draw(
    app: &Arc<App>,
    template: usize,
    split: &str,
    seed: u64,
    belongs: &dyn Fn(&Json) -> bool,
) -> Result<Arc<Instance>, NoTask> {
    draw_with(app, template, split, seed, belongs, Rule::Strict)
}

/// The task of a seed and a template as it was drawn when draws that show a fault were thrown away too: stored episodes have
/// tasks that were drawn so.
///
/// # Errors
/// As [`draw`], for fewer faults.
pub fn draw_as_before(
    app: &Arc<App>,
    template: usize,
    split: &str,
    seed: u64,
    belongs: &dyn Fn(&Json) -> bool,
) -> Result<Arc<Instance>, NoTask> {
    draw_with(app, template, split, seed, belongs, Rule::Before)
}

fn draw_with(
    app: &Arc<App>,
    template: usize,
    split: &str,
    seed: u64,
    belongs: &dyn Fn(&Json) -> bool,
    rule: Rule,
) -> Result<Arc<Instance>, NoTask> {
    let mut attempts = 0;
    let mut reasons = BTreeMap::new();
    for attempt in 0..DRAWS_MAX {
        if attempts >= ATTEMPTS_MAX {
            break;
        }
        let ticket = Ticket { app, template, split, seed, attempt, rule };
        let drawn = ticket.draw(belongs);
        match drawn.task {
            Ok(instance) => return Ok(instance),
            Err(Unfit::Again(redraw)) => {
                attempts += u32::from(redraw != Redraw::Split);
                *reasons.entry(redraw).or_insert(0) += 1;
            }
            Err(Unfit::Flawed(flaw)) => match flaw.cost(rule) {
                Some(cost) => attempts += cost,
                None => {
                    let shown = ticket.shown(&drawn.values, drawn.text.as_deref());
                    return Err(NoTask::Faulty(Box::new(shown), flaw));
                }
            },
        }
    }
    Err(NoTask::Exhausted(Arc::clone(&app.templates[template].name), seed, reasons))
}

/// A task of a seed and a template as it is drawn first, of which nothing is proven but that its goal does not hold already.
///
/// # Errors
/// When no draw gives a task.
pub(crate) fn propose(app: &Arc<App>, template: usize, split: &str, seed: u64) -> Result<Arc<Instance>, String> {
    let mut reason = String::new();
    for attempt in 0..ATTEMPTS_MAX {
        let ticket = Ticket { app, template, split, seed, attempt, rule: Rule::Strict };
        let mut drawn = Drawn { values: Vec::new(), text: None, task: Err(Unfit::Again(Redraw::Split)) };
        match ticket.begun(&|_| true, &mut drawn) {
            Ok((instance, _)) => return Ok(instance),
            Err(Unfit::Again(redraw)) => reason = redraw.to_string(),
            Err(Unfit::Flawed(flaw)) => reason = flaw.to_string(),
        }
    }
    Err(format!("tasks.{}: no draw of seed {seed} gives a task: {reason}", app.templates[template].name))
}

/// The beginning of a task, whose rows can be told apart and whose goal is false there; with which checks hold there.
pub(crate) fn begin(instance: Arc<Instance>) -> Result<(Arc<Instance>, Vec<bool>), Unfit> {
    let start = Episode::begin(&instance, 0).map_err(stopped)?;
    referred(&instance, start.world())?;
    let checks = start.judge().map_err(|message| Unfit::Flawed(Flaw::Breaks(message)))?;
    if checks.iter().all(|check| check.passed) {
        return Err(Unfit::Flawed(Flaw::Done));
    }
    Ok((instance, checks.iter().map(|check| check.passed).collect()))
}

/// Proves a task that has begun: the solution reaches its goal with what it can know. A way that was searched for need not be
/// told by the text: nobody wrote down how its values are to be found out.
pub(crate) fn accept(shared: Arc<Instance>, held: Vec<bool>, rule: Rule) -> Result<Instance, Unfit> {
    let start = Episode::begin(&shared, 0).map_err(stopped)?;
    let flawed = |flaw: Flaw| Unfit::Flawed(flaw);
    let solved = reach(start).map_err(flawed)?;
    if shared.template().solution.is_some()
        && let Some(argument) = untraced(&shared, &solved.calls, rule)
    {
        return Err(flawed(Flaw::Unknowable(argument.shown)));
    }
    let calls = solved.calls;
    drop(solved.episode);
    let outlived = |_| flawed(Flaw::Breaks("an episode outlived its task".to_owned()));
    let instance = Arc::try_unwrap(shared).map_err(outlived)?;
    Ok(Instance { held, solution: calls.into_iter().map(|played| played.call).collect(), ..instance })
}

/// Plays the solution from a beginning to the goal. A way that was found already is not searched for again.
pub(crate) fn reach(start: Episode) -> Result<Solved, Flaw> {
    let instance = Arc::clone(start.instance());
    let solved = match &instance.template().solution {
        Some(steps) => solve::play(start, steps),
        None if !instance.solution.is_empty() => solve::replay(start, instance.solution.clone()),
        None => {
            let way = explore::solve(&instance, explore::Options::DRAW).ok_or(Flaw::NoWay)?;
            solve::replay(start, way)
        }
    };
    let solved = solved.map_err(|halted| Flaw::Fails(halted.message))?;
    let checks = solved.episode.judge().map_err(Flaw::Breaks)?.into_iter();
    let failed: Vec<String> =
        checks.filter(|check| !check.passed).map(|check| format!("{}: {}", check.name, check.evidence)).collect();
    if failed.is_empty() { Ok(solved) } else { Err(Flaw::Misses(failed.join("; "))) }
}

/// Demands that each row that is named can be told from all others that the agent sees.
fn referred(instance: &Instance, world: &World) -> Result<(), Unfit> {
    for (param, value) in instance.template().params.iter().zip(&instance.values) {
        let (Value::Row(row), false) = (value, param.refer.is_empty()) else { continue };
        if alike(instance, world, *row, &param.refer)?.len() != 1 {
            return Err(Unfit::Again(Redraw::Refer(Arc::clone(&param.name))));
        }
    }
    Ok(())
}

/// The rows that the agent sees and that are equal to one in some columns, itself among them if it is seen.
pub(crate) fn alike(
    instance: &Instance,
    world: &World,
    row: RowKey,
    columns: &[ColumnId],
) -> Result<Vec<RowKey>, Unfit> {
    let data = &instance.data;
    let like = data
        .scan(row.table)
        .filter(|(other, _)| columns.iter().all(|column| data.cell(*other, *column) == data.cell(row, *column)));
    let mut seen = Vec::new();
    for (other, _) in like {
        if world.sees(Role::AGENT, other).map_err(stopped)? {
            seen.push(other);
        }
    }
    Ok(seen)
}

//! A draw: which one it is, and what is drawn, prepared and told of the task, of which nothing is proven yet.

use std::sync::Arc;

use serde_json::Value as Json;

use super::episode::Episode;
use super::instance::{Instance, parameters};
use super::outcome::{Flaw, Redraw, Rule, ShownDraw, Unfit};
use super::parameter::Drawing;
use crate::app::{App, Role, Template};
use crate::data::Data;
use crate::expression::{Checked, DEFAULT_BUDGET, EvalError, Rows};
use crate::kinds::ColumnId;
use crate::reading::Reversed;
use crate::run::draw::Draws;
use crate::run::{Agenda, CallError, World, database, transact};
use crate::value::{RowKey, Value};

/// Number of times that a task is drawn anew before its template counts as broken.
pub const ATTEMPTS_MAX: u32 = 50;

/// Order of the rows in which a condition of `require` has to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// In that of their creation.
    Created,
    /// In that or in the opposite one: what depends on an order that nobody chose excludes nothing.
    Any,
    /// In none: what is thrown away is looked at.
    None,
}

/// Key of a draw.
#[derive(Debug, Clone, Copy)]
pub struct DrawKey<'a> {
    /// The app.
    pub app: &'a Arc<App>,
    /// Index of the template.
    pub template: usize,
    /// For which split.
    pub split: &'a str,
    /// The seed.
    pub seed: u64,
    /// Its number among those of the seed, from 0.
    pub attempt: u32,
    /// The rule.
    pub rule: Rule,
}

/// State of a draw.
#[derive(Debug, Default)]
pub(crate) struct DrawState {
    /// The values of the parameters, as far as it came.
    pub(crate) values: Vec<Value>,
    /// Text for the agent, where it came so far.
    pub(crate) text: Option<String>,
}

impl DrawKey<'_> {
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

    /// Draws the task and begins it; what was drawn so far goes into `begun`. With which checks hold at the beginning.
    pub(crate) fn begun(
        &self,
        belongs: &dyn Fn(&Json) -> bool,
        begun: &mut DrawState,
    ) -> Result<(Arc<Instance>, Vec<bool>), Unfit> {
        let base = self.base()?;
        for param in &self.template().params {
            let mut draws = self.draws(&format!("param {}", param.name));
            let drawing = Drawing { app: self.app, data: base, values: &begun.values, draws: &mut draws };
            let value = drawing.value(param)?;
            begun.values.push(value);
        }
        if !belongs(&Json::Object(parameters(self.app, self.template(), &begun.values, base))) {
            return Err(Unfit::Again(Redraw::Split));
        }
        let instance = self.prepare(begun.values.clone(), Order::Created)?;
        begun.text = Some(instance.text.clone());
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
            fixed: None,
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

    /// Text for the agent with some values, and the number of its wording.
    pub(crate) fn text(&self, data: &Data, values: &[Value]) -> Result<(usize, String), Unfit> {
        let wordings = &self.template().text;
        let mut draws = self.draws("text");
        let wording = rand::RngExt::random_range(draws.random(), 0..wordings.len());
        let mut budget = DEFAULT_BUDGET;
        let rendered = wordings[wording].render(&mut self.app.frame(data, values, &mut draws, &mut budget));
        rendered.map(|text| (wording, text)).map_err(|error| stopped(CallError::Crashed(error)))
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
    value.map(|value| value == Value::Bool(true)).map_err(|error| stopped(CallError::Crashed(error)))
}

/// The fault that a stop shows behind the parameters.
pub(crate) fn stopped(stop: CallError) -> Unfit {
    Unfit::Flawed(match stop {
        CallError::Raised(raised) => Flaw::Raises(raised.to_string()),
        CallError::Crashed(EvalError::Index(_) | EvalError::NotOne) => Flaw::Raises(stop.to_string()),
        CallError::Crashed(_) => Flaw::Breaks(stop.to_string()),
    })
}

/// A task of a seed and a template as it is drawn first, of which nothing is proven but that its goal does not hold already.
///
/// # Errors
/// When no draw gives a task.
pub(crate) fn propose(app: &Arc<App>, template: usize, split: &str, seed: u64) -> Result<Arc<Instance>, String> {
    let mut reason = String::new();
    for attempt in 0..ATTEMPTS_MAX {
        let draw_key = DrawKey { app, template, split, seed, attempt, rule: Rule::Strict };
        let mut begun = DrawState::default();
        match draw_key.begun(&|_| true, &mut begun) {
            Ok((instance, _)) => return Ok(instance),
            Err(Unfit::Again(redraw)) => reason = redraw.to_string(),
            Err(Unfit::Flawed(flaw)) => reason = flaw.to_string(),
        }
    }
    let name = &app.templates[template].name;
    Err(format!("tasks.{name}: no draw of seed {seed} gives a task, change its parameters: {reason}"))
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

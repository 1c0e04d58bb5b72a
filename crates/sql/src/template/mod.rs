//! Suites: environments whose tasks are drawn from templates and played in seeded worlds.
//!
//! A suite is a folder: `environment.yaml`, and `templates/<name>.yaml` each. A task follows from the split, the seed and the
//! difficulty alone. Each split has a few worlds of its own, so no task of one split is played on data of another.

pub mod audit;
mod cache;
mod fill;
mod form;
mod parameter;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use self::cache::Cache;
use self::fill::{Filling, Notation};
pub use self::form::Environment;
use self::form::Form;
use self::parameter::{DrawFailure, TaskWorlds};
use crate::fault::Fault;
use crate::library::Library;
use crate::source::Source;
use crate::task::{Check, Data, Spoken, Submission, Task, WeightedCheck};
use crate::value::Dialect;
use crate::world::{self, Draw, World};

/// Rows of worlds that are kept ready.
const ROWS_KEPT: usize = 400_000;

/// Bytes of scripts that are kept ready.
const SCRIPTS_KEPT: usize = 64 << 20;

/// On how many other worlds a task may be judged; so many are hidden in each split.
const OTHERS_MAX: usize = 3;

/// Number of times that another template or world is tried when one has nothing to draw from.
const ATTEMPTS: usize = 8;

/// Keys under which texts are SQL; every other text is words.
const SQL_KEYS: [&str; 7] = ["gold", "sql", "gold_sql", "query", "baseline", "setup", "solution"];

/// An environment of templates.
#[derive(Debug)]
pub struct Suite {
    environment: Environment,
    templates: Vec<Template>,
    worlds: Cache<Data, Arc<World>>,
    sources: Cache<(Data, Spoken, Dialect), Arc<Source>>,
}

/// A template that was read.
#[derive(Debug)]
struct Template {
    name: String,
    form: Form,
    /// The form's checks as JSON, in which parameters are filled in.
    checks: Json,
}

/// A task that was drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnTask {
    /// The task.
    pub task: Task,
    /// The reference query, where the template has one: what is handed in, or what an answer is found by.
    pub gold: Spoken,
    /// Near misses that must not score: statements where the state is judged, else what is handed in.
    pub wrong: Vec<Spoken>,
}

impl Suite {
    /// Reads the files of a folder, by their paths in it, and draws every template once.
    ///
    /// # Errors
    /// Every fault that was found, with its file.
    pub fn load(files: &BTreeMap<String, Vec<u8>>) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let environment = match files.get("environment.yaml") {
            None => Err(Fault::new("environment.yaml", "is missing")),
            Some(bytes) => form::read::<Environment>("environment.yaml", bytes),
        };
        let mut templates = Vec::new();
        for (path, bytes) in files {
            if let Some(name) = path.strip_prefix("templates/").and_then(|name| name.strip_suffix(".yaml")) {
                match form::read::<Form>(path, bytes).and_then(|form| Template::of(name, form)) {
                    Ok(template) => templates.push(template),
                    Err(fault) => faults.push(fault),
                }
            } else if path != "environment.yaml" {
                faults.push(Fault::new(path, "is neither environment.yaml nor templates/<name>.yaml"));
            }
        }
        let environment = match environment {
            Ok(environment) => environment,
            Err(fault) => {
                faults.push(fault);
                return Err(faults);
            }
        };
        let suite = Self { environment, templates, worlds: Cache::new(ROWS_KEPT), sources: Cache::new(SCRIPTS_KEPT) };
        faults.extend(suite.faults());
        if faults.is_empty() { Ok(suite) } else { Err(faults) }
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let environment = &self.environment;
        let mut environmental = |detail: &str| faults.push(Fault::new("environment.yaml", detail));
        if environment.engines.is_empty() {
            environmental("engines: none is named");
        }
        if environment.splits.is_empty() || environment.splits.values().any(|worlds| !(1..=64).contains(worlds)) {
            environmental("splits: each has from 1 to 64 worlds, and there must be one");
        }
        if self.templates.is_empty() {
            faults.push(Fault::new("templates", "there are none"));
        }
        if !faults.is_empty() {
            return faults;
        }
        for split in environment.splits.keys() {
            if !self
                .templates
                .iter()
                .any(|template| template.form.splits.is_empty() || template.form.splits.contains(split))
            {
                faults.push(Fault::new("environment.yaml", format!("splits: no template is in {split:?}")));
            }
        }
        for template in &self.templates {
            faults.extend(template.faults(environment).into_iter().map(|detail| template.fault(detail)));
            let split = template.form.splits.first().or(environment.splits.keys().next());
            if let Some(split) = split.filter(|split| environment.splits.contains_key(*split))
                && let Err(detail) = self.drawn(&template.name, split, 0)
            {
                faults.push(template.fault(detail));
            }
        }
        faults
    }

    /// Its definition.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Its templates by name, with their difficulties.
    pub fn templates(&self) -> impl Iterator<Item = (&str, f64)> {
        self.templates.iter().map(|template| (template.name.as_str(), template.form.difficulty))
    }

    /// The task of a split and a seed: of any template, or of those that are nearest to a difficulty in [0, 1].
    ///
    /// # Errors
    /// In words, when there is no such split.
    pub fn task(&self, split: &str, seed: u64, difficulty: Option<f64>) -> Result<Task, String> {
        let mut candidates: Vec<&Template> = self.templates.iter().filter(|template| template.is_in(split)).collect();
        if let Some(wanted) = difficulty {
            let distance = |template: &Template| (template.form.difficulty - wanted).abs();
            candidates.sort_by(|one, other| distance(one).total_cmp(&distance(other)));
            let near = candidates.iter().take_while(|template| distance(template) <= 0.1).count();
            candidates.truncate(near.max(3));
            candidates.sort_by(|one, other| one.name.cmp(&other.name));
        }
        if candidates.is_empty() {
            return Err(format!("no template is in the split {split:?}"));
        }
        let mut chance = Draw::of(&["task", &self.environment.name, split, &seed.to_string()]);
        let mut problem = String::new();
        for attempt in 0..ATTEMPTS {
            match self.draw(candidates[chance.below(candidates.len())], split, seed, attempt) {
                Ok(drawn) => return Ok(drawn.task),
                Err(miss) => problem = miss.words(),
            }
        }
        Err(problem)
    }

    /// The task of a template, a split and a seed.
    ///
    /// # Errors
    /// In words, when there is no such template or split, the template is wrong, or it has nothing to draw from.
    pub fn drawn(&self, template: &str, split: &str, seed: u64) -> Result<DrawnTask, String> {
        let found = self.templates.iter().find(|known| known.name == template);
        let template = found.ok_or_else(|| format!("there is no template {template:?}"))?;
        let mut problem = String::new();
        for attempt in 0..ATTEMPTS {
            match self.draw(template, split, seed, attempt) {
                Ok(drawn) => return Ok(drawn),
                // What is wrong with the template is not drawn again until it does not show.
                Err(DrawFailure::Fault(detail)) => {
                    return Err(format!("{detail} (split {split:?}, seed {seed}, draw {attempt})"));
                }
                Err(DrawFailure::TaskWorlds(detail)) => problem = detail,
            }
        }
        Err(problem)
    }

    fn draw(&self, template: &Template, split: &str, seed: u64, attempt: usize) -> Result<DrawnTask, DrawFailure> {
        let worlds = *self.environment.splits.get(split).ok_or_else(|| format!("there is no split {split:?}"))?;
        let stream = |part: &str| self.stream(template, split, seed, attempt, part);
        let form = &template.form;
        let data = template.data(split, "played", stream("world").below(worlds));
        let others: Vec<Data> =
            (0..form.others.min(OTHERS_MAX)).map(|index| template.data(split, "hidden", index)).collect();
        let world = self.world(&data)?;
        let other_worlds = others.iter().map(|data| self.world(data)).collect::<Result<Vec<_>, _>>()?;
        let ground = TaskWorlds { world: &world, others: &other_worlds };
        let filling = parameter::draw_all(&form.parameters, &ground, stream)?;
        Ok(template.fill(&self.environment, data, others, &filling)?)
    }

    /// The chance of a part of a draw.
    fn stream(&self, template: &Template, split: &str, seed: u64, attempt: usize, part: &str) -> Draw {
        let (seed, attempt) = (seed.to_string(), attempt.to_string());
        Draw::of(&["draw", &self.environment.name, &template.name, split, &seed, &attempt, part])
    }

    fn world(&self, data: &Data) -> Result<Arc<World>, String> {
        self.worlds.get(data, || {
            let world = world::make(data)?;
            let rows = world.dataset.tables.iter().map(|table| table.rows.len()).sum();
            Ok((Arc::new(world), rows))
        })
    }
}

impl Library for Suite {
    fn source(&self, data: &Data, setup: &Spoken, dialect: Dialect) -> Result<Arc<Source>, String> {
        self.sources.get(&(data.clone(), setup.clone(), dialect), || {
            let setup =
                setup.in_dialect(dialect).ok_or_else(|| format!("the task has no setup for {}", dialect.name()))?;
            let script = self.world(data)?.dataset.script(dialect).map_err(|error| error.to_string())?;
            let source = Source::script(format!("{script}\n{setup}"));
            Ok((Arc::new(source), script.len() + setup.len()))
        })
    }
}

impl Template {
    fn of(name: &str, form: Form) -> Result<Self, Fault> {
        let checks = serde_json::to_value(&form.checks).map_err(|error| Fault::new(name, error.to_string()))?;
        Ok(Self { name: name.to_owned(), form, checks })
    }

    fn is_in(&self, split: &str) -> bool {
        self.form.splits.is_empty() || self.form.splits.iter().any(|known| known == split)
    }

    fn fault(&self, detail: impl Into<String>) -> Fault {
        Fault::new(format!("templates/{}.yaml", self.name), detail)
    }

    /// Faults that show without drawing.
    fn faults(&self, environment: &Environment) -> Vec<String> {
        let form = &self.form;
        let mut faults = Vec::new();
        if !(0.0..=1.0).contains(&form.difficulty) {
            faults.push("difficulty: is from 0 to 1".to_owned());
        }
        if form.others > OTHERS_MAX {
            faults.push(format!("others: is at most {OTHERS_MAX}"));
        }
        if form.instruction.trim().is_empty() {
            faults.push("instruction: says nothing".to_owned());
        }
        for name in form.told_only.iter().filter(|name| !form.parameters.contains_key(*name)) {
            faults.push(format!("told_only: there is no parameter {name:?}"));
        }
        for split in form.splits.iter().filter(|split| !environment.splits.contains_key(*split)) {
            faults.push(format!("splits: the environment has no split {split:?}"));
        }
        if form.checks.is_empty() && (form.gold == Spoken::Nothing || form.submission != Submission::Sql) {
            faults.push("checks: nothing would be judged".to_owned());
        }
        if form.checks.iter().any(|check| !(check.weight > 0.0 && check.weight.is_finite())) {
            faults.push("checks: each weight must be a number above 0".to_owned());
        }
        for dialect in &environment.engines {
            let spoken = [("gold", &form.gold), ("setup", &form.setup)];
            for (field, _) in spoken.iter().filter(|(_, text)| text.in_dialect(*dialect).is_none()) {
                faults.push(format!("{field}: lacks {}", dialect.name()));
            }
            if form.solution.iter().any(|text| text.in_dialect(*dialect).is_none()) {
                faults.push(format!("solution: lacks {}", dialect.name()));
            }
        }
        faults
    }

    /// A world of a split: `played` ones are acted on, `hidden` ones are for judges.
    fn data(&self, split: &str, part: &str, index: usize) -> Data {
        let digest = Sha256::digest(format!("{split}/{part}/{index}"));
        let seed = u64::from(u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]));
        Data::World { world: self.form.world.clone(), seed, settings: self.form.settings.clone() }
    }

    fn fill(
        &self,
        environment: &Environment,
        data: Data,
        others: Vec<Data>,
        filling: &Filling,
    ) -> Result<DrawnTask, String> {
        let form = &self.form;
        let at = |field: &'static str| move |detail: String| format!("{field}: {detail}");
        let gold = fill::spoken(&form.gold, filling).map_err(at("gold"))?;
        let mut checks: Vec<WeightedCheck> = Vec::new();
        if form.submission == Submission::Sql && gold != Spoken::Nothing {
            let check = Check::Result { gold: gold.clone(), compare: form.compare, accepted: Vec::new() };
            checks.push(WeightedCheck { name: "result".to_owned(), weight: 1.0, required: true, check });
        }
        checks.extend(filled::<Vec<WeightedCheck>>(&self.checks, filling).map_err(at("checks"))?);
        let submission = match (&form.solution_submission, form.submission) {
            (Some(text), Submission::Answer) => Some(answer(text, filling)),
            (Some(text), _) => Some(fill::spoken(text, filling)),
            (None, Submission::Sql) if gold != Spoken::Nothing => Some(Ok(gold.clone())),
            (None, _) => None,
        };
        let solution = form.solution.iter().map(|text| fill::spoken(text, filling)).collect::<Result<_, _>>();
        let instruction = fill::fill(form.instruction.trim(), Notation::Words, filling).map_err(at("instruction"))?;
        if instruction.contains("${") {
            return Err(format!("instruction: a parameter is left unfilled: {instruction}"));
        }
        let task = Task {
            kind: environment.kind,
            template: self.name.clone(),
            instruction,
            difficulty: Some(form.difficulty),
            data,
            others,
            setup: fill::spoken(&form.setup, filling).map_err(at("setup"))?,
            access: form.access,
            submission: form.submission,
            checks,
            solution: solution.map_err(at("solution"))?,
            solution_submission: submission.transpose().map_err(at("solution_submission"))?,
            begins_ms: None,
            metadata: form.metadata.clone(),
        };
        let wrong = form.wrong.iter().map(|text| match form.submission {
            Submission::Answer => answer(text, filling),
            Submission::Sql | Submission::State => fill::spoken(text, filling),
        });
        let wrong = wrong.collect::<Result<_, _>>().map_err(at("wrong"))?;
        Ok(DrawnTask { task, gold, wrong })
    }
}

/// An answer is words, whatever the dialect.
fn answer(text: &Spoken, filling: &Filling) -> Result<Spoken, String> {
    match text {
        Spoken::Any(text) => fill::fill(text, Notation::Words, filling).map(Spoken::Any),
        Spoken::Nothing | Spoken::Each(_) => Err("an answer is one text".to_owned()),
    }
}

/// Checks with their parameters in place.
fn filled<T: DeserializeOwned>(form: &Json, filling: &Filling) -> Result<T, String> {
    let json = walk(form, false, filling)?;
    serde_json::from_value(json).map_err(|error| error.to_string())
}

/// JSON with parameters in place: as SQL under the keys that hold SQL, as words elsewhere.
fn walk(json: &Json, sql: bool, filling: &Filling) -> Result<Json, String> {
    Ok(match json {
        Json::String(text) if sql => {
            serde_json::to_value(fill::spoken(&Spoken::any(text), filling)?).map_err(|error| error.to_string())?
        }
        Json::String(text) => Json::String(fill::fill(text, Notation::Words, filling)?),
        Json::Array(items) => items.iter().map(|item| walk(item, sql, filling)).collect::<Result<_, _>>()?,
        Json::Object(fields) if sql => {
            let texts =
                fields.iter().map(|(dialect, text)| Ok((dialect.clone(), one_dialect(dialect, text, filling)?)));
            Json::Object(texts.collect::<Result<_, String>>()?)
        }
        Json::Object(fields) => {
            let inner = fields
                .iter()
                .map(|(name, field)| Ok((name.clone(), walk(field, SQL_KEYS.contains(&name.as_str()), filling)?)));
            Json::Object(inner.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

/// SQL of the dialect that its key names.
fn one_dialect(name: &str, text: &Json, filling: &Filling) -> Result<Json, String> {
    let dialect = Dialect::ALL.into_iter().find(|dialect| dialect.name() == name);
    match (dialect, text) {
        (Some(dialect), Json::String(text)) => Ok(Json::String(fill::fill(text, Notation::Sql(dialect), filling)?)),
        _ => Err(format!("{name:?} is no dialect with SQL")),
    }
}

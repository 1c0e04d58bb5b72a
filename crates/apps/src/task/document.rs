//! The state of an episode as one JSON document, and judging from it.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use palestra_state::{Array, Object, State};
use serde_json::{Value as Json, json};

use super::answer::Submission;
use super::episode::Episode;
use super::instance::Instance;
use super::judge::End;
use super::solve;
use super::verdict::Check;
use crate::data::Data;
use crate::kinds::ColumnId;
use crate::value::RowKey;

type Touched = OrdSet<(RowKey, Option<ColumnId>)>;

impl Episode {
    /// Privileged state: everything that a verdict depends on.
    ///
    /// `{"data", "beginning"?, "world"?, "counters", "clock", "agenda", "calls", "reached", "broken", "touched"?, "answer"}`.
    /// `beginning` stands where a configuration changed the data that the task begins with, `world` where something happened
    /// by itself. With `counters`, the numbers of the next rows, rows get the numbers back under which `touched` lists them.
    #[must_use]
    pub fn document(&self) -> State {
        let (world, instance) = (self.world(), self.instance());
        let mut document = Object::default();
        let members = document.members_mut();
        let mut put = |name: &str, value: State| members.insert(name.into(), value);
        let beginning = world.beginning().data.document();
        put("data", world.data().document());
        let configured = !beginning.same(&instance.data.document());
        let baseline = world.baseline().document();
        if !baseline.same(&beginning) {
            put("world", baseline);
        }
        if configured {
            put("beginning", beginning);
        }
        put("counters", State::from(json!(world.data().counters())));
        put("clock", State::String(world.app().calendar.show_instant(world.now()).into()));
        put("agenda", world.agenda());
        put("calls", counts(world.counts()));
        let watches = &world.beginning().watches;
        put("reached", names(world.reached().iter().filter_map(|place| watches.get(*place)).map(|watch| &watch.name)));
        put("broken", names(world.broken().iter()));
        if instance.template().goal.strict_history {
            put("touched", touched(self));
        }
        put("answer", self.submission().map_or(State::Null, Submission::document));
        State::Object(Arc::new(document))
    }
}

fn counts(counts: &OrdMap<Arc<str>, u32>) -> State {
    let mut object = Object::default();
    for (name, count) in counts {
        object.members_mut().insert(Arc::clone(name), State::Number((*count).into()));
    }
    State::Object(Arc::new(object))
}

fn names<'a>(names: impl Iterator<Item = &'a Arc<str>>) -> State {
    let mut array = Array::default();
    names.for_each(|name| array.elements_mut().push_back(State::String(Arc::clone(name))));
    State::Array(Arc::new(array))
}

/// Rows and columns that were ever changed: table, the row's number, column.
fn touched(episode: &Episode) -> State {
    let schema = &episode.instance().app.schema;
    let rows = episode.world().touched().iter().map(|(row, column)| {
        let table = schema.table(row.table);
        json!([&*table.name, row.number, column.map(|column| table.describe(column).name.to_string())])
    });
    State::from(Json::Array(rows.collect()))
}

impl Instance {
    /// Checks that the task is still one after a configuration changed its beginning: its goal is false at the beginning, and
    /// its solution reaches it. True where nothing was changed.
    ///
    /// # Errors
    /// When it is no state that [`Episode::document`] gave.
    pub fn is_sound(self: &Arc<Self>, document: &State) -> Result<bool, String> {
        let Some(beginning) = document.get("beginning") else { return Ok(true) };
        let data = self.data.revised(beginning, None).map_err(|_| "the state's beginning is broken".to_owned())?;
        let Ok(mut episode) = Episode::begin_with(self, 0, data) else { return Ok(false) };
        let reached = |episode: &Episode| episode.judge().is_ok_and(|checks| checks.iter().all(|check| check.passed));
        if reached(&episode) {
            return Ok(false);
        }
        let played = match &self.template().solution {
            Some(steps) => match solve::play(episode, steps) {
                Ok(solved) => solved.episode,
                Err(_) => return Ok(false),
            },
            None => {
                for call in self.solution() {
                    episode.call(&call.name, &call.arguments)?;
                }
                episode
            }
        };
        Ok(reached(&played))
    }

    /// Every check on a state that [`Episode::document`] gave.
    ///
    /// # Errors
    /// When it is no such state, or an expression of the goal fails.
    pub fn judge(&self, document: &State) -> Result<Vec<Check>, String> {
        let part = |name: &str| document.get(name).ok_or_else(|| format!("the state has no {name}"));
        let counters: Vec<u32> =
            serde_json::from_value(part("counters")?.to_value()).map_err(|error| error.to_string())?;
        let revised = |base: &Data, document: &State, counters: Option<&[u32]>| {
            base.revised(document, counters).map_err(|faults| {
                let faults: Vec<String> =
                    faults.iter().map(|fault| format!("{}: {}", fault.pointer, fault.message)).collect();
                format!("the state is broken: {}", faults.join("; "))
            })
        };
        let initial = match document.get("beginning") {
            None => self.data.clone(),
            Some(beginning) => revised(&self.data, beginning, None)?,
        };
        let baseline = match document.get("world") {
            None => initial.clone(),
            Some(world) => revised(&initial, world, Some(&counters))?,
        };
        let data = revised(&baseline, part("data")?, Some(&counters))?;
        let clock = part("clock")?.as_str().and_then(|clock| self.app.calendar.parse_instant(clock));
        let submission = match part("answer")? {
            State::Null => None,
            answer => Some(serde_json::from_value::<Submission>(answer.to_value()).map_err(|error| error.to_string())?),
        };
        let watches = &self.template().watches;
        let reached = strings(part("reached")?)
            .into_iter()
            .filter_map(|name| watches.iter().position(|watch| watch.name == name))
            .collect();
        let counts = match part("calls")?.to_value() {
            Json::Object(counts) => counts
                .into_iter()
                .filter_map(|(name, count)| Some((Arc::from(name), u32::try_from(count.as_u64()?).ok()?)))
                .collect(),
            _ => OrdMap::new(),
        };
        let end = End {
            app: &self.app,
            template: self.template(),
            task: &self.record(),
            initial: &initial,
            baseline: &baseline,
            data: &data,
            now: clock.ok_or("the state's clock is broken")?,
            counts: &counts,
            broken: &strings(part("broken")?).into_iter().collect(),
            reached: &reached,
            touched: &document.get("touched").map(|touched| self.read_touched(&touched.to_value())).unwrap_or_default(),
            submission: submission.as_ref(),
            reversed: false,
        };
        end.judge(Some(&self.held)).map_err(|error| format!("tasks.{}.goal: {error}", self.template().name))
    }

    fn read_touched(&self, touched: &Json) -> Touched {
        let schema = &self.app.schema;
        let entry = |entry: &Json| {
            let table = schema.find(entry.get(0)?.as_str()?)?;
            let number = u32::try_from(entry.get(1)?.as_u64()?).ok()?;
            let column = entry.get(2).and_then(Json::as_str).and_then(|name| schema.table(table).column(name));
            Some((RowKey { table, number }, column))
        };
        touched.as_array().into_iter().flatten().filter_map(entry).collect()
    }
}

fn strings(state: &State) -> Vec<Arc<str>> {
    match state {
        State::Array(array) => array.elements().iter().filter_map(|name| name.as_str().map(Arc::from)).collect(),
        _ => Vec::new(),
    }
}

//! Actions that are well formed but chosen without looking: a random tool with random arguments of the right types, rows
//! that exist among them.

use palestra_apps::app::{App, Callable, Parameter, Role};
use palestra_apps::json::Codec;
use palestra_apps::kinds::Type;
use palestra_apps::task::instance::Instance;
use palestra_apps::value::{RowKey, Value};
use palestra_protocol::action::Action;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value as Json, json};

/// One in so many guesses ends the task.
const ENDS_ONE_IN: u32 = 20;
/// One in so many optional arguments is given.
const GIVEN_ONE_IN: u32 = 3;
/// The range of numbers without bounds.
const NUMBERS: std::ops::RangeInclusive<i64> = 0..=100;
/// Elements of a list without bounds.
const ELEMENTS_MAX: i64 = 3;

/// A random call.
pub(super) fn action(instance: &Instance, rng: &mut ChaCha8Rng) -> Action {
    let app = &instance.app;
    let may = |who: &[Role]| who.contains(&Role::AGENT);
    let calls: Vec<(&str, Vec<Parameter>)> = app
        .calls
        .iter()
        .filter_map(|(name, callable)| match *callable {
            Callable::Action(place) => {
                let action = &app.actions[place];
                may(&action.who).then(|| (&**name, action.parameters.clone()))
            }
            Callable::View(place) => {
                let view = &app.views[place];
                may(&view.who).then(|| (&**name, view.all_parameters(&app.schema)))
            }
        })
        .filter(|(_, parameters)| parameters.iter().all(|parameter| !parameter.required() || can(instance, parameter)))
        .collect();
    if calls.is_empty() || rng.random_ratio(1, ENDS_ONE_IN) {
        let status = ["ok", "impossible", "refused"][rng.random_range(0..3)];
        return call("submit", Map::from_iter([("status".to_owned(), json!(status))]));
    }
    let (name, parameters) = &calls[rng.random_range(0..calls.len())];
    let mut guess = Guess { instance, app, rng };
    call(name, guess.arguments(parameters))
}

fn call(tool: &str, arguments: Map<String, Json>) -> Action {
    Action::Tool { tool: tool.to_owned(), arguments }
}

/// True if there is an argument: a row needs one that exists.
fn can(instance: &Instance, parameter: &Parameter) -> bool {
    match (parameter.kind.present(), parameter.inner.as_slice()) {
        (Type::Row(table), _) => !instance.data.is_empty(*table),
        (Type::List(_), [element]) => parameter.bounds.least.is_none_or(|least| least <= 0) || can(instance, element),
        (Type::Record(_), fields) => fields.iter().all(|field| !field.required() || can(instance, field)),
        _ => true,
    }
}

struct Guess<'a> {
    instance: &'a Instance,
    app: &'a App,
    rng: &'a mut ChaCha8Rng,
}

impl Guess<'_> {
    fn arguments(&mut self, parameters: &[Parameter]) -> Map<String, Json> {
        let mut arguments = Map::new();
        for parameter in parameters {
            let given = parameter.required() || self.rng.random_ratio(1, GIVEN_ONE_IN);
            if given && can(self.instance, parameter) {
                arguments.insert(parameter.name.to_string(), self.argument(parameter));
            }
        }
        arguments
    }

    fn argument(&mut self, parameter: &Parameter) -> Json {
        match (parameter.kind.present(), parameter.inner.as_slice()) {
            (Type::List(_), [element]) => {
                let least = parameter.bounds.least.unwrap_or(0);
                let room = if can(self.instance, element) { ELEMENTS_MAX } else { 0 };
                let most = parameter.bounds.most.unwrap_or(ELEMENTS_MAX).min(least + room);
                (0..self.rng.random_range(least..=most.max(least))).map(|_| self.argument(element)).collect()
            }
            (Type::Record(_), fields) => Json::Object(self.arguments(fields)),
            (kind, _) => {
                let value = self.value(kind, parameter);
                Codec::new(&self.app.schema).to_json(&value, kind, &self.instance.data)
            }
        }
    }

    fn value(&mut self, kind: &Type, parameter: &Parameter) -> Value {
        let now = self.app.start;
        let bounds = &parameter.bounds;
        let (least, most) = (bounds.least.unwrap_or(*NUMBERS.start()), bounds.most.unwrap_or(*NUMBERS.end()));
        match kind {
            Type::Bool => Value::Bool(self.rng.random()),
            Type::Int | Type::Money(_) | Type::Decimal(_) => Value::Int(self.rng.random_range(least..=most.max(least))),
            Type::Duration => Value::Int(self.rng.random_range(1..=72) * 3_600),
            Type::Date => Value::Int(now.div_euclid(86_400) + self.rng.random_range(-7..=30)),
            Type::Instant => Value::Int(now + self.rng.random_range(-168..=720) * 3_600),
            Type::Enum(words) => match words.len() {
                0 => Value::Null,
                count => Value::Text(words[self.rng.random_range(0..count)].clone()),
            },
            Type::Row(table) => match self.instance.data.len(*table) {
                0 => Value::Null,
                count => {
                    let row = self.instance.data.rows(*table).nth(self.rng.random_range(0..count));
                    row.map_or(Value::Null, |RowKey { table, number }| Value::Row(RowKey { table, number }))
                }
            },
            Type::Text => {
                let least = usize::try_from(least.max(1)).unwrap_or(1);
                Value::text(
                    &["note", "later", "thanks", "report"][self.rng.random_range(0..4)].repeat(least.div_ceil(4)),
                )
            }
            Type::Null | Type::List(_) | Type::Record(_) | Type::Opt(_) => Value::Null,
        }
    }
}

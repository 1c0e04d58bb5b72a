//! Random calls: well formed, with rows that exist and values at the edges of what is allowed.

use std::sync::Arc;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value as Json, json};

use crate::app::{App, Bounds, Parameter, Role};
use crate::calendar::{show_date, show_duration};
use crate::kinds::Type;
use crate::run::{CallError, Raised, Reply, World};
use crate::task::call::Call;
use crate::words;

/// Entries of a random list.
const ENTRIES_MAX: u64 = 3;
/// Entries of a list that asks for many.
const ENTRIES_LEAST_MAX: u64 = 1_000;

/// Makes random calls of an app's actions and views.
pub struct RandomCalls {
    calls: Vec<(Arc<str>, Vec<Parameter>, Role)>,
}

impl RandomCalls {
    /// For the actions and views of an app that the agent or the user may call. Actions come up more often than views.
    #[must_use]
    pub fn new(app: &App) -> Self {
        let role = |who: &[Role]| [Role::AGENT, Role::USER].into_iter().find(|role| who.contains(role));
        let actions = app
            .actions
            .iter()
            .filter_map(|action| Some((Arc::clone(&action.name), action.parameters.clone(), role(&action.who)?)));
        let views = app
            .views
            .iter()
            .filter_map(|view| Some((Arc::clone(&view.name), view.all_parameters(&app.schema), role(&view.who)?)));
        let actions: Vec<_> = actions.collect();
        Self { calls: actions.iter().cloned().chain(actions.iter().cloned()).chain(views).collect() }
    }

    /// A random call; none for an app without calls.
    #[must_use]
    pub fn call(&self, world: &World, random: &mut ChaCha8Rng) -> Option<Call> {
        if self.calls.is_empty() {
            return None;
        }
        let (name, parameters, _) = &self.calls[random.random_range(0..self.calls.len())];
        Some(Call { name: Arc::clone(name), arguments: arguments(world, parameters, random) })
    }

    /// Makes a call in its role.
    ///
    /// # Errors
    /// When the definition is at fault.
    pub fn make(&self, world: &mut World, call: &Call) -> Result<Result<Json, Raised>, String> {
        let role = self.calls.iter().find(|(name, ..)| *name == call.name).map_or(Role::AGENT, |(_, _, role)| *role);
        match world.call(role, &call.name, &call.arguments) {
            Ok(Reply { json, .. }) => Ok(Ok(json)),
            Err(CallError::Raised(raised)) => Ok(Err(raised)),
            Err(crashed) => Err(crashed.to_string()),
        }
    }
}

fn arguments(world: &World, parameters: &[Parameter], random: &mut ChaCha8Rng) -> Map<String, Json> {
    parameters
        .iter()
        .filter_map(|parameter| {
            let left_out = !parameter.required() && random.random_range(0..2) == 0;
            (!left_out).then(|| (parameter.name.to_string(), value(world, parameter, random)))
        })
        .collect()
}

/// A value of a parameter's type, within its bounds.
pub(crate) fn value(world: &World, parameter: &Parameter, random: &mut ChaCha8Rng) -> Json {
    let bounds = parameter.bounds;
    match parameter.kind.present() {
        Type::Null => Json::Null,
        Type::Bool => json!(random.random_range(0..2) == 1),
        Type::Int => json!(whole(bounds, 0, 20, random)),
        Type::Money(currency) => {
            let digits = crate::amount::minor_digits(currency);
            json!(crate::amount::show(whole(bounds, 0, 50_000, random), digits))
        }
        Type::Decimal(digits) => json!(crate::amount::show(whole(bounds, 0, 50_000, random), *digits)),
        Type::Text => {
            let most = bounds.most.and_then(|most| usize::try_from(most).ok()).unwrap_or(200);
            let text = words::find("sentence").map_or_else(|| "text".to_owned(), |words| words.generate(random, &[]));
            json!(text.chars().take(most).collect::<String>())
        }
        Type::Date => {
            let today = world.app().calendar.date(world.now());
            json!(show_date(today + random.random_range(-10..40)))
        }
        Type::Instant => {
            let instant = world.now() + random.random_range(-48..240) * 1_800;
            json!(world.app().calendar.show_instant(instant))
        }
        Type::Duration => json!(show_duration(random.random_range(1..48) * 900)),
        Type::Enum(words) => json!(&*words[random.random_range(0..words.len())]),
        Type::Row(table) => {
            let count = world.data().len(*table);
            let place = if count == 0 { 0 } else { random.random_range(0..count) };
            let row = world.data().rows(*table).nth(place);
            json!(row.and_then(|row| world.data().id(row)).map_or("none", |id| id))
        }
        Type::List(_) => {
            let least = bounds.least.and_then(|least| u64::try_from(least).ok()).unwrap_or(0).min(ENTRIES_LEAST_MAX);
            let count = random.random_range(least..=least.max(ENTRIES_MAX));
            let element = parameter.inner.first();
            Json::Array((0..count).filter_map(|_| Some(value(world, element?, random))).collect())
        }
        Type::Record(_) => Json::Object(arguments(world, &parameter.inner, random)),
        Type::Opt(_) => Json::Null,
    }
}

/// A whole number within bounds, often at one of their ends.
fn whole(bounds: Bounds, least: i64, most: i64, random: &mut ChaCha8Rng) -> i64 {
    let least = bounds.least.unwrap_or(least);
    let most = bounds.most.unwrap_or(most.max(least)).min(least.saturating_add(1_000_000));
    match random.random_range(0..6) {
        0 => least,
        1 => most,
        _ => random.random_range(least..=most.max(least)),
    }
}

//! Our app, begun with the reference's data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use palestra_apps::app::{App, Role};
use palestra_apps::data::{Data, changes};
use palestra_apps::run::{Beginning, CallError, World};
use palestra_state::State;
use serde_json::{Map, Value, json};

use crate::calls::ours;
use crate::json::Json;
use crate::reference::Reference;
use crate::{export, import};

/// Outcome of a call: its result as the reference tells it, or our code.
pub(crate) type Outcome = Result<Json, String>;

/// The back office at work. A copy goes its own way.
#[derive(Clone)]
pub(crate) struct Office<'r> {
    reference: &'r Reference,
    world: World,
}

impl<'r> Office<'r> {
    /// The office on the reference's initial data.
    pub(crate) fn open(reference: &'r Reference) -> Self {
        let app = app();
        let document = import::document(reference, &reference.data);
        let data = Data::new(Arc::clone(&app.schema), 0)
            .revised(&State::from(document), None)
            .unwrap_or_else(|faults| panic!("{faults:?}"));
        let world = World::begin(Arc::new(Beginning::free(app, data, 0))).unwrap_or_else(|stop| panic!("{stop}"));
        Self { reference, world }
    }

    /// Calls a tool of the reference through ours. What is read comes from our view's answer; a write answers with the order or the
    /// user that it changed.
    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> Outcome {
        let call = ours(name, arguments);
        let answer = self.ask(call.name, &Value::Object(call.arguments))?;
        let text = |value: &Value| Json::text(value.as_str().expect("text"));
        Ok(match call.name {
            "find_customer_by_email" | "find_customer_by_name" => text(&answer["customer"]),
            "calculate" => text(&answer),
            "transfer_to_human" => Json::text("Transfer successful"),
            "order" => export::order(&answer),
            "customer" => export::user(self.reference, &answer),
            "product" => export::product(self.reference, &answer),
            "variant" => export::variant(&answer),
            "products" => export::products(&answer),
            "modify_customer_address" => export::user(self.reference, &self.row("customer", &answer)?),
            _ => export::order(&self.row("order", &answer)?),
        })
    }

    /// The view of a row that an action answered with.
    fn row(&mut self, view: &str, answer: &Value) -> Result<Value, String> {
        self.ask(view, &json!({"id": answer[view]}))
    }

    fn ask(&mut self, name: &str, arguments: &Value) -> Result<Value, String> {
        let arguments = arguments.as_object().expect("an object");
        match self.world.call(Role::AGENT, name, arguments) {
            Ok(reply) => Ok(reply.json),
            Err(CallError::Raised(raised)) => Err(raised.code.to_string()),
            Err(CallError::Crashed(error)) => panic!("{name} {arguments:?}: {error}"),
        }
    }

    /// The customers of whom anything differs from the beginning. What was handed over is no data of the reference's.
    pub(crate) fn touched(&self) -> BTreeSet<String> {
        let data = self.world.data();
        let document = data.document();
        let changed = changes(&self.world.beginning().data, data).into_iter().filter_map(|change| {
            let table = &data.schema().table(change.row.table).name;
            let row = document.get(table).and_then(|rows| rows.get(&change.id));
            let row = row.unwrap_or_else(|| panic!("{table} {} is gone", change.id));
            (&**table != "handover").then(|| {
                let customer = if &**table == "customer" { Some(&*change.id) } else { customer(&document, row) };
                customer.unwrap_or_else(|| panic!("{table} {} belongs to nobody", change.id)).to_owned()
            })
        });
        changed.collect()
    }

    /// The data of these customers and their orders, as the reference holds it.
    pub(crate) fn data_of(&self, users: &BTreeSet<&str>) -> Json {
        let document = self.world.data().document();
        let mut kept = Map::new();
        for name in import::TABLES {
            let rows = members(&document, name).filter(|(id, row)| match name {
                "product" | "variant" => true,
                "customer" => users.contains(&***id),
                _ => customer(&document, row).is_some_and(|customer| users.contains(customer)),
            });
            let rows = rows.map(|(id, row)| (id.to_string(), row.to_value())).collect();
            kept.insert(name.to_owned(), Value::Object(rows));
        }
        export::data(self.reference, &Value::Object(kept))
    }
}

/// Customer of a row, by itself or by its order.
fn customer<'s>(document: &'s State, row: &'s State) -> Option<&'s str> {
    let order = row.get("order").and_then(State::as_str);
    let owner = order.map_or(Some(row), |order| document.get("order")?.get(order));
    owner?.get("customer")?.as_str()
}

fn members<'s>(document: &'s State, table: &str) -> impl Iterator<Item = (&'s Arc<str>, &'s State)> {
    let Some(State::Object(rows)) = document.get(table) else { panic!("no table {table}") };
    rows.members().iter()
}

/// The app as it ships.
pub(crate) fn app() -> Arc<App> {
    load(&files())
}

/// The app with a policy of its own: each paragraph is a rule that the agent is told.
pub(crate) fn app_with_policy(policy: &str) -> Arc<App> {
    let mut files = files();
    let paragraphs = policy.split("\n\n").map(str::trim).filter(|text| !text.is_empty()).enumerate();
    let rules: String = paragraphs
        .map(|(number, text)| format!("\n  - {{id: policy_{number}, text: {}, enforce: grade}}", Value::from(text)))
        .collect();
    let holder = files.values_mut().find(|text| text.contains("\nrules:\n")).expect("the app has rules");
    *holder = holder.replace("\nrules:\n", &format!("\nrules:{rules}\n"));
    load(&files)
}

/// The files of the app.
pub(crate) fn files() -> BTreeMap<String, String> {
    palestra_test_support::texts(&palestra_test_support::workspace().join("environments/app/retail"))
}

/// The app of some files.
pub(crate) fn load(files: &BTreeMap<String, String>) -> Arc<App> {
    App::load(files)
        .unwrap_or_else(|faults| panic!("{}", faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
}

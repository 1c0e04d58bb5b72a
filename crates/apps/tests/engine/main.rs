//! The engine where it can break: transactions, the clock, views, permissions, goals, and hostile calls.

mod actions;
mod clock;
mod fixed;
mod goals;
mod hostile;
mod views;

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_apps::app::{App, Role};
use palestra_apps::draw::draw;
use palestra_apps::run::{Beginning, CallError, Raised, World, initial};
use palestra_apps::task::episode::Episode;
use palestra_apps::task::instance::Instance;
use serde_json::{Map, Value as Json, json};

fn app() -> Arc<App> {
    let files = BTreeMap::from([("app.yaml".to_owned(), include_str!("../apps/desk/app.yaml").to_owned())]);
    App::load(&files).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

fn world() -> World {
    let app = app();
    let data = initial(&app, 0).expect("initial data");
    World::begin(Arc::new(Beginning::free(app, data, 1))).expect("a world")
}

fn instance(template: &str, seed: u64) -> Arc<Instance> {
    let app = app();
    let place = app.templates.iter().position(|known| &*known.name == template).expect("the template");
    draw(&app, place, "test", seed, &|_| true).expect("a task")
}

fn episode(template: &str) -> Episode {
    Episode::begin(&instance(template, 1), 1).expect("an episode")
}

fn object(arguments: &Json) -> Map<String, Json> {
    arguments.as_object().expect("an object").clone()
}

/// Answer to a call of the agent.
fn call(world: &mut World, name: &str, arguments: &Json) -> Result<Json, Raised> {
    call_as(world, Role::AGENT, name, arguments)
}

fn call_as(world: &mut World, role: Role, name: &str, arguments: &Json) -> Result<Json, Raised> {
    match world.call(role, name, &object(arguments)) {
        Ok(reply) => Ok(reply.json),
        Err(CallError::Raised(raised)) => Err(raised),
        Err(crashed) => panic!("{name} {arguments}: {crashed}"),
    }
}

fn done(world: &mut World, name: &str, arguments: &Json) -> Json {
    call(world, name, arguments).unwrap_or_else(|raised| panic!("{name} {arguments}: {raised}"))
}

/// The rows of a table as JSON, in the order of creation.
fn rows(world: &World, table: &str) -> Vec<Json> {
    let table_id = world.app().schema.find(table).expect("the table");
    let document = world.data().document().to_value();
    world.data().rows(table_id).map(|row| document[table][&**world.data().id(row).expect("an id")].clone()).collect()
}

/// The id of the row that has a text in a column.
fn id(world: &World, table: &str, column: &str, text: &str) -> Json {
    let found = world.data().document().to_value()[table]
        .as_object()
        .and_then(|rows| rows.iter().find(|(_, row)| row[column] == text).map(|(id, _)| json!(id)));
    found.unwrap_or_else(|| panic!("no {table} with {column} {text}"))
}

fn person(world: &World, name: &str) -> Json {
    id(world, "person", "name", name)
}

fn logged(world: &World) -> Vec<String> {
    rows(world, "log").iter().map(|row| row["text"].as_str().unwrap_or_default().to_owned()).collect()
}

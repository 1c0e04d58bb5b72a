//! Values that inputs offer as one types, read as the agent reads a list.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::app::Role;
use crate::app::theme::{Looks, Suggest};
use crate::kinds::ColumnId;
use crate::run::{CallError, World};
use crate::screen::{Element, Facts, Sheet, plain};
use crate::value::RowKey;

/// Values that an input offers at most.
const VALUES_MAX: usize = 300;
/// The name under which the search box of every page has its values.
pub(super) const SEARCH: &str = "search";

/// A value that is offered.
#[derive(Debug, Serialize)]
pub(super) struct Suggestion {
    value: String,
    /// A text by which it is found too.
    label: Option<String>,
}

/// By the name of the parameter that an input is for.
pub(super) type Suggestions = BTreeMap<Arc<str>, Arc<Vec<Suggestion>>>;

/// The values that the inputs of a screen and the search box offer.
///
/// # Errors
/// When an expression of a view is at fault.
pub(super) fn suggestions(world: &World, looks: &Looks, sheet: &Sheet) -> Result<Suggestions, CallError> {
    let mut all = Suggestions::new();
    for (name, suggest) in &looks.suggest {
        let asked = |element: &Element| parameter(element).is_some_and(|of| of == &**name);
        let found = **name == *SEARCH && looks.search.is_some();
        if found || sheet.tree.all().into_iter().any(asked) {
            all.insert(Arc::clone(name), Arc::new(values(world, suggest)?));
        }
    }
    Ok(all)
}

/// The name of the parameter that an input is for, or that it has one value of.
pub(super) fn parameter(element: &Element) -> Option<&str> {
    let Some(Facts::Input { .. }) = element.facts.as_deref() else { return None };
    element.id.rsplit('/').next()?.split('.').next()
}

fn values(world: &World, suggest: &Suggest) -> Result<Vec<Suggestion>, CallError> {
    let view = &world.app().views[suggest.view];
    let text = |row: RowKey, column: ColumnId| {
        let cell = world.data().cell(row, column).filter(|_| world.sees_column(Role::AGENT, view.table, column))?;
        let kind = &world.app().schema.table(view.table).describe(column).kind;
        Some(plain(&world.codec().to_json(cell, kind, world.data()))).filter(|text| !text.is_empty())
    };
    let mut found: Vec<Suggestion> = Vec::new();
    for number in 1.. {
        let arguments = Map::from_iter([("page".to_owned(), Json::from(number))]);
        let page = match world.page(Role::AGENT, view, &arguments) {
            Ok(page) => page,
            // What the agent may not read is not offered.
            Err(CallError::Raised(_)) => break,
            Err(crashed) => return Err(crashed),
        };
        for row in page.rows {
            let Some(value) = text(row, suggest.value) else { continue };
            let label = suggest.label.and_then(|column| text(row, column));
            if found.iter().all(|known| known.value != value) {
                found.push(Suggestion { value, label });
            }
        }
        if number >= page.pages || found.len() >= VALUES_MAX {
            break;
        }
    }
    found.truncate(VALUES_MAX);
    Ok(found)
}

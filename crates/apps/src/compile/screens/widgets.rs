//! Widgets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::plan::Plan;
use crate::app::screen::{Controls, Details, Form, Given, Link, LinkTarget, List, OPEN, Widget, WidgetKind, words};
use crate::app::{RowSelection, View};
use crate::compile::names::Names;
use crate::definition::screen::{Layout, LinkTarget as WrittenWay, WidgetDefinition, WidgetKind as Written};
use crate::definition::{Bindings, Name};
use crate::expression::{Template, compile_template};
use crate::fault::Faults;
use crate::kinds::{ColumnId, Type};
use crate::syntax::source::Source;

pub(super) fn compile(
    plan: &Plan<'_, '_>,
    written: &[WidgetDefinition],
    names: &Names<'_>,
    ids: &mut BTreeSet<Arc<str>>,
    faults: &mut Faults,
) -> Vec<Widget> {
    written.iter().filter_map(|written| widget(plan, written, names, ids, faults)).collect()
}

fn widget(
    plan: &Plan<'_, '_>,
    written: &WidgetDefinition,
    names: &Names<'_>,
    ids: &mut BTreeSet<Arc<str>>,
    faults: &mut Faults,
) -> Option<Widget> {
    let id = take(ids, word(&written.widget));
    let kind = match &written.widget {
        Written::List { .. } => list(plan, &written.widget, &id, names, faults)?,
        Written::Search(view) => WidgetKind::Search(plan.view(view, faults)?),
        Written::Filters(view) => WidgetKind::Filters(plan.view(view, faults)?),
        Written::Pager(view) => WidgetKind::Pager(plan.view(view, faults)?),
        Written::Detail { arg, show } => detail(plan, arg, show.as_deref(), names, faults)?,
        Written::Summary(lines) => WidgetKind::Summary(
            lines
                .iter()
                .filter_map(|(name, source)| Some((words(&name.text).into(), names.check(source, None, faults)?)))
                .collect(),
        ),
        Written::Form { action, fix, then, label } => {
            WidgetKind::Form(form(plan, action, fix, then.as_ref(), label.as_ref(), false, names, faults)?)
        }
        Written::Button { action, fix, then, label, confirm } => {
            WidgetKind::Button(form(plan, action, fix, then.as_ref(), label.as_ref(), *confirm, names, faults)?)
        }
        Written::Goto { way: written, label } => {
            let way = way(plan, written, names, faults)?;
            let label = labelled(label.as_ref(), &written.screen.text, names, faults)?;
            WidgetKind::Goto(Arc::new(Link { way, label }))
        }
        Written::Banner { text, when } => {
            let text = names.template(text, faults);
            let when = match when {
                None => None,
                Some(when) => Some(names.condition(when, faults)?),
            };
            WidgetKind::Banner { text: text?, when }
        }
        Written::Tabs(bodies) | Written::Steps(bodies) => {
            let mut compiled = Vec::new();
            for (name, body) in bodies {
                compiled.push((Arc::clone(&name.text), compile(plan, body, names, ids, faults)));
            }
            if compiled.is_empty() {
                faults.push(written.name.fault("there must be at least one body"));
                return None;
            }
            if matches!(written.widget, Written::Tabs(_)) {
                WidgetKind::Tabs(compiled)
            } else {
                WidgetKind::Steps(compiled)
            }
        }
        Written::Dialog { label, body } => {
            WidgetKind::Dialog { label: Arc::clone(label), body: compile(plan, body, names, ids, faults) }
        }
    };
    Some(Widget { id, kind })
}

/// Name of a widget in ids.
fn word(kind: &Written) -> &str {
    match kind {
        Written::List { .. } => "list",
        Written::Search(_) => "search",
        Written::Filters(_) => "filters",
        Written::Pager(_) => "pager",
        Written::Detail { .. } => "detail",
        Written::Summary(_) => "summary",
        Written::Form { action, .. } | Written::Button { action, .. } => &action.text,
        Written::Goto { way, .. } => &way.screen.text,
        Written::Banner { .. } => "banner",
        Written::Tabs(_) => "tabs",
        Written::Steps(_) => "steps",
        Written::Dialog { .. } => "dialog",
    }
}

/// A name that is not taken.
fn take(ids: &mut BTreeSet<Arc<str>>, word: &str) -> Arc<str> {
    let mut id: Arc<str> = word.into();
    let mut number = 2;
    while !ids.insert(Arc::clone(&id)) {
        id = format!("{word}-{number}").into();
        number += 1;
    }
    id
}

fn list(
    plan: &Plan<'_, '_>,
    written: &Written,
    id: &Arc<str>,
    names: &Names<'_>,
    faults: &mut Faults,
) -> Option<WidgetKind> {
    let Written::List { layout, view: name, args, open, row, by, empty } = written else { return None };
    let place = plan.view(name, faults)?;
    let view = &plan.views[place];
    let args = list_args(plan, name, view, args, names, faults);
    let open = open.as_ref().and_then(|open| {
        let screen = plan.find_screen(open, faults)?;
        if !matches!(plan.args[screen].as_slice(), [(_, kind)] if *kind.present() == Type::Row(view.table)) {
            let table = &plan.compiler.shared.schema.table(view.table).name;
            faults.push(open.fault(format!("the screen `{}` does not take a {table} as its one argument", open.text)));
            return None;
        }
        Some(screen)
    });
    let mut of_row = names.clone();
    of_row.push(&"row".into(), Type::Row(view.table));
    for widget in row {
        if !matches!(widget.widget, Written::Button { .. } | Written::Goto { .. }) {
            faults.push(widget.name.fault("at a row stand buttons and links only"));
        }
    }
    let mut ids = BTreeSet::from([Arc::from(OPEN)]);
    let row = compile(plan, row, &of_row, &mut ids, faults);
    let by = by.as_ref().and_then(|by| plan.compiler.shared.column(view.table, by, faults).map(|column| (by, column)));
    grouped(plan, name, *layout, view, by, faults);
    let empty = match empty {
        None => None,
        Some(empty) => Some(names.template(empty, faults)?),
    };
    Some(WidgetKind::List(Arc::new(List {
        id: Arc::clone(id),
        view: place,
        layout: *layout,
        args,
        open,
        row,
        by: by.map(|(_, column)| column),
        empty,
    })))
}

/// Where each of a view's own parameters comes from; for a view of one row, its id too.
fn list_args(
    plan: &Plan<'_, '_>,
    name: &Name,
    view: &View,
    args: &Bindings,
    names: &Names<'_>,
    faults: &mut Faults,
) -> Vec<Given> {
    for (arg, _) in args.iter().filter(|(arg, _)| !view.parameters.iter().any(|known| known.name == arg.text)) {
        faults.push(
            arg.unknown(&format!("parameter of {}", view.name), view.parameters.iter().map(|known| &*known.name)),
        );
    }
    let mut given = Vec::new();
    for parameter in &view.parameters {
        let written = args.iter().find(|(arg, _)| arg.text == parameter.name);
        given.push(match written {
            Some((_, source)) => match names.assigned(source, &parameter.kind, faults) {
                Some(checked) => Given::Expression(checked),
                None => continue,
            },
            None if plan.generated => Given::Asked,
            None if parameter.required() => {
                faults.push(name.fault(format!("`args` must give the parameter `{}` of the view", parameter.name)));
                continue;
            }
            None => Given::Default,
        });
    }
    if matches!(view.rows, RowSelection::One(_)) {
        if !plan.generated {
            faults.push(name.fault("a list shows a view of many rows; this one shows a single row"));
        }
        given.push(Given::Asked);
    }
    given
}

/// Checks that rows can be grouped as their layout wants.
fn grouped(
    plan: &Plan<'_, '_>,
    name: &Name,
    layout: Layout,
    view: &View,
    by: Option<(&Name, ColumnId)>,
    faults: &mut Faults,
) {
    let table = plan.compiler.shared.schema.table(view.table);
    let kind = by.map(|(by, column)| (by, table.describe(column).kind.present()));
    let (wanted, fits) = match (layout, kind) {
        (Layout::Calendar, Some((_, Type::Date | Type::Instant))) | (Layout::Board, Some(_)) => ("", true),
        (Layout::Tree, Some((_, Type::Row(other)))) => ("a reference to the same table", *other == view.table),
        (Layout::Calendar, _) => ("a date or an instant", false),
        (Layout::Board, None) => ("a column", false),
        (Layout::Tree, _) => ("a reference to the same table", false),
        (Layout::List | Layout::Thread | Layout::Grid, _) => ("", true),
    };
    if !fits {
        faults.push(by.map_or(name, |(by, _)| by).fault(format!("`by` must name {wanted}")));
    }
}

fn detail(
    plan: &Plan<'_, '_>,
    arg: &Name,
    show: Option<&[Name]>,
    names: &Names<'_>,
    faults: &mut Faults,
) -> Option<WidgetKind> {
    let Some(place) = names.locals.iter().position(|(name, _)| *name == arg.text) else {
        faults.push(arg.unknown("argument of the screen", names.locals.iter().map(|(name, _)| &**name)));
        return None;
    };
    let Type::Row(table) = *names.locals[place].1.present() else {
        faults.push(arg.fault(format!("`{}` is no row", arg.text)));
        return None;
    };
    let shared = plan.compiler.shared;
    let shows = match show {
        Some(show) => Details::Columns(show.iter().filter_map(|name| shared.column(table, name, faults)).collect()),
        None if plan.generated => plan.shows(table),
        None => plan.view_of_one(table).map_or_else(
            || {
                let columns = shared.schema.table(table).columns();
                Details::Columns(columns.filter(|(_, column)| !column.secret).map(|(id, _)| id).collect())
            },
            Details::View,
        ),
    };
    Some(WidgetKind::Detail { arg: place, shows })
}

#[expect(clippy::too_many_arguments, reason = "they are the fields of two widgets")]
fn form(
    plan: &Plan<'_, '_>,
    name: &Name,
    fix: &Bindings,
    then: Option<&WrittenWay>,
    label: Option<&Source>,
    confirm: bool,
    names: &Names<'_>,
    faults: &mut Faults,
) -> Option<Arc<Form>> {
    let place = plan.action(name, faults)?;
    let parameters = &plan.actions[place].parameters;
    for (fixed, _) in fix.iter().filter(|(fixed, _)| !parameters.iter().any(|known| known.name == fixed.text)) {
        faults.push(fixed.unknown(&format!("parameter of {}", name.text), parameters.iter().map(|known| &*known.name)));
    }
    let mut values = Vec::new();
    for parameter in parameters {
        let source = fix.iter().find(|(fixed, _)| fixed.text == parameter.name);
        values.push(source.and_then(|(_, source)| names.assigned(source, &parameter.kind, faults)));
    }
    let then = then.and_then(|then| way(plan, then, names, faults));
    let label = labelled(label, &name.text, names, faults)?;
    Some(Arc::new(Form { action: place, fix: values, then, label, confirm }))
}

fn way(plan: &Plan<'_, '_>, written: &WrittenWay, names: &Names<'_>, faults: &mut Faults) -> Option<LinkTarget> {
    let screen = plan.find_screen(&written.screen, faults)?;
    let wanted = &plan.args[screen];
    for (arg, _) in written.args.iter().filter(|(arg, _)| !wanted.iter().any(|(known, _)| *known == arg.text)) {
        faults
            .push(arg.unknown(&format!("argument of {}", written.screen.text), wanted.iter().map(|(name, _)| &**name)));
    }
    let mut args = Vec::new();
    for (name, kind) in wanted {
        let source = written.args.iter().find(|(arg, _)| arg.text == *name);
        args.push(match source {
            Some((_, source)) => Given::Expression(names.assigned(source, kind, faults)?),
            None if plan.generated => Given::Asked,
            None if kind.may_be_null() => Given::Default,
            None => {
                faults.push(written.screen.fault(format!("`args` must give `{name}`")));
                return None;
            }
        });
    }
    Some(LinkTarget { screen, args })
}

/// The template of a label, or the words of a name.
fn labelled(label: Option<&Source>, name: &str, names: &Names<'_>, faults: &mut Faults) -> Option<Template> {
    match label {
        Some(label) => names.template(label, faults),
        None => compile_template(&words(name).replace('$', "$$"), &names.scope()).ok(),
    }
}

/// Reports what belongs to a list that is not there, or that the view does not offer.
pub(super) fn check_companions(
    plan: &Plan<'_, '_>,
    written: &[WidgetDefinition],
    controls: &BTreeMap<usize, Controls>,
    faults: &mut Faults,
) {
    for widget in written {
        let (name, what) = match &widget.widget {
            Written::Search(name) => (name, "search"),
            Written::Filters(name) => (name, "filters"),
            Written::Pager(name) => (name, "pager"),
            Written::Tabs(bodies) | Written::Steps(bodies) => {
                bodies.iter().for_each(|(_, body)| check_companions(plan, body, controls, faults));
                continue;
            }
            Written::Dialog { body, .. } => {
                check_companions(plan, body, controls, faults);
                continue;
            }
            _ => continue,
        };
        let Some(place) = plan.views.iter().position(|view| view.name == name.text) else { continue };
        let view = &plan.views[place];
        if !controls.contains_key(&place) {
            faults.push(name.fault(format!("`{what}` belongs to a list of `{}` on the same screen", name.text)));
        } else if what == "search" && view.search.is_empty() {
            faults.push(name.fault(format!("the view `{}` has nothing to `search`", name.text)));
        } else if what == "filters" && view.filter.is_empty() {
            faults.push(name.fault(format!("the view `{}` has nothing to `filter`", name.text)));
        }
    }
}

//! Compiler of the `screens` section, with everything looked up and checked.

mod generate;
mod plan;
mod reach;
mod view_inputs;
mod widgets;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Compiler, kinds};
use crate::app::screen::{Controls, Screen, Widget, WidgetKind, words};
use crate::app::{Action, Embed, Role, Screens, ShownFields, View};
use crate::definition::screen::ScreenDefinition;
use crate::fault::Faults;
use crate::kinds::{ColumnId, TableId, Type};
use plan::Plan;

impl Compiler<'_> {
    /// The screens of an app, from its definition or from its actions and views.
    pub(super) fn screens(&self, actions: &[Action], views: &[View], faults: &mut Faults) -> Option<Screens> {
        let generated = self.definition.screens.is_none();
        let made;
        let definitions = match &self.definition.screens {
            Some(definitions) => definitions,
            None => {
                made = generate::screens(self, actions, views);
                &made
            }
        };
        if definitions.is_empty() {
            faults.push(self.definition.name.fault("there must be a screen, or no section `screens`"));
            return None;
        }
        let args = definitions.iter().map(|(_, screen)| self.screen_args(screen, faults)).collect();
        let plan = Plan { compiler: self, actions, views, definitions, args, generated };
        if let Some((home, _)) = definitions.first().filter(|_| !plan.args[0].is_empty()) {
            faults.push(home.fault("the first screen is home, which takes no arguments"));
        }
        let screens: Vec<Screen> = (0..definitions.len()).filter_map(|place| plan.screen(place, faults)).collect();
        if screens.len() != definitions.len() {
            return None;
        }
        reach::check(&plan, &screens, faults);
        let labels = self.shared.schema.ids().map(|(table, _)| self.label(table, views)).collect();
        Some(Screens { screens, labels })
    }

    fn screen_args(&self, screen: &ScreenDefinition, faults: &mut Faults) -> Vec<(Arc<str>, Type)> {
        let find = kinds::known(self.shared);
        screen
            .args
            .iter()
            .filter_map(|(name, kind)| Some((Arc::clone(&name.text), kinds::kind(kind, &find, faults)?)))
            .collect()
    }

    /// The column by whose text people know a row: one that the agent's views show, best a unique one.
    fn label(&self, table: TableId, views: &[View]) -> Option<ColumnId> {
        const USUAL: [&str; 4] = ["name", "title", "subject", "label"];
        let mut shown = BTreeSet::new();
        for view in views.iter().filter(|view| view.who.contains(&Role::AGENT)) {
            collect(self, view.table, &view.shown, table, &mut shown);
        }
        let described = self.shared.schema.table(table);
        let texts = || {
            described.columns().filter(|(id, column)| {
                shown.contains(id) && !column.secret && matches!(column.kind.present(), Type::Text)
            })
        };
        texts()
            .find(|(_, column)| column.unique)
            .or_else(|| texts().find(|(_, column)| USUAL.contains(&&*column.name)))
            .or_else(|| texts().next())
            .map(|(id, _)| id)
    }
}

/// Columns of a table that a view shows of it, at whatever depth.
fn collect(
    compiler: &Compiler<'_>,
    of: TableId,
    shown: &ShownFields,
    table: TableId,
    columns: &mut BTreeSet<ColumnId>,
) {
    if of == table {
        columns.extend(&shown.columns);
    }
    for (_, embed) in &shown.embed {
        match embed {
            Embed::Referred { column, shown } => {
                let kind = &compiler.shared.schema.table(of).describe(*column).kind;
                if *kind.present() == Type::Row(table) {
                    columns.extend(shown);
                }
            }
            Embed::Children { table: child, shown, .. } => collect(compiler, *child, shown, table, columns),
        }
    }
}

impl Plan<'_, '_> {
    fn screen(&self, place: usize, faults: &mut Faults) -> Option<Screen> {
        let (name, written) = &self.definitions[place];
        let names = self.names(place);
        let title = names.template(&written.title, faults);
        let mut ids = BTreeSet::new();
        let body = widgets::compile(self, &written.body, &names, &mut ids, faults);
        let mut controls = BTreeMap::new();
        lists(&body, &mut controls);
        attach(&body, &mut controls);
        widgets::check_companions(self, &written.body, &controls, faults);
        let label = if written.title.text.contains('$') { words(&name.text) } else { written.title.text.to_string() };
        Some(Screen {
            name: Arc::clone(&name.text),
            title: title?,
            label: label.into(),
            args: self.args[place].clone(),
            view_inputs: view_inputs::of(self, &name.text, &body, &controls),
            body,
            controls,
        })
    }
}

/// The first list of each view.
fn lists(body: &[Widget], controls: &mut BTreeMap<usize, Controls>) {
    for widget in body {
        if let WidgetKind::List(list) = &widget.kind {
            controls.entry(list.view).or_insert_with(|| Controls {
                list: Arc::clone(list),
                search: None,
                filters: None,
                pager: None,
            });
        }
        widget.bodies().into_iter().for_each(|body| lists(body, controls));
    }
}

/// Attaches controls to the lists.
fn attach(body: &[Widget], controls: &mut BTreeMap<usize, Controls>) {
    for widget in body {
        match &widget.kind {
            WidgetKind::Search(view) => {
                if let Some(controls) = controls.get_mut(view) {
                    controls.search = Some(Arc::clone(&widget.id));
                }
            }
            WidgetKind::Filters(view) => {
                if let Some(controls) = controls.get_mut(view) {
                    controls.filters = Some(Arc::clone(&widget.id));
                }
            }
            WidgetKind::Pager(view) => {
                if let Some(controls) = controls.get_mut(view) {
                    controls.pager = Some(Arc::clone(&widget.id));
                }
            }
            _ => widget.bodies().into_iter().for_each(|body| attach(body, controls)),
        }
    }
}

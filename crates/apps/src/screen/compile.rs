//! From the `screens` section to screens, with everything looked up and checked.

mod reach;
mod widgets;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::generate;
use crate::app::screen::{Controls, Screen, Widget, WidgetKind, words};
use crate::app::{Action, Embed, Role, Screens, Shown, View};
use crate::compile::names::Names;
use crate::compile::{Compiler, kinds};
use crate::definition::screen::ScreenDefinition;
use crate::definition::{Entries, Name};
use crate::expression::Roots;
use crate::fault::Faults;
use crate::kinds::{ColumnId, TableId, Type};

/// What compiling the screens knows.
pub(super) struct Plan<'c, 'd> {
    pub(super) compiler: &'c Compiler<'d>,
    pub(super) actions: &'c [Action],
    pub(super) views: &'c [View],
    pub(super) definitions: &'c Entries<ScreenDefinition>,
    /// By screen: what it is about.
    pub(super) args: Vec<Vec<(Arc<str>, Type)>>,
    /// Whether the engine made the screens: then what the screens do not say is asked for.
    pub(super) generated: bool,
}

impl Compiler<'_> {
    /// The screens of an app, from its definition or from its actions and views.
    pub(crate) fn screens(&self, actions: &[Action], views: &[View], faults: &mut Faults) -> Option<Screens> {
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
        let labels = self.ground.schema.ids().map(|(table, _)| self.label(table, views)).collect();
        Some(Screens { screens, labels })
    }

    fn screen_args(&self, screen: &ScreenDefinition, faults: &mut Faults) -> Vec<(Arc<str>, Type)> {
        let find = kinds::known(self.ground);
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
        let described = self.ground.schema.table(table);
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
fn collect(compiler: &Compiler<'_>, of: TableId, shown: &Shown, table: TableId, columns: &mut BTreeSet<ColumnId>) {
    if of == table {
        columns.extend(&shown.columns);
    }
    for (_, embed) in &shown.embed {
        match embed {
            Embed::Referred { column, shown } => {
                let kind = &compiler.ground.schema.table(of).describe(*column).kind;
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
            body,
            controls,
        })
    }

    /// What the expressions of a screen may name.
    fn names(&self, place: usize) -> Names<'_> {
        let mut names = Names::new(self.compiler.ground, &self.compiler.of_actions, Roots::default());
        for (name, kind) in &self.args[place] {
            names.push(name, kind.clone());
        }
        names
    }

    /// The view of a name, if the agent may read it.
    fn view(&self, name: &Name, faults: &mut Faults) -> Option<usize> {
        let place = self.views.iter().position(|view| view.name == name.text);
        let known = &self.compiler.definition.views;
        match place {
            // A view that did not compile has its own faults.
            None if known.iter().any(|(known, _)| known.text == name.text) => {}
            None => faults.push(name.unknown("view", known.iter().map(|(name, _)| &*name.text))),
            Some(place) if !self.views[place].who.contains(&Role::AGENT) => {
                faults.push(name.fault(format!("the agent may not read the view `{}`", name.text)));
            }
            Some(_) => {}
        }
        place
    }

    /// The action of a name, if the agent may call it.
    fn action(&self, name: &Name, faults: &mut Faults) -> Option<usize> {
        let Some(place) = self.actions.iter().position(|action| action.name == name.text) else {
            faults.push(name.unknown("action", self.actions.iter().map(|action| &*action.name)));
            return None;
        };
        if !self.actions[place].who.contains(&Role::AGENT) {
            faults.push(name.fault(format!("the agent may not call the action `{}`", name.text)));
            return None;
        }
        Some(place)
    }

    /// The screen of a name.
    fn find_screen(&self, name: &Name, faults: &mut Faults) -> Option<usize> {
        let place = self.definitions.iter().position(|(known, _)| known.text == name.text);
        if place.is_none() {
            faults.push(name.unknown("screen", self.definitions.iter().map(|(name, _)| &*name.text)));
        }
        place
    }
}

/// Widgets within a widget that stand in the same scope.
pub(super) fn inner(widget: &Widget) -> Vec<&[Widget]> {
    match &widget.kind {
        WidgetKind::Tabs(bodies) | WidgetKind::Steps(bodies) => bodies.iter().map(|(_, body)| &**body).collect(),
        WidgetKind::Dialog { body, .. } => vec![body],
        _ => Vec::new(),
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
        inner(widget).into_iter().for_each(|body| lists(body, controls));
    }
}

/// What belongs to the lists.
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
            _ => inner(widget).into_iter().for_each(|body| attach(body, controls)),
        }
    }
}

//! Screens for an app that has none of its own: home, one for each list view, one for each table that is shown, and one for
//! each action and view that found no place there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::plan::Plan;
use crate::app::screen::{Details, words};
use crate::app::{Action, Role, RowSelection, View};
use crate::compile::Compiler;
use crate::definition::kind::{Kind, KindDefinition};
use crate::definition::screen::{Layout, LinkTarget, ScreenDefinition, WidgetDefinition, WidgetKind};
use crate::definition::{Entries, Name};
use crate::kinds::{TableId, Type};
use crate::syntax::source::Source;

impl Plan<'_, '_> {
    /// Details shown of a row on the screen of its table.
    pub(super) fn shows(&self, table: TableId) -> Details {
        let of_table = || agents(self.views).filter(|(_, view)| view.table == table);
        let plain = of_table().filter(|(_, view)| view.parameters.is_empty());
        let best = plain.min_by_key(|(_, view)| matches!(view.rows, RowSelection::Many(_)));
        match best.or_else(|| of_table().next()) {
            Some((place, view)) if view.parameters.is_empty() => Details::View(place),
            Some((_, view)) => Details::Columns(view.shown.columns.clone()),
            None => Details::Columns(Vec::new()),
        }
    }

    /// The view that shows one row of a table and asks for nothing but its id.
    pub(super) fn view_of_one(&self, table: TableId) -> Option<usize> {
        let mut ones = agents(self.views).filter(|(_, view)| matches!(view.rows, RowSelection::One(_)));
        ones.find(|(_, view)| view.table == table && view.parameters.is_empty()).map(|(place, _)| place)
    }
}

/// Views that the agent may read, with their places.
fn agents(views: &[View]) -> impl Iterator<Item = (usize, &View)> {
    views.iter().enumerate().filter(|(_, view)| view.who.contains(&Role::AGENT))
}

/// Writes down the screens as a definition would.
pub(super) fn screens(compiler: &Compiler<'_>, actions: &[Action], views: &[View]) -> Entries<ScreenDefinition> {
    let mut writer = Writer { compiler, taken: BTreeSet::new(), screens: Vec::new() };
    let about = writer.template(&compiler.definition.about);
    let home = writer.name("home", "home");
    let title = words(&compiler.definition.name.text);
    writer.add(home, &title, Vec::new(), vec![WidgetKind::Banner { text: about, when: None }]);

    let tables: BTreeSet<TableId> = agents(views).map(|(_, view)| view.table).collect();
    let lists: Vec<(&View, Name)> = agents(views)
        .filter(|(_, view)| matches!(view.rows, RowSelection::Many(_)))
        .map(|(_, view)| (view, writer.name(&view.name, "list")))
        .collect();
    let details: BTreeMap<TableId, Name> =
        tables.iter().map(|table| (*table, writer.name(&writer.table(*table), "detail"))).collect();
    for (view, name) in &lists {
        let mut body = Vec::new();
        if !view.search.is_empty() {
            body.push(WidgetKind::Search(writer.same(&view.name)));
        }
        if !view.filter.is_empty() {
            body.push(WidgetKind::Filters(writer.same(&view.name)));
        }
        body.push(writer.list(view, details.get(&view.table)));
        writer.add(name.clone(), &words(&view.name), Vec::new(), body);
    }
    let mut offered = BTreeSet::new();
    for (table, name) in &details {
        writer.detail(*table, name, actions, &mut offered);
        // Where no list shows every row, one is found by its id.
        if !lists.iter().any(|(view, _)| view.table == *table && writer.shows_all(view)) {
            let find = writer.name(&format!("find_{}", writer.table(*table)), "screen");
            let title = format!("Find {}", writer.table(*table).replace('_', " "));
            writer.add(find, &title, Vec::new(), vec![writer.ask(name)]);
        }
    }
    for (_, view) in agents(views).filter(|(_, view)| matches!(view.rows, RowSelection::One(_))) {
        // The first view of one row without parameters is what the screen of its table shows.
        let first = agents(views).map(|(_, view)| view).find(|other| {
            other.table == view.table && matches!(other.rows, RowSelection::One(_)) && other.parameters.is_empty()
        });
        if first.is_none_or(|first| first.name != view.name) {
            let name = writer.name(&view.name, "view");
            let list = writer.list(view, details.get(&view.table));
            writer.add(name, &words(&view.name), Vec::new(), vec![list]);
        }
    }
    for action in actions.iter().filter(|action| action.who.contains(&Role::AGENT)) {
        if !offered.contains(&action.name) {
            let name = writer.name(&action.name, "form");
            let form = WidgetKind::Form { action: writer.same(&action.name), fix: Vec::new(), then: None, label: None };
            writer.add(name, &words(&action.name), Vec::new(), vec![form]);
        }
    }
    writer.screens
}

struct Writer<'c, 'd> {
    compiler: &'c Compiler<'d>,
    taken: BTreeSet<Arc<str>>,
    screens: Entries<ScreenDefinition>,
}

impl Writer<'_, '_> {
    /// A name that no screen has yet.
    fn name(&mut self, wanted: &str, otherwise: &str) -> Name {
        let mut text: Arc<str> = wanted.into();
        let mut number = 1;
        while !self.taken.insert(Arc::clone(&text)) {
            text = if number == 1 { format!("{wanted}_{otherwise}") } else { format!("{wanted}_{number}") }.into();
            number += 1;
        }
        self.same(&text)
    }

    fn same(&self, text: &Arc<str>) -> Name {
        let position = self.compiler.definition.name.position.clone();
        Name { text: Arc::clone(text), position, path: "screens".into() }
    }

    fn source(&self, text: impl Into<Arc<str>>) -> Source {
        Source::new(text, self.compiler.definition.name.position.clone(), "screens")
    }

    fn template(&self, text: &str) -> Source {
        self.source(text.replace('$', "$$"))
    }

    fn table(&self, table: TableId) -> Arc<str> {
        Arc::clone(&self.compiler.shared.schema.table(table).name)
    }

    fn shows_all(&self, view: &View) -> bool {
        let mut written = self.compiler.definition.views.iter();
        written.any(|(name, written)| name.text == view.name && written.condition.is_none())
    }

    fn add(&mut self, name: Name, title: &str, args: Entries<KindDefinition>, body: Vec<WidgetKind>) {
        let widgets = body.into_iter().map(|widget| WidgetDefinition { name: name.clone(), widget }).collect();
        let title = self.source(title);
        self.screens.push((name, ScreenDefinition { title, args, body: widgets }));
    }

    fn list(&self, view: &View, open: Option<&Name>) -> WidgetKind {
        WidgetKind::List {
            layout: Layout::List,
            view: self.same(&view.name),
            args: Vec::new(),
            open: open.cloned(),
            row: Vec::new(),
            by: None,
            empty: None,
        }
    }

    /// The screen of a row: what it is, and a button for each action that takes one row of its table.
    fn detail(&mut self, table: TableId, name: &Name, actions: &[Action], offered: &mut BTreeSet<Arc<str>>) {
        let arg = self.same(&self.table(table));
        let kind = KindDefinition { name: arg.clone(), opt: false, kind: Kind::Ref(arg.clone()), bounds: None };
        let mut body = vec![WidgetKind::Detail { arg: arg.clone(), show: None }];
        for action in actions.iter().filter(|action| action.who.contains(&Role::AGENT)) {
            let rows: Vec<_> =
                action.parameters.iter().filter(|param| *param.kind.present() == Type::Row(table)).collect();
            let [parameter] = rows.as_slice() else { continue };
            if !parameter.required() {
                continue;
            }
            offered.insert(Arc::clone(&action.name));
            body.push(WidgetKind::Button {
                action: self.same(&action.name),
                fix: vec![(self.same(&parameter.name), self.source(Arc::clone(&arg.text)))],
                then: None,
                label: None,
                confirm: false,
            });
        }
        let title = format!("{} ${{{}.id}}", words(&arg.text), arg.text);
        self.add(name.clone(), &title, vec![(arg, kind)], body);
    }

    /// Asks for a row by its id.
    fn ask(&self, screen: &Name) -> WidgetKind {
        WidgetKind::Goto {
            way: LinkTarget { screen: screen.clone(), args: Vec::new() },
            label: Some(self.source("Open")),
        }
    }
}

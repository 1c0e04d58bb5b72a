//! The inputs of a screen that stand in its address, with a word for each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::plan::Plan;
use crate::app::screen::{Controls, Given, List, ViewInput, ViewInputKind, Widget, WidgetKind};
use crate::app::{RowSelection, View};
use crate::kinds::Type;

/// The view inputs of a screen, in the order of its widgets.
pub(super) fn of(
    plan: &Plan<'_, '_>,
    screen: &str,
    body: &[Widget],
    controls: &BTreeMap<usize, Controls>,
) -> Vec<ViewInput> {
    let mut writer = Writer { plan, screen, controls, taken: BTreeSet::new(), inputs: Vec::new() };
    writer.body(body);
    writer.inputs
}

struct Writer<'a, 'c, 'd> {
    plan: &'a Plan<'c, 'd>,
    screen: &'a str,
    controls: &'a BTreeMap<usize, Controls>,
    taken: BTreeSet<Arc<str>>,
    inputs: Vec<ViewInput>,
}

impl Writer<'_, '_, '_> {
    fn body(&mut self, body: &[Widget]) {
        for widget in body {
            match &widget.kind {
                WidgetKind::Tabs(bodies) => self.tabs("tab", &widget.id, bodies),
                WidgetKind::Steps(bodies) => self.tabs("step", &widget.id, bodies),
                WidgetKind::Search(_) => self.add(&widget.id, "q", "text", ViewInputKind::Search),
                WidgetKind::Filters(view) => self.filters(&widget.id, &self.plan.views[*view]),
                WidgetKind::List(list) => self.list(list),
                _ => {}
            }
            widget.bodies().into_iter().for_each(|body| self.body(body));
        }
    }

    fn tabs(&mut self, word: &str, id: &Arc<str>, bodies: &[(Arc<str>, Vec<Widget>)]) {
        let names = bodies.iter().map(|(name, _)| Arc::clone(name)).collect();
        self.add(id, word, "", ViewInputKind::Tab(names));
    }

    fn filters(&mut self, id: &Arc<str>, view: &View) {
        for column in &view.filter {
            let name = Arc::clone(&self.plan.compiler.shared.schema.table(view.table).describe(*column).name);
            self.add(id, &name, &name, ViewInputKind::Filter(view.table, *column));
        }
    }

    fn list(&mut self, list: &List) {
        let plan = self.plan;
        let view = &plan.views[list.view];
        let parameters = view.all_parameters(&plan.compiler.shared.schema);
        for (parameter, given) in parameters.iter().zip(&list.args) {
            let plain = !matches!(parameter.kind.present(), Type::Record(_) | Type::List(_));
            if matches!(given, Given::Asked) && plain {
                let kind = ViewInputKind::Asked(parameter.kind.clone());
                self.add(&list.id, &parameter.name, &format!("ask-{}", parameter.name), kind);
            }
        }
        let table = plan.compiler.shared.schema.table(view.table);
        let mut orders: Vec<Arc<str>> = Vec::new();
        for (column, descending) in &view.sort {
            let up = Arc::clone(&table.describe(*column).name);
            let down: Arc<str> = format!("-{up}").into();
            // The first of all is how the list is sorted where nobody says anything.
            orders.extend(if *descending { [down, up] } else { [up, down] });
        }
        if !orders.is_empty() {
            self.add(&list.id, "sort", "sort-by", ViewInputKind::Sort(orders));
        }
        // Pages of a second list of the same view belong to that list.
        if matches!(view.rows, RowSelection::Many(_)) && self.controls.contains_key(&list.view) {
            self.add(&list.id, "page", "page", ViewInputKind::Page);
        }
    }

    /// Adds an input; where its word is taken, the widget's name stands before it.
    fn add(&mut self, widget: &str, word: &str, part: &str, kind: ViewInputKind) {
        let mut word: Arc<str> = word.into();
        if !self.taken.insert(Arc::clone(&word)) {
            word = format!("{widget}.{word}").into();
            self.taken.insert(Arc::clone(&word));
        }
        let screen = self.screen;
        let key = if part.is_empty() { format!("{screen}/{widget}") } else { format!("{screen}/{widget}/{part}") };
        self.inputs.push(ViewInput { word, key: key.into(), kind });
    }
}

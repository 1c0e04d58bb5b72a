//! Check that everything can be reached from home.

use std::collections::BTreeSet;

use super::plan::Plan;
use crate::app::Role;
use crate::app::screen::{Form, Screen, Widget, WidgetKind};
use crate::fault::Faults;

/// Reports screens that no link reaches, and actions of the agent that no screen offers.
pub(super) fn check(plan: &Plan<'_, '_>, screens: &[Screen], faults: &mut Faults) {
    let mut reached = BTreeSet::new();
    let mut offered = BTreeSet::new();
    // Screens without arguments are in the navigation.
    let mut open: Vec<usize> = (0..screens.len()).filter(|place| screens[*place].args.is_empty()).collect();
    while let Some(place) = open.pop() {
        if reached.insert(place) {
            visit(&screens[place].body, &mut open, &mut offered);
        }
    }
    for (place, (name, _)) in plan.definitions.iter().enumerate() {
        if !reached.contains(&place) {
            faults.push(name.fault(format!("no link leads from home to the screen `{}`", name.text)));
        }
    }
    for (place, action) in plan.actions.iter().enumerate() {
        if !action.who.contains(&Role::AGENT) || offered.contains(&place) {
            continue;
        }
        if let Some((name, _)) = plan.compiler.definition.actions.iter().find(|(name, _)| name.text == action.name) {
            faults.push(name.fault(format!("no screen offers the action `{}`", action.name)));
        }
    }
}

fn visit(body: &[Widget], open: &mut Vec<usize>, offered: &mut BTreeSet<usize>) {
    for widget in body {
        let mut form = |form: &Form| {
            offered.insert(form.action);
            open.extend(form.then.as_ref().map(|way| way.screen));
        };
        match &widget.kind {
            WidgetKind::Form(of) | WidgetKind::Button(of) => form(of),
            WidgetKind::Goto(link) => open.push(link.way.screen),
            WidgetKind::List(list) => {
                open.extend(list.open);
                visit(&list.row, open, offered);
            }
            _ => widget.bodies().into_iter().for_each(|body| visit(body, open, offered)),
        }
    }
}

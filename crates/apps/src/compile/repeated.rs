//! Names that may stand once in their list.

use std::collections::BTreeSet;

use crate::definition::view::{EmbedDefinition, ShownFields};
use crate::definition::{Definition, Name};
use crate::fault::Faults;

/// Reports whatever stands twice where names tell things apart or say which.
pub(super) fn check(definition: &Definition, faults: &mut Faults) {
    once("rule", definition.rules.iter().map(|rule| &rule.id), faults);
    once("event", definition.world.iter().map(|event| &event.name), faults);
    for rule in &definition.rules {
        once("action", &rule.applies, faults);
    }
    for permission in &definition.permissions {
        once("role", &permission.roles, faults);
        once("column", &permission.hide, faults);
    }
    for (_, action) in &definition.actions {
        once("role", &action.who, faults);
    }
    for (_, view) in &definition.views {
        once("role", &view.who, faults);
        once("column", &view.search, faults);
        once("column", &view.filter, faults);
        for down in [false, true] {
            let sort = view.sort.iter().filter(|sort| sort.descending == down);
            once("column", sort.map(|sort| &sort.column), faults);
        }
        shown(&view.shown, faults);
    }
    for (_, task) in &definition.tasks {
        once("event", definition.world.iter().chain(&task.world).map(|event| &event.name), faults);
        let watches = task.milestones.iter().map(|milestone| &milestone.name);
        once("milestone or minefield", watches.chain(task.minefields.iter().map(|field| &field.name)), faults);
        for (_, param) in &task.params {
            once("column", &param.refer, faults);
        }
    }
}

fn shown(shown: &ShownFields, faults: &mut Faults) {
    once("column", shown.columns.iter().flatten(), faults);
    for (_, embed) in &shown.embed {
        match embed {
            EmbedDefinition::Referred(columns) => once("column", columns, faults),
            EmbedDefinition::Children { shown: inner, .. } => self::shown(inner, faults),
        }
    }
}

fn once<'d>(noun: &str, names: impl IntoIterator<Item = &'d Name>, faults: &mut Faults) {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(&*name.text) {
            faults.push(name.fault(format!("the {noun} `{}` stands here twice", name.text)));
        }
    }
}

//! Templates that tell the same: a task of one is taken for a task of another. Where text and beginning are the same, what solves
//! one has to solve the other.

use std::sync::Arc;

use super::policies;
use crate::draw::accept;
use crate::expression::DEFAULT_BUDGET;
use crate::task::draw_key::{DrawKey, Order, begin};
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::parameter::Drawing;
use crate::value::Value;

/// The place of a template of which there is a task that is told as this one, begins as this one and is solved otherwise.
pub(super) fn twin(draw_key: DrawKey<'_>, instance: &Arc<Instance>) -> Option<usize> {
    let others = (0..draw_key.app.templates.len()).filter(|place| *place != draw_key.template);
    others.into_iter().find(|place| parts(draw_key, instance, *place).unwrap_or(false))
}

fn parts(draw_key: DrawKey<'_>, instance: &Arc<Instance>, template: usize) -> Option<bool> {
    let twin = DrawKey { template, ..draw_key };
    let values = taken_over(draw_key, twin, instance)?;
    let told = fold(&instance.text);
    let alike = twin.template().text.iter().any(|wording| {
        let (mut draws, mut budget) = (twin.draws("text"), DEFAULT_BUDGET);
        let text = wording.render(&mut draw_key.app.frame(&instance.data, &values, &mut draws, &mut budget));
        text.is_ok_and(|text| fold(&text) == told)
    });
    if !alike {
        return None;
    }
    let other = Arc::new(twin.prepare_from(draw_key.base().ok()?, values, Order::Created).ok()?);
    let agenda = |instance| Episode::begin(instance, 0).ok().map(|episode| episode.world().agenda());
    let same = instance.data.document().same(&other.data.document()) && agenda(instance)? == agenda(&other)?;
    if !same || policies::replays(&other, instance.solution()) {
        return None;
    }
    let (other, held) = begin(other).ok()?;
    Some(accept(other, held, draw_key.rule).is_ok())
}

/// The parameters of another template with the values of a task: those of the same name first, then those of the same type.
fn taken_over(draw_key: DrawKey<'_>, twin: DrawKey<'_>, instance: &Instance) -> Option<Vec<Value>> {
    let data = draw_key.base().ok()?;
    let mut left: Vec<_> = draw_key.template().params.iter().zip(&instance.values).collect();
    let mut values: Vec<Value> = Vec::new();
    for param in &twin.template().params {
        let mut draws = twin.draws(&format!("param {}", param.name));
        let mut drawing = Drawing { app: draw_key.app, data, values: &values, draws: &mut draws };
        left.sort_by_key(|(known, _)| known.name != param.name);
        let fits = |(_, value): &(_, &Value)| drawing.allows(param, value).unwrap_or(false);
        let place = left.iter().position(fits);
        let value = match place {
            Some(place) => left.remove(place).1.clone(),
            None => drawing.value(param).ok()?,
        };
        values.push(value);
    }
    Some(values)
}

/// A text without what nobody reads a difference from.
fn fold(text: &str) -> String {
    let letters = |letter: char| if letter.is_alphanumeric() { letter } else { ' ' };
    let text: String = text.to_lowercase().chars().map(letters).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

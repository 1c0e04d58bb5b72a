//! Types with bounds and defaults.

use std::sync::Arc;

use super::names::{Names, SharedScope};
use crate::amount;
use crate::app::{Bounds, Parameter};
use crate::definition::action::ParameterDefinition;
use crate::definition::kind::{Kind, KindDefinition};
use crate::definition::table::DefaultDefinition;
use crate::definition::{Entries, Name};
use crate::expression::{Checked, Roots};
use crate::fault::Faults;
use crate::kinds::{TableId, Type};
use crate::limits::LIST_ENTRIES_MAX;

/// The type that is meant; `find` knows the tables.
pub(crate) fn kind(
    definition: &KindDefinition,
    find: &dyn Fn(&Name, &mut Faults) -> Option<TableId>,
    faults: &mut Faults,
) -> Option<Type> {
    let plain = match &definition.kind {
        Kind::Bool => Type::Bool,
        Kind::Int => Type::Int,
        Kind::Text => Type::Text,
        Kind::Date => Type::Date,
        Kind::Instant => Type::Instant,
        Kind::Duration => Type::Duration,
        Kind::Money(currency) => Type::Money(Arc::clone(currency)),
        Kind::Decimal(scale) => Type::Decimal(*scale),
        Kind::Enum(words) => Type::Enum(words.as_slice().into()),
        Kind::Ref(table) => Type::Row(find(table, faults)?),
        Kind::List(element) => Type::List(Box::new(kind(element, find, faults)?)),
        Kind::Record(fields) => {
            let fields: Option<Vec<_>> =
                fields.iter().map(|(name, field)| Some((Arc::clone(&name.text), kind(field, find, faults)?))).collect();
            Type::Record(fields?.into())
        }
    };
    Some(if definition.opt { plain.or_null() } else { plain })
}

/// The tables of a finished schema.
pub(crate) fn known(shared: &SharedScope) -> impl Fn(&Name, &mut Faults) -> Option<TableId> + '_ {
    |name, faults| shared.table(name, faults)
}

/// Parameters of an action or view.
pub(crate) fn parameters(
    definitions: &Entries<ParameterDefinition>,
    shared: &SharedScope,
    faults: &mut Faults,
) -> Vec<Parameter> {
    definitions
        .iter()
        .filter_map(|(name, definition)| {
            let mut parameter = parameter(&name.text, &definition.kind, shared, faults)?;
            if let Some(default) = &definition.default {
                parameter.default = default_value(default, &parameter.kind, shared, faults);
            }
            Some(parameter)
        })
        .collect()
}

fn parameter(
    name: &Arc<str>,
    definition: &KindDefinition,
    shared: &SharedScope,
    faults: &mut Faults,
) -> Option<Parameter> {
    let kind = kind(definition, &known(shared), faults)?;
    let bounds = bounds(definition, &kind, faults).unwrap_or_default();
    let inner = match &definition.kind {
        Kind::List(element) => vec![parameter(name, element, shared, faults)?],
        Kind::Record(fields) => fields
            .iter()
            .map(|(name, field)| parameter(&name.text, field, shared, faults))
            .collect::<Option<Vec<_>>>()?,
        _ => Vec::new(),
    };
    Some(Parameter { name: Arc::clone(name), kind, bounds, inner, default: None })
}

/// Bounds of a value: lengths for text and lists, the value itself for what is counted.
fn bounds(definition: &KindDefinition, kind: &Type, faults: &mut Faults) -> Option<Bounds> {
    let widest = matches!(kind.present(), Type::List(_)).then_some(LIST_ENTRIES_MAX);
    let Some((least, most)) = &definition.bounds else { return Some(Bounds { least: None, most: widest }) };
    let read = |text: &str| match kind.present() {
        Type::Int => text.parse().ok(),
        Type::Text | Type::List(_) => text.parse().ok().filter(|length: &i64| *length >= 0),
        Type::Money(currency) => amount::parse(text, amount::minor_digits(currency)).ok(),
        Type::Decimal(scale) => amount::parse(text, *scale).ok(),
        _ => None,
    };
    let mut end = |text: &Option<Arc<str>>| match text {
        None => Some(None),
        Some(text) => {
            let value = read(text);
            if value.is_none() {
                faults.push(definition.name.fault(format!("`{text}` is no bound of this type")));
            }
            value.map(Some)
        }
    };
    let (least, most) = (end(least), end(most));
    let bounds = Bounds { least: least?, most: most?.or(widest) };
    if widest.is_some_and(|widest| bounds.most > Some(widest)) {
        faults.push(definition.name.fault(format!("a list has at most {LIST_ENTRIES_MAX} entries")));
        return None;
    }
    if bounds.least.zip(bounds.most).is_some_and(|(least, most)| least > most) {
        faults.push(definition.name.fault("the lower bound is above the upper one"));
        return None;
    }
    Some(bounds)
}

/// A default as an expression: bare words stand for words of an enum.
pub(crate) fn default_value(
    default: &DefaultDefinition,
    kind: &Type,
    shared: &SharedScope,
    faults: &mut Faults,
) -> Option<Checked> {
    let text = match (&*default.text, kind.present()) {
        ("today", _) => "today()".to_owned(),
        (word, Type::Enum(words)) if words.iter().any(|known| **known == *word) => format!("'{word}'"),
        (other, _) => other.to_owned(),
    };
    let names = Names::new(shared, &[], Roots::default());
    match names.check_text(&text, Some(kind)) {
        Ok(checked) => Some(checked),
        Err(wrongs) => {
            let messages: Vec<String> = wrongs.into_iter().map(|wrong| wrong.message).collect();
            let message = format!("the default `{}` does not fit, correct it: {}", default.text, messages.join("; "));
            faults.push(default.source.fault(0, message));
            None
        }
    }
}

//! Parameters of tasks: from what they are drawn, and their types.

use std::sync::Arc;

use crate::amount;
use crate::app::task::{Draw, Param};
use crate::calendar::{parse_date, parse_duration};
use crate::compile::Compiler;
use crate::compile::kinds::{kind, known};
use crate::compile::names::Names;
use crate::definition::Name;
use crate::definition::draw::Draw as Drawn;
use crate::definition::draw::DrawDefinition;
use crate::expression::Checked;
use crate::fault::Faults;
use crate::kinds::Type;
use crate::syntax::source::Source;
use crate::value::Value;

/// A parameter, drawn in a scope that holds those before it.
pub(super) fn param(
    compiler: &Compiler<'_>,
    name: &Name,
    written: &DrawDefinition,
    names: &Names<'_>,
    faults: &mut Faults,
) -> Option<Param> {
    let (draw, kind) = match &written.draw {
        Drawn::Choice { values, kind: None } => {
            let kind = choice_kind(compiler, values);
            (choice(values, &kind, faults)?, kind)
        }
        Drawn::Choice { values, kind: Some(definition) } => {
            let kind = kind(definition, &known(compiler.shared), faults)?;
            (choice(values, &kind, faults)?, kind)
        }
        Drawn::Int { low, high, step } => (Draw::Range(*low, *high, *step), Type::Int),
        Drawn::Money { low, high, step, currency } => {
            let digits = amount::minor_digits(currency);
            let read = |text: &str| amount::parse(text, digits).ok();
            let step = step.as_ref().map_or(Some(1), |step| read(step));
            match (read(low), read(high), step) {
                (Some(low), Some(high), Some(step)) if low <= high && step > 0 && is_currency(currency) => {
                    (Draw::Range(low, high, step), Type::Money(Arc::clone(currency)))
                }
                _ => {
                    faults.push(name.fault("expected amounts such as `money: 5.00..90.00`, the lower one first, and a `currency` such as EUR"));
                    return None;
                }
            }
        }
        Drawn::Date(from, to) => {
            let from = names.check(from, Some(&Type::Date), faults)?;
            (Draw::Days(from, names.check(to, Some(&Type::Date), faults)?), Type::Date)
        }
        Drawn::Pick(list) => {
            let (list, element) = names.list(list, faults)?;
            (Draw::Pick(list), element)
        }
        Drawn::First { of, by, descending, gap } => {
            let (of, element) = names.list(of, faults)?;
            let mut inner = names.clone();
            inner.push(&"x".into(), element.clone());
            let by_source = by;
            let by = inner.check(by, None, faults)?;
            let number = matches!(
                by.kind(),
                Type::Int | Type::Money(_) | Type::Decimal(_) | Type::Date | Type::Instant | Type::Duration
            );
            if !number {
                faults.push(by_source.fault(0, "`by` takes a number, an amount, a date or a time"));
                return None;
            }
            let gap = match gap {
                None => None,
                Some(gap) => Some(gap_of(gap, by.kind(), names, faults)?),
            };
            (Draw::First { of, by, descending: *descending, gap }, element)
        }
        Drawn::Let(value) | Drawn::Word(value) => {
            let value = names.check(value, None, faults)?;
            let kind = value.kind().clone();
            (Draw::Let(value), kind)
        }
    };
    let not = match &written.not {
        None => None,
        Some(source) => Some(names.check(source, Some(&kind), faults)?),
    };
    let refer = match &kind {
        Type::Row(table) => {
            written.refer.iter().filter_map(|name| compiler.shared.column(*table, name, faults)).collect()
        }
        _ => {
            if let Some(first) = written.refer.first() {
                faults.push(first.fault("`refer` names columns of a row, and this is none"));
            }
            Vec::new()
        }
    };
    Some(Param { name: Arc::clone(&name.text), kind, draw, not, refer })
}

/// True if text is a code of three capital letters.
fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|letter| letter.is_ascii_uppercase())
}

/// A gap in the unit of what is compared: minor units for amounts, so that `gap: 50` means 0.50.
fn gap_of(source: &Source, kind: &Type, names: &Names<'_>, faults: &mut Faults) -> Option<Checked> {
    if let Ok(gap) = names.check_behind(source, 0, Some(&Type::Int)) {
        return Some(gap);
    }
    let kind = match kind {
        Type::Date => &Type::Int,
        Type::Instant => &Type::Duration,
        other => other,
    };
    names.check(source, Some(kind), faults)
}

/// The type of choices that do not say: whole numbers, truth values, words of an enum that has them all, or text.
fn choice_kind(compiler: &Compiler<'_>, values: &[Source]) -> Type {
    let all = |fits: &dyn Fn(&str) -> bool| values.iter().all(|value| fits(&value.text));
    if all(&|text| text.parse::<i64>().is_ok()) {
        return Type::Int;
    }
    if all(&|text| matches!(text, "true" | "false")) {
        return Type::Bool;
    }
    let columns = compiler.shared.schema.tables.iter().flat_map(|table| &table.columns);
    let has_all = |kind: &Type| match kind.present() {
        Type::Enum(words) => all(&|text| words.iter().any(|word| **word == *text)),
        _ => false,
    };
    let words = columns.map(|column| column.kind.present()).find(|kind| has_all(kind));
    words.cloned().unwrap_or(Type::Text)
}

fn choice(values: &[Source], kind: &Type, faults: &mut Faults) -> Option<Draw> {
    let read = |source: &Source| {
        let text = &*source.text;
        match kind.present() {
            Type::Bool => text.parse().ok().map(Value::Bool),
            Type::Int => text.parse().ok().map(Value::Int),
            Type::Text => Some(Value::text(text)),
            Type::Enum(words) => words.iter().find(|word| ***word == *text).map(|word| Value::Text(Arc::clone(word))),
            Type::Date => parse_date(text).map(Value::Int),
            Type::Money(currency) => amount::parse(text, amount::minor_digits(currency)).ok().map(Value::Int),
            Type::Decimal(scale) => amount::parse(text, *scale).ok().map(Value::Int),
            Type::Duration => parse_duration(text).map(Value::Int),
            _ => None,
        }
    };
    let mut chosen = Vec::new();
    for source in values {
        match read(source) {
            Some(value) => chosen.push(value),
            None => faults.push(source.fault(0, format!("`{}` is no {kind}: write one, or change `as`", source.text))),
        }
    }
    (chosen.len() == values.len()).then_some(Draw::Choice(chosen))
}

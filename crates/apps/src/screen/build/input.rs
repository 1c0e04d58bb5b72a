//! Inputs for parameters.

use std::sync::Arc;

use super::Builder;
use crate::app::screen::{Given, LinkTarget, words};
use crate::app::{Bounds, Parameter, Role};
use crate::kinds::{TableId, Type};
use crate::run::CallError;
use crate::screen::command::{Command, InputKind};
use crate::screen::tree::{AriaRole, Choice, Element, Facts};
use crate::value::RowKey;

/// Rows that one can choose from; of more, one names the id.
pub(super) const CANDIDATES_MAX: usize = 50;
/// Most repeated inputs.
pub(super) const ROWS_MAX: usize = 100;
/// Texts that may be longer than this take several lines.
const ONE_LINE_CHARACTERS: i64 = 120;

impl Builder<'_> {
    /// The inputs of one parameter. Its key is the form and the path within it; `reset` is forgotten when it changes.
    pub(super) fn input(
        &self,
        form: &str,
        path: &str,
        parameter: &Parameter,
        reset: Option<&Arc<str>>,
        out: &mut Vec<Element>,
    ) -> Result<(), CallError> {
        let id: Arc<str> = format!("{form}/{path}").into();
        let name = words(path.rsplit('.').next().unwrap_or(path).trim_start_matches("ask-"));
        match parameter.kind.present() {
            Type::Record(_) => {
                let mut children = Vec::new();
                for field in &parameter.inner {
                    self.input(form, &format!("{path}.{}", field.name), field, reset, &mut children)?;
                }
                out.push(Element::new(AriaRole::Group, id, name).with(children));
                return Ok(());
            }
            Type::List(_) if repeats(parameter) => {
                let rows = self.rows(&id, parameter);
                let mut children = Vec::new();
                for row in 0..rows {
                    let mut inner = Vec::new();
                    for element in &parameter.inner {
                        self.input(form, &format!("{path}.{row}"), element, reset, &mut inner)?;
                    }
                    let remove = Command::Remove { list: Arc::clone(&id), row, rows };
                    let label = format!("Remove {}", row + 1);
                    inner.push(Element::new(AriaRole::Button, format!("{id}.{row}.remove-row"), label).doing(remove));
                    children.push(Element::new(AriaRole::Group, "", format!("{name} {}", row + 1)).with(inner));
                }
                let add = Command::Set { key: Arc::clone(&id), text: (rows + 1).to_string().into() };
                let mut add =
                    Element::new(AriaRole::Button, format!("{id}.add-row"), format!("Add to {}", name.to_lowercase()))
                        .doing(add);
                add.disabled = rows >= most(parameter);
                children.push(add);
                let mut group = Element::new(AriaRole::Group, "", name).with(children);
                group.invalid = self.wrong(form, path);
                out.push(group);
                return Ok(());
            }
            _ => {}
        }
        let value = self.held(&id, parameter)?;
        let (kind, role) = entered(parameter);
        let mut element = Element::new(role, Arc::clone(&id), name).holding(value);
        let kind = match parameter.kind.present() {
            Type::Bool if kind == InputKind::Toggle => {
                element.options = choices([("true", "yes"), ("false", "no")]);
                kind
            }
            Type::Bool => {
                element.options = choices([("", "-"), ("true", "yes"), ("false", "no")]);
                kind
            }
            Type::Enum(words) => {
                element.options = choices([("", "-")]);
                element
                    .options
                    .extend(words.iter().map(|word| Choice { value: Arc::clone(word), name: word.to_string() }));
                kind
            }
            Type::Row(table) => match self.candidates(*table)? {
                Some(rows) => {
                    element.role = AriaRole::Combobox;
                    element.options = choices([("", "-")]);
                    for row in rows {
                        if let Some(value) = self.world.data().id(row) {
                            element.options.push(Choice { value: Arc::clone(value), name: self.name_of(row) });
                        }
                    }
                    InputKind::Choice
                }
                None => kind,
            },
            _ => kind,
        };
        element.hint = if kind == InputKind::Text { self.hint(parameter) } else { None };
        element.multiline = matches!(parameter.kind.present(), Type::Text)
            && parameter.bounds.most.is_none_or(|most| most > ONE_LINE_CHARACTERS)
            && reset.is_none();
        element.required = parameter.required() && kind != InputKind::Toggle;
        element.invalid = self.wrong(form, path);
        element.command = Some(Command::Input { kind, reset: reset.cloned() });
        let fact = Facts::Input { key: Arc::clone(&parameter.name), kind: parameter.kind.clone() };
        out.push(element.about(fact));
        Ok(())
    }

    /// Value of an input: what was entered, or else the default.
    pub(super) fn held(&self, id: &str, parameter: &Parameter) -> Result<String, CallError> {
        if let Some(text) = self.place.inputs.get(id) {
            return Ok(text.to_string());
        }
        let default = match &parameter.default {
            Some(default) => self.value(default, &[])?,
            None => None,
        };
        Ok(match default {
            Some(value) => plain(&self.world.codec().to_json(&value, &parameter.kind, self.world.data())),
            None if *parameter.kind.present() == Type::Bool && !parameter.kind.may_be_null() => "false".to_owned(),
            None => String::new(),
        })
    }

    /// Number of repeated inputs.
    pub(super) fn rows(&self, id: &str, parameter: &Parameter) -> usize {
        let entered = self.place.inputs.get(id).and_then(|text| text.parse::<usize>().ok());
        let least = if parameter.required() { parameter.bounds.least.unwrap_or(1) } else { 0 };
        entered.unwrap_or_else(|| usize::try_from(least).unwrap_or(0)).min(most(parameter))
    }

    /// Rows that one can choose from, unless there are too many.
    fn candidates(&self, table: TableId) -> Result<Option<Vec<RowKey>>, CallError> {
        let mut rows = Vec::new();
        for row in self.world.data().rows(table) {
            if self.world.sees(Role::AGENT, row)? {
                if rows.len() == CANDIDATES_MAX {
                    return Ok(None);
                }
                rows.push(row);
            }
        }
        Ok(Some(rows))
    }

    /// Expected text.
    fn hint(&self, parameter: &Parameter) -> Option<String> {
        let of = |kind: &Type| match kind.present() {
            Type::Int => "a whole number".to_owned(),
            Type::Date => "a date such as 2031-05-05".to_owned(),
            Type::Instant => "a time such as 2031-05-05T09:00".to_owned(),
            Type::Duration => "a duration such as 1h30m".to_owned(),
            Type::Money(currency) => format!("an amount in {currency} such as 12.50"),
            Type::Decimal(scale) => format!("a number such as {}", crate::amount::show(1250, *scale)),
            Type::Row(table) => {
                let name = self.app.schema.table(*table).name.replace('_', " ");
                if self.label_column(*table).is_some() {
                    format!("id or exact name of a {name}")
                } else {
                    format!("id of a {name}")
                }
            }
            Type::Enum(words) => words.join(", "),
            _ => String::new(),
        };
        let hint = match parameter.kind.present() {
            Type::List(element) => format!("{}; several are separated by commas", of(element)),
            kind => of(kind),
        };
        (!hint.is_empty()).then_some(hint)
    }

    /// Last error about an input.
    fn wrong(&self, form: &str, path: &str) -> Option<String> {
        let toast = self.toast?;
        let mark = toast.error.as_ref().filter(|mark| *mark.form == *form)?;
        (mark.field.as_deref() == Some(path)).then(|| toast.text.to_string())
    }

    /// The arguments of a screen that a link asks for, as parameters.
    pub(super) fn asked_of(&self, way: &LinkTarget) -> Vec<Parameter> {
        let args = self.screens.screens[way.screen].args.iter().zip(&way.args);
        args.filter(|(_, given)| matches!(given, Given::Asked))
            .map(|((name, kind), _)| plain_parameter(name, kind))
            .collect()
    }
}

/// A parameter that is nothing but its name and type.
pub(in crate::screen) fn plain_parameter(name: &Arc<str>, kind: &Type) -> Parameter {
    Parameter {
        name: Arc::clone(name),
        kind: kind.clone(),
        bounds: Bounds::default(),
        inner: Vec::new(),
        default: None,
    }
}

/// Input kind of a parameter.
pub(super) fn entered(parameter: &Parameter) -> (InputKind, AriaRole) {
    match parameter.kind.present() {
        Type::Bool if !parameter.kind.may_be_null() => (InputKind::Toggle, AriaRole::Checkbox),
        Type::Bool | Type::Enum(_) => (InputKind::Choice, AriaRole::Combobox),
        _ => (InputKind::Text, AriaRole::Textbox),
    }
}

/// True if a list is entered element by element: texts may hold commas, and records have several inputs each.
pub(in crate::screen) fn repeats(parameter: &Parameter) -> bool {
    match parameter.kind.present() {
        Type::List(element) => matches!(element.present(), Type::Text | Type::Record(_) | Type::List(_)),
        _ => false,
    }
}

fn most(parameter: &Parameter) -> usize {
    parameter.bounds.most.and_then(|most| usize::try_from(most).ok()).unwrap_or(ROWS_MAX).min(ROWS_MAX)
}

fn choices<const N: usize>(pairs: [(&str, &str); N]) -> Vec<Choice> {
    pairs.into_iter().map(|(value, name)| Choice { value: value.into(), name: name.to_owned() }).collect()
}

/// JSON of a value as it is typed.
pub(crate) fn plain(json: &serde_json::Value) -> String {
    use serde_json::Value as Json;
    match json {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

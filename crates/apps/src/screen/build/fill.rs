//! Conversion of entered values into the arguments of a call.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::Builder;
use super::input::{entered, plain_parameter, repeats};
use crate::app::screen::{Form, Given, LinkTarget};
use crate::app::{Parameter, Role};
use crate::kinds::{TableId, Type};
use crate::run::CallError;
use crate::screen::command::InputKind;
use crate::screen::open_screen::OpenScreen;
use crate::value::Value;

impl Builder<'_> {
    /// The arguments of a form's action.
    pub(in crate::screen) fn arguments(
        &self,
        form: &Form,
        locals: &[Value],
        id: &str,
    ) -> Result<Map<String, Json>, CallError> {
        let action = &self.app.actions[form.action];
        let mut arguments = Map::new();
        for (parameter, fix) in action.parameters.iter().zip(&form.fix) {
            let value = match fix {
                Some(fix) => {
                    let value = self.world.value(fix, locals)?;
                    Some(self.world.codec().to_json(&value, &parameter.kind, self.world.data()))
                }
                None => self.filled(id, &parameter.name, parameter)?,
            };
            if let Some(value) = value {
                arguments.insert(parameter.name.to_string(), value);
            }
        }
        Ok(arguments)
    }

    /// The screen that a way leads to.
    pub(in crate::screen) fn target(
        &self,
        way: &LinkTarget,
        locals: &[Value],
        form: &str,
    ) -> Result<OpenScreen, CallError> {
        let screen = &self.app.screens.screens[way.screen];
        let mut args = Vec::new();
        for ((name, kind), given) in screen.args.iter().zip(&way.args) {
            args.push(match given {
                Given::Expression(checked) => self.world.value(checked, locals)?,
                Given::Default => Value::Null,
                Given::Asked => {
                    let parameter = plain_parameter(name, kind);
                    let filled = self.filled(form, name, &parameter)?;
                    self.world.argument(Role::AGENT, &parameter, filled.as_ref())?
                }
            });
        }
        Ok(OpenScreen { screen: way.screen, args: args.into(), ..OpenScreen::default() })
    }

    /// Entered value of a parameter; none where it is left out.
    pub(super) fn filled(&self, form: &str, path: &str, parameter: &Parameter) -> Result<Option<Json>, CallError> {
        let id: Arc<str> = format!("{form}/{path}").into();
        match parameter.kind.present() {
            Type::Record(_) => {
                let mut fields = Map::new();
                for field in &parameter.inner {
                    if let Some(value) = self.filled(form, &format!("{path}.{}", field.name), field)? {
                        fields.insert(field.name.to_string(), value);
                    }
                }
                let left_out = fields.is_empty() && !parameter.required();
                return Ok((!left_out).then_some(Json::Object(fields)));
            }
            Type::List(_) if repeats(parameter) => {
                let rows = self.rows(&id, parameter);
                let mut values = Vec::new();
                for row in 0..rows {
                    for element in &parameter.inner {
                        let value = self.filled(form, &format!("{path}.{row}"), element)?;
                        values.push(value.unwrap_or(Json::Null));
                    }
                }
                let left_out = values.is_empty() && !parameter.required();
                return Ok((!left_out).then_some(Json::Array(values)));
            }
            _ => {}
        }
        let text = match self.place.inputs.get(&id) {
            Some(text) => &**text,
            None if parameter.default.is_some() => return Ok(None),
            None if entered(parameter).0 == InputKind::Toggle => "false",
            None => "",
        };
        let kind = parameter.kind.present();
        if text.trim().is_empty() {
            return Ok(match kind {
                _ if !parameter.required() => None,
                Type::Text => Some(Json::String(text.to_owned())),
                Type::List(_) => Some(Json::Array(Vec::new())),
                _ => None,
            });
        }
        match kind {
            Type::List(element) => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                let values: Result<Vec<Json>, CallError> =
                    parts.map(|part| self.scalar(part, element.present())).collect();
                Ok(Some(Json::Array(values?)))
            }
            kind => self.scalar(text, kind).map(Some),
        }
    }

    /// Text as JSON of a type. What does not fit stays text, and the call says what is wrong with it.
    fn scalar(&self, text: &str, kind: &Type) -> Result<Json, CallError> {
        Ok(match kind {
            Type::Text => Json::String(text.to_owned()),
            Type::Int => text.trim().parse::<i64>().map_or_else(|_| Json::String(text.to_owned()), Json::from),
            Type::Bool if text == "true" => Json::Bool(true),
            Type::Bool if text == "false" => Json::Bool(false),
            Type::Row(table) => Json::String(self.named(*table, text.trim())?),
            _ => Json::String(text.trim().to_owned()),
        })
    }

    /// The id of the row that an id or an exact name means; the text itself where it means none, or several.
    fn named(&self, table: TableId, text: &str) -> Result<String, CallError> {
        if self.world.data().by_id(table, text).is_some() {
            return Ok(text.to_owned());
        }
        let Some(column) = self.label_column(table) else { return Ok(text.to_owned()) };
        let wanted = Value::text(text);
        let mut found = Vec::new();
        for row in self.world.data().matching(table, column, &wanted) {
            if self.world.sees(Role::AGENT, row)? {
                found.push(row);
            }
        }
        match found.as_slice() {
            [row] => Ok(self.world.data().id(*row).map_or_else(|| text.to_owned(), ToString::to_string)),
            _ => Ok(text.to_owned()),
        }
    }
}

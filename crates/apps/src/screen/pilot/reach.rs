//! Going to a screen, and to a row in a list.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::Attempt;
use super::offers::{Container, Entrance, EntranceKind, Spot, to_screen};
use crate::app::screen::{Given, Link, List};
use crate::app::{App, Parameter, RowSelection};
use crate::expression::Checked;
use crate::kinds::{TableId, Type};
use crate::run::CallError;
use crate::screen::GuiAction;
use crate::screen::build::{plain, plain_parameter, row_part};
use crate::value::{RowKey, Value};

/// Links on the way to a screen.
pub(super) const DEPTH_MAX: usize = 5;
/// Rows that are tried where nothing says which.
const ROWS_TRIED_MAX: usize = 2_000;
/// Places that are tried for one offer or link.
const PLACES_MAX: usize = 20;
/// Pages that are turned.
const PAGES_MAX: usize = 500;

/// Arguments of a screen, and the row of a list on it.
pub(super) type Destination = (Vec<Value>, Option<RowKey>);

impl Attempt<'_> {
    /// Rows whose ids stand in arguments.
    pub(super) fn rows_in(&self, arguments: &Map<String, Json>) -> BTreeSet<RowKey> {
        let mut rows = BTreeSet::new();
        arguments.values().for_each(|value| self.collect(value, &mut rows));
        rows
    }

    fn collect(&self, value: &Json, rows: &mut BTreeSet<RowKey>) {
        match value {
            Json::String(text) => {
                rows.extend(self.app.schema.ids().filter_map(|(table, _)| self.world.data().by_id(table, text)));
            }
            Json::Array(values) => values.iter().for_each(|value| self.collect(value, rows)),
            Json::Object(fields) => fields.values().for_each(|value| self.collect(value, rows)),
            _ => {}
        }
    }

    /// Arguments of a screen, and a row of a list there, for which expressions have the values that are wanted.
    pub(super) fn places(
        &self,
        screen: usize,
        list: Option<&Arc<List>>,
        wanted: &[(&Checked, Value)],
        near: &BTreeSet<RowKey>,
    ) -> Result<Vec<Destination>, CallError> {
        let mut kinds: Vec<Type> = self.app.screens.screens[screen].args.iter().map(|(_, kind)| kind.clone()).collect();
        if let Some(list) = list {
            kinds.push(Type::Row(self.app.views[list.view].table));
        }
        let mut found = Vec::new();
        self.bind(&kinds, &mut Vec::new(), wanted, near, &mut found)?;
        Ok(found
            .into_iter()
            .map(|mut values| {
                let row = list.and_then(|_| match values.pop() {
                    Some(Value::Row(row)) => Some(row),
                    _ => None,
                });
                (values, row)
            })
            .collect())
    }

    fn bind(
        &self,
        kinds: &[Type],
        values: &mut Vec<Value>,
        wanted: &[(&Checked, Value)],
        near: &BTreeSet<RowKey>,
        found: &mut Vec<Vec<Value>>,
    ) -> Result<(), CallError> {
        // What only needs the values that are there is looked at before more are tried.
        for (checked, value) in wanted {
            let known = checked.locals().iter().all(|local| usize::from(*local) < values.len());
            if known && !self.gives(checked, values, value)? {
                return Ok(());
            }
        }
        let Some(kind) = kinds.get(values.len()) else {
            found.push(values.clone());
            return Ok(());
        };
        for value in self.candidates(kind, near) {
            if found.len() >= PLACES_MAX {
                break;
            }
            values.push(value);
            self.bind(kinds, values, wanted, near, found)?;
            values.pop();
        }
        Ok(())
    }

    fn gives(&self, checked: &Checked, locals: &[Value], value: &Value) -> Result<bool, CallError> {
        match self.world.value(checked, locals) {
            Ok(given) => Ok(given == *value),
            Err(CallError::Raised(_)) => Ok(false),
            Err(crashed) => Err(crashed),
        }
    }

    /// Values of a type, the likely ones first.
    fn candidates(&self, kind: &Type, near: &BTreeSet<RowKey>) -> Vec<Value> {
        let mut values = match kind.present() {
            Type::Row(table) => self.likely(*table, near).into_iter().map(Value::Row).collect(),
            Type::Bool => vec![Value::Bool(false), Value::Bool(true)],
            Type::Enum(words) => words.iter().map(|word| Value::Text(Arc::clone(word))).collect(),
            _ => Vec::new(),
        };
        if kind.may_be_null() {
            values.push(Value::Null);
        }
        values
    }

    /// Rows of a table: those near, those that they refer to, and then all.
    fn likely(&self, table: TableId, near: &BTreeSet<RowKey>) -> Vec<RowKey> {
        let data = self.world.data();
        let referred = near.iter().filter_map(|row| data.row(*row)).flat_map(|row| row.cells.iter()).filter_map(
            |cell| match cell {
                Value::Row(row) => Some(*row),
                _ => None,
            },
        );
        let first: Vec<RowKey> = near.iter().copied().chain(referred).filter(|row| row.table == table).collect();
        let mut seen = BTreeSet::new();
        first.into_iter().chain(data.rows(table)).filter(|row| seen.insert(*row)).take(ROWS_TRIED_MAX).collect()
    }

    /// Goes to a screen with arguments.
    pub(super) fn reach(&mut self, screen: usize, args: &[Value], depth: usize) -> Result<bool, CallError> {
        let app = Arc::clone(self.app);
        if args.is_empty() {
            return self.click(format!("app-nav/{}", app.screens.screens[screen].name));
        }
        if depth == 0 {
            return Ok(false);
        }
        let start = self.mark();
        for entrance in to_screen(&app, screen) {
            if self.enter(&entrance, args, depth)? {
                return Ok(true);
            }
            self.back_to(&start);
        }
        Ok(false)
    }

    fn enter(&mut self, entrance: &Entrance<'_>, args: &[Value], depth: usize) -> Result<bool, CallError> {
        let Spot { screen, list, .. } = entrance.spot;
        let near: BTreeSet<RowKey> = args
            .iter()
            .filter_map(|value| match value {
                Value::Row(row) => Some(*row),
                _ => None,
            })
            .collect();
        let wanted: Vec<(&Checked, Value)> = match &entrance.kind {
            EntranceKind::Open => Vec::new(),
            EntranceKind::Link { link, .. } => link
                .way
                .args
                .iter()
                .zip(args)
                .filter_map(|(given, value)| match given {
                    Given::Expression(checked) => Some((checked, value.clone())),
                    _ => None,
                })
                .collect(),
        };
        let opened = match (&entrance.kind, args) {
            (EntranceKind::Open, [Value::Row(row)]) => Some(*row),
            (EntranceKind::Open, _) => return Ok(false),
            (EntranceKind::Link { .. }, _) => None,
        };
        let within = list.filter(|_| opened.is_none());
        let start = self.mark();
        for (source, row) in self.places(screen, within, &wanted, &near)? {
            if self.reach(screen, &source, depth - 1)? && self.open(&entrance.spot)? {
                let prefix = match (list, opened.or(row)) {
                    (Some(list), Some(row)) => self.find(screen, list, row)?,
                    _ => Some(self.app.screens.screens[screen].name.to_string()),
                };
                if let Some(prefix) = prefix
                    && self.follow(&prefix, &entrance.kind, args)?
                {
                    return Ok(true);
                }
            }
            self.back_to(&start);
        }
        Ok(false)
    }

    fn follow(&mut self, prefix: &str, kind: &EntranceKind<'_>, args: &[Value]) -> Result<bool, CallError> {
        match kind {
            EntranceKind::Open => self.click(format!("{prefix}/{}", crate::app::screen::OPEN)),
            EntranceKind::Link { id, link } if !link.asks() => self.click(format!("{prefix}/{id}")),
            EntranceKind::Link { id, link } => self.answer(&format!("{prefix}/{id}"), link, args),
        }
    }

    /// Enters the arguments that a link asks for, and presses its button.
    fn answer(&mut self, id: &str, link: &Link, args: &[Value]) -> Result<bool, CallError> {
        let app = Arc::clone(self.app);
        let screen = &app.screens.screens[link.way.screen];
        for (((name, kind), given), value) in screen.args.iter().zip(&link.way.args).zip(args) {
            if matches!(given, Given::Asked) {
                let json = self.world.codec().to_json(value, kind, self.world.data());
                if !self.fill(&format!("{id}/{name}"), &plain_parameter(name, kind), &json)? {
                    return Ok(false);
                }
            }
        }
        self.click(format!("{id}/form-submit"))
    }

    /// Opens what hides a spot.
    pub(super) fn open(&mut self, spot: &Spot<'_>) -> Result<bool, CallError> {
        let screen = Arc::clone(&self.app.screens.screens[spot.screen].name);
        for container in &spot.containers {
            match container {
                Container::Dialog(id) => {
                    if !self.bring_up(&format!("{screen}/{id}"))? {
                        return Ok(false);
                    }
                }
                Container::Tabs { id, names, steps } => {
                    let skipped = if *steps { 0 } else { names.len() - 1 };
                    for name in &names[skipped..] {
                        if !self.click(format!("{screen}/{id}/{name}"))? {
                            return Ok(false);
                        }
                    }
                }
            }
        }
        Ok(true)
    }

    /// Brings a row of a list into sight, and answers what ids there begin with.
    pub(super) fn find(&mut self, screen: usize, list: &List, row: RowKey) -> Result<Option<String>, CallError> {
        let app = Arc::clone(self.app);
        let (screen, view) = (&app.screens.screens[screen], &app.views[list.view]);
        let Some(id) = self.world.data().id(row).cloned() else { return Ok(None) };
        let prefix = format!("{}/{}", screen.name, list.id);
        let asked = asked_by(&app, list);
        let kinds: Vec<Type> = asked.iter().map(|parameter| parameter.kind.clone()).collect();
        let mut answers = Vec::new();
        self.bind(&kinds, &mut Vec::new(), &[], &BTreeSet::from([row]), &mut answers)?;
        let start = self.mark();
        for answer in answers {
            if self.tell(&prefix, &asked, &answer)? && self.turn_to(screen, list, &prefix, &id, view)? {
                return Ok(Some(format!("{prefix}/{}", row_part(&id))));
            }
            self.back_to(&start);
        }
        Ok(None)
    }

    fn tell(&mut self, prefix: &str, asked: &[Parameter], answer: &[Value]) -> Result<bool, CallError> {
        for (parameter, value) in asked.iter().zip(answer) {
            let json = self.world.codec().to_json(value, &parameter.kind, self.world.data());
            if !plain(&json).is_empty() && !self.fill(&format!("{prefix}/ask-{}", parameter.name), parameter, &json)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Looks for a row by its id where one can, or else turns the pages.
    fn turn_to(
        &mut self,
        screen: &crate::app::screen::Screen,
        list: &List,
        prefix: &str,
        id: &str,
        view: &crate::app::View,
    ) -> Result<bool, CallError> {
        let controls = screen.controls.get(&list.view);
        if let Some(search) = controls.and_then(|controls| controls.search.as_ref()) {
            let element = format!("{}/{search}/text", screen.name);
            let typed = self.act(GuiAction::Type { element, text: id.to_owned() })?.is_some();
            return Ok(typed && self.is_listed(prefix, id)?);
        }
        let pager =
            controls.filter(|controls| controls.list.id == list.id).and_then(|controls| controls.pager.as_ref());
        let turner = match (pager, &view.rows) {
            (_, RowSelection::One(_)) => None,
            (None, _) => Some(format!("{prefix}/next-page")),
            (Some(pager), _) => Some(format!("{}/{pager}/next-page", screen.name)),
        };
        for _ in 0..PAGES_MAX {
            if self.is_listed(prefix, id)? {
                return Ok(true);
            }
            let Some(turner) = &turner else { return Ok(false) };
            if !self.tree()?.find(turner).is_some_and(crate::screen::Element::is_actionable) || !self.click(turner)? {
                return Ok(false);
            }
        }
        Ok(false)
    }

    fn is_listed(&self, prefix: &str, id: &str) -> Result<bool, CallError> {
        let wanted = format!("{prefix}/{}", row_part(id));
        Ok(self.tree()?.all().iter().any(|element| *element.id == *wanted))
    }
}

/// Parameters of a list's view that the list asks for.
pub(super) fn asked_by(app: &App, list: &List) -> Vec<Parameter> {
    let parameters = app.views[list.view].all_parameters(&app.schema);
    let asked = parameters.into_iter().zip(&list.args).filter(|(_, given)| matches!(given, Given::Asked));
    asked.map(|(parameter, _)| parameter).collect()
}

//! Compiler of definitions into apps: everything is looked up, typed and checked once.

mod actions;
mod called;
mod effects;
mod errors;
mod kinds;
mod names;
mod reach;
mod repeated;
mod screens;
mod seed;
mod tables;
mod tasks;
mod views;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::app::{Action, App, Callable, ErrorCode, Event, Permission, Role, Rule, Schedule, Variants};
use crate::calendar::Calendar;
use crate::definition::{Definition, Enforce, EventDefinition, Name, Schedule as Written};
use crate::expression::{Checked, Function, Roots};
use crate::fault::Faults;
use crate::functions;
use crate::kinds::Type;
use crate::positions::Positions;
use crate::syntax::MAX_FAULTS;
use errors::codes;
use names::{Names, SharedScope};
use tasks::{Calls, fixed, templates};

/// Roles of every app.
const ROLES: [&str; 3] = ["agent", "user", "system"];
/// Names of calls that every app has.
pub(crate) const CALLS: [&str; 2] = ["submit", "wait"];

/// State of a compilation.
pub(crate) struct Compiler<'d> {
    pub(crate) definition: &'d Definition,
    pub(crate) shared: &'d SharedScope,
    pub(crate) defaults: Vec<Vec<Option<Checked>>>,
    pub(crate) errors: Vec<ErrorCode>,
    pub(crate) of_actions: Vec<Function>,
    pub(crate) of_draws: Vec<Function>,
    pub(crate) of_goals: Vec<Function>,
    /// Codes that something raises.
    raised: std::cell::RefCell<BTreeSet<Arc<str>>>,
    /// Statements that macros may still make.
    expandable: std::cell::Cell<usize>,
}

impl App {
    /// Reads and compiles a definition.
    ///
    /// # Errors
    /// Every fault, with its position.
    pub fn load(files: &BTreeMap<String, String>) -> Result<Arc<Self>, Faults> {
        let definition = Definition::read(files)?;
        Self::compile(&definition)
    }

    /// Compiles a definition.
    ///
    /// # Errors
    /// Every fault, with its position.
    pub fn compile(definition: &Definition) -> Result<Arc<Self>, Faults> {
        let mut faults = Faults::new();
        let app = compile(definition, &mut faults);
        if app.is_none() && faults.is_empty() {
            faults.push(definition.name.fault("this definition makes no app"));
        }
        faults.sort();
        faults.dedup();
        faults.truncate(MAX_FAULTS);
        match app {
            Some(app) if faults.is_empty() => Ok(Arc::new(app)),
            _ => Err(faults),
        }
    }
}

fn compile(definition: &Definition, faults: &mut Faults) -> Option<App> {
    let calendar = match Calendar::new(&definition.zone.text, definition.sunday) {
        Ok(calendar) => calendar,
        Err(message) => {
            faults.push(definition.zone.fault(0, message));
            return None;
        }
    };
    let start = calendar.parse_instant(&definition.start.text);
    if start.is_none() {
        faults.push(definition.start.fault(0, "a civil time such as 2031-05-05T09:00 is expected"));
    }
    repeated::check(definition, faults);
    if !reach::check(definition, faults) {
        return None;
    }
    let schema = tables::schema(definition, calendar.clone(), faults)?;
    let shared = SharedScope { schema };
    let mut compiler = Compiler {
        definition,
        shared: &shared,
        defaults: tables::defaults(definition, &shared, faults),
        errors: codes(definition, &shared),
        of_actions: functions::of_actions(&called::names(definition)),
        of_draws: functions::of_draws(),
        of_goals: functions::of_goals(&called::names(definition), &called::parameters(definition)),
        raised: std::cell::RefCell::default(),
        expandable: std::cell::Cell::new(effects::EXPANDED_MAX),
    };
    let calls = compiler.calls(faults);
    let rules = compiler.rules(faults);
    let actions: Vec<Action> =
        definition.actions.iter().map(|(name, action)| compiler.action(name, action, faults)).collect();
    let views = compiler.views(faults);
    let permissions = compiler.permissions(faults);
    // Calls are known by their places, so all of them have to be there.
    let complete = views.len() == definition.views.len();
    let screens = if complete { compiler.screens(&actions, &views, faults) } else { None };
    let events = definition.world.iter().filter_map(|event| compiler.event(event, &[], faults)).collect();
    let seed = compiler.seed(faults);
    let names = Names::new(&shared, &[], Roots::default());
    let invariants = definition
        .invariants
        .iter()
        .filter_map(|source| Some((Arc::clone(&source.text), names.condition(source, faults)?)))
        .collect();
    let role = definition.role.as_ref().and_then(|source| names.template(source, faults));
    let named = Calls { actions: &actions, views: &views, by_name: &calls };
    let templates = if complete { templates(&compiler, &named, faults) } else { Vec::new() };
    let fixed = if complete { fixed(&compiler, &named, faults) } else { Vec::new() };
    compiler.unraised(faults);
    let (defaults, errors) = (std::mem::take(&mut compiler.defaults), std::mem::take(&mut compiler.errors));
    drop(compiler);
    let schema = tables::with_defaults(shared.schema, &defaults, start?);
    let screens = screens?;
    let theme = crate::app::theme::Theme::load(
        &definition.theme,
        &crate::app::theme::Names { schema: &schema, screens: &screens, views: &views, actions: &actions },
    );
    let theme = theme.map_err(|found| faults.extend(found)).ok()?;
    Some(App {
        name: Arc::clone(&definition.name.text),
        version: definition.version,
        about: Arc::clone(&definition.about),
        tags: definition.tags.clone(),
        calendar,
        start: start?,
        role,
        defaults,
        errors,
        roles: ROLES.iter().map(|role| Arc::from(*role)).collect(),
        actions,
        views,
        calls,
        permissions,
        rules,
        invariants,
        events,
        variants: Variants::new(seed.variants),
        seed,
        screens,
        theme,
        templates,
        rows: definition.rows.clone(),
        fixed,
        positions: Positions::of(definition),
        schema,
    })
}

impl Compiler<'_> {
    /// The role of a name.
    fn role(name: &Name, faults: &mut Faults) -> Option<Role> {
        let place = ROLES.iter().position(|role| *role == &*name.text);
        if place.is_none() {
            faults.push(name.unknown("role", ROLES));
        }
        place.and_then(|place| u16::try_from(place).ok()).map(Role)
    }

    /// Roles that may call; the agent where nobody is named.
    fn who(names: &[Name], faults: &mut Faults) -> Vec<Role> {
        if names.is_empty() {
            return vec![Role::AGENT];
        }
        names.iter().filter_map(|name| Self::role(name, faults)).collect()
    }

    /// Actions and views by name.
    fn calls(&self, faults: &mut Faults) -> BTreeMap<Arc<str>, Callable> {
        let mut calls = BTreeMap::new();
        let actions =
            self.definition.actions.iter().enumerate().map(|(place, (name, _))| (name, Callable::Action(place)));
        let views = self.definition.views.iter().enumerate().map(|(place, (name, _))| (name, Callable::View(place)));
        for (name, callable) in actions.chain(views) {
            if CALLS.contains(&&*name.text) {
                faults.push(name.fault(format!("every app has a call `{}` of its own", name.text)));
            } else if calls.insert(Arc::clone(&name.text), callable).is_some() {
                faults.push(name.fault(format!("an action and a view are both called `{}`", name.text)));
            }
        }
        calls
    }

    fn rules(&self, faults: &mut Faults) -> Vec<Rule> {
        let mut rules = Vec::new();
        for rule in &self.definition.rules {
            let mut graded = Vec::new();
            for name in &rule.applies {
                let Some(place) = self.definition.actions.iter().position(|(action, _)| action.text == name.text)
                else {
                    faults.push(name.unknown("action", self.definition.actions.iter().map(|(name, _)| &*name.text)));
                    continue;
                };
                let Some(check) = rule.check.as_ref().filter(|_| rule.enforce == Enforce::Grade) else { continue };
                let (_, action) = &self.definition.actions[place];
                let mut names = Names::new(self.shared, &self.of_actions, Roots { old: false, init: true });
                for parameter in kinds::parameters(&action.params, self.shared, &mut Faults::new()) {
                    names.push(&parameter.name, parameter.kind);
                }
                graded.extend(names.condition(check, faults).map(|check| (place, check)));
            }
            if rule.check.is_some() && rule.applies.is_empty() {
                faults.push(rule.id.fault("a rule with a check names the actions that it `applies` to"));
            }
            rules.push(Rule { id: Arc::clone(&rule.id.text), text: Arc::clone(&rule.text), graded });
        }
        rules
    }

    fn permissions(&self, faults: &mut Faults) -> Vec<Permission> {
        let read = |written: &crate::definition::PermissionDefinition, faults: &mut Faults| {
            let table = self.shared.table(&written.table, faults)?;
            let mut names = Names::new(self.shared, &[], Roots::default());
            names.push(&written.variable.as_ref().unwrap_or(&written.table).text, Type::Row(table));
            let rows = match &written.rows {
                None => None,
                Some(source) => Some(names.condition(source, faults)?),
            };
            let hide = written.hide.iter().filter_map(|name| self.shared.column(table, name, faults)).collect();
            Some(Permission { table, roles: Self::who(&written.roles, faults), rows, hide })
        };
        self.definition.permissions.iter().filter_map(|written| read(written, faults)).collect()
    }

    /// An event of the world or of a task, whose parameters are locals.
    pub(crate) fn event(
        &self,
        written: &EventDefinition,
        locals: &[(Arc<str>, Type)],
        faults: &mut Faults,
    ) -> Option<Event> {
        let mut names = Names::new(self.shared, &self.of_draws, Roots::default());
        names.lenient = true;
        names.locals = locals.to_vec();
        let schedule = match &written.schedule {
            Written::At(time) => Schedule::At(names.check(time, Some(&Type::Instant), faults)?),
            Written::Every { seconds, chance } => Schedule::Every { seconds: *seconds, chance: *chance },
        };
        let (run, arguments) = self.system_call(&written.run, &written.args, &names, faults)?;
        Some(Event { name: Arc::clone(&written.name.text), schedule, run, arguments })
    }
}

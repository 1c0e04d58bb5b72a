//! Does on screens what a tool call does: goes from home to a form of the action, fills it in and sends it. By this it is shown
//! that the surfaces of an app lead to the same data.

mod offers;
mod reach;

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::build::plain;
use super::tree::AriaRole;
use super::{ActionOutcome, GuiAction, Tree, Viewer};
use crate::app::screen::{Form, List};
use crate::app::{App, Callable, Parameter, Role};
use crate::kinds::Type;
use crate::run::{CallError, World};
use offers::{Offer, Spot};

/// A call that was made on screens.
#[derive(Debug)]
pub struct PilotedCall {
    /// Actions, in order.
    pub actions: Vec<GuiAction>,
    /// Screen after the last of them.
    pub shown: ActionOutcome,
}

/// Reason why a call could not be made on screens.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PilotError {
    /// No form of the action could be reached with these arguments.
    #[error("no screen leads to a call of {0} with these arguments")]
    NoWay(Arc<str>),
    /// The definition is at fault.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Makes a call of an action on screens, from wherever the viewer is.
///
/// # Errors
/// [`PilotError::NoWay`], and then neither the world nor the viewer has changed.
pub fn play(
    world: &mut World,
    viewer: &mut Viewer,
    name: &str,
    arguments: &Map<String, Json>,
) -> Result<PilotedCall, PilotError> {
    let app = Arc::clone(world.app());
    let no_way = || PilotError::NoWay(name.chars().take(60).collect::<String>().into());
    let Some(Callable::Action(action)) = app.calls.get(name).copied() else { return Err(no_way()) };
    let wanted = world.clone().call(Role::AGENT, name, arguments).is_ok();
    for offer in offers::of_action(&app, action) {
        let mut attempt = Attempt { app: &app, world: world.clone(), viewer: viewer.clone(), actions: Vec::new() };
        if let Some(shown) = attempt.take(&offer, arguments)? {
            let made = shown.calls.iter().find(|call| *call.name == *name);
            if made.is_some_and(|call| call.reply.is_ok() == wanted) {
                *world = attempt.world;
                *viewer = attempt.viewer;
                return Ok(PilotedCall { actions: attempt.actions, shown });
            }
        }
    }
    Err(no_way())
}

/// Goes to a screen that reads a view, near the rows that arguments name, and enters what it asks for: what one looks at there is not
/// narrowed down further.
/// Answers what was done, which is nothing where one is there already.
///
/// # Errors
/// [`PilotError::NoWay`], and then neither the world nor the viewer has changed.
pub fn look(
    world: &mut World,
    viewer: &mut Viewer,
    name: &str,
    arguments: &Map<String, Json>,
) -> Result<Vec<GuiAction>, PilotError> {
    let app = Arc::clone(world.app());
    let no_way = || PilotError::NoWay(name.chars().take(60).collect::<String>().into());
    let Some(Callable::View(view)) = app.calls.get(name).copied() else { return Err(no_way()) };
    let reads = |world: &World| world.counts().get(name).copied().unwrap_or_default();
    let before = reads(world);
    for (spot, list) in offers::of_view(&app, view) {
        let mut attempt = Attempt { app: &app, world: world.clone(), viewer: viewer.clone(), actions: Vec::new() };
        let start = attempt.mark();
        let near = attempt.rows_in(arguments);
        for (args, _) in attempt.places(spot.screen, None, &[], &near)? {
            let prefix = attempt.stand_before(&spot, &args, None)?;
            let asked = match (&prefix, list) {
                (Some(prefix), Some(list)) => attempt.ask(prefix, list, arguments)?,
                (prefix, _) => prefix.is_some(),
            };
            if asked && reads(&attempt.world) > before {
                *world = attempt.world;
                *viewer = attempt.viewer;
                return Ok(attempt.actions);
            }
            attempt.back_to(&start);
        }
    }
    Err(no_way())
}

/// A hand that tries, on a copy of the world.
pub(super) struct Attempt<'a> {
    app: &'a Arc<App>,
    world: World,
    viewer: Viewer,
    actions: Vec<GuiAction>,
}

/// Where a hand was before it tried something.
struct Mark {
    world: World,
    viewer: Viewer,
    actions: usize,
}

impl Attempt<'_> {
    fn mark(&self) -> Mark {
        Mark { world: self.world.clone(), viewer: self.viewer.clone(), actions: self.actions.len() }
    }

    fn back_to(&mut self, mark: &Mark) {
        self.world = mark.world.clone();
        self.viewer = mark.viewer.clone();
        self.actions.truncate(mark.actions);
    }

    fn tree(&self) -> Result<Tree, CallError> {
        self.viewer.tree(&self.world)
    }

    /// Does something; none where it was refused.
    fn act(&mut self, action: GuiAction) -> Result<Option<ActionOutcome>, CallError> {
        let shown = self.viewer.act(&mut self.world, &action)?;
        self.actions.push(action);
        Ok(Some(shown).filter(|shown| shown.error.is_none()))
    }

    /// Clicks; a link that leads where one is already is left alone, as browsers only load such a page again.
    fn click(&mut self, element: impl Into<String>) -> Result<bool, CallError> {
        let element = element.into();
        let target = self.viewer.address_of(&self.world, &element)?;
        if target.is_some_and(|target| self.viewer.address(&self.world).is_ok_and(|here| here == target)) {
            return Ok(true);
        }
        Ok(self.act(GuiAction::Click { element })?.is_some())
    }

    /// Opens a dialog, unless it is open from before.
    pub(super) fn bring_up(&mut self, id: &str) -> Result<bool, CallError> {
        let tree = self.tree()?;
        let is_open = tree.all().iter().any(|element| *element.id == *id && element.role == AriaRole::Dialog);
        if is_open { Ok(true) } else { self.click(id) }
    }

    /// Takes an offer with the arguments of a call; none where it does not lead there.
    fn take(&mut self, offer: &Offer<'_>, arguments: &Map<String, Json>) -> Result<Option<ActionOutcome>, CallError> {
        let parameters = &self.app.actions[offer.form.action].parameters;
        let mut wanted = Vec::new();
        for (parameter, fix) in parameters.iter().zip(&offer.form.fix) {
            let Some(fix) = fix else { continue };
            match self.world.argument(Role::AGENT, parameter, arguments.get(&*parameter.name)) {
                Ok(value) => wanted.push((fix, value)),
                Err(CallError::Raised(_)) => return Ok(None),
                Err(crashed) => return Err(crashed),
            }
        }
        let near = self.rows_in(arguments);
        let start = self.mark();
        for (args, row) in self.places(offer.spot.screen, offer.spot.list, &wanted, &near)? {
            let Some(prefix) = self.stand_before(&offer.spot, &args, row)? else {
                self.back_to(&start);
                continue;
            };
            let id = format!("{prefix}/{}", offer.id);
            if let Some(shown) = self.send(&id, offer.form, offer.button, parameters, arguments)? {
                return Ok(Some(shown));
            }
            self.back_to(&start);
        }
        Ok(None)
    }

    /// Goes to a spot, and answers what ids there begin with.
    fn stand_before(
        &mut self,
        spot: &Spot<'_>,
        args: &[crate::value::Value],
        row: Option<crate::value::RowKey>,
    ) -> Result<Option<String>, CallError> {
        if !self.reach(spot.screen, args, reach::DEPTH_MAX)? || !self.open(spot)? {
            return Ok(None);
        }
        let screen = &self.app.screens.screens[spot.screen].name;
        match (spot.list, row) {
            (Some(list), Some(row)) => self.find(spot.screen, list, row),
            _ => Ok(Some(screen.to_string())),
        }
    }

    /// Fills a form in and sends it.
    fn send(
        &mut self,
        id: &str,
        form: &Form,
        button: bool,
        parameters: &[Parameter],
        arguments: &Map<String, Json>,
    ) -> Result<Option<ActionOutcome>, CallError> {
        let mut press = format!("{id}/form-submit");
        if button {
            if !form.asks() && !form.confirm {
                press = id.to_owned();
            } else if !self.bring_up(id)? {
                return Ok(None);
            }
        }
        for (parameter, _) in parameters.iter().zip(&form.fix).filter(|(_, fix)| fix.is_none()) {
            if let Some(value) = arguments.get(&*parameter.name)
                && !self.fill(&format!("{id}/{}", parameter.name), parameter, value)?
            {
                return Ok(None);
            }
        }
        let action = GuiAction::Click { element: press };
        let shown = self.viewer.act(&mut self.world, &action)?;
        self.actions.push(action);
        Ok(Some(shown))
    }

    /// Enters what a list asks for before it shows rows.
    fn ask(&mut self, prefix: &str, list: &List, arguments: &Map<String, Json>) -> Result<bool, CallError> {
        for parameter in reach::asked_by(self.app, list) {
            let id = format!("{prefix}/{}/ask-{}", list.id, parameter.name);
            if let Some(value) = arguments.get(&*parameter.name)
                && !self.fill(&id, &parameter, value)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Enters a value.
    pub(super) fn fill(&mut self, id: &str, parameter: &Parameter, value: &Json) -> Result<bool, CallError> {
        match (parameter.kind.present(), value) {
            (Type::Record(_), Json::Object(fields)) => {
                for field in &parameter.inner {
                    if let Some(value) = fields.get(&*field.name)
                        && !self.fill(&format!("{id}.{}", field.name), field, value)?
                    {
                        return Ok(false);
                    }
                }
                return Ok(true);
            }
            (Type::List(_), Json::Array(values)) if super::build::repeats(parameter) => {
                return self.fill_rows(id, parameter, values);
            }
            _ => {}
        }
        let tree = self.tree()?;
        let Some(element) = tree.find(id) else { return Ok(false) };
        let text = plain(value);
        if element.value.as_deref() == Some(&*text) {
            return Ok(true);
        }
        let element_id = id.to_owned();
        let action = match element.role {
            AriaRole::Checkbox => GuiAction::Click { element: element_id },
            AriaRole::Combobox => GuiAction::Select { element: element_id, option: text },
            _ => GuiAction::Type { element: element_id, text },
        };
        Ok(self.act(action)?.is_some())
    }

    /// Enters as many values as there are.
    fn fill_rows(&mut self, id: &str, parameter: &Parameter, values: &[Json]) -> Result<bool, CallError> {
        let tree = self.tree()?;
        let mut rows = (0..).take_while(|row| tree.find(&format!("{id}.{row}.remove-row")).is_some()).count();
        while rows < values.len() {
            if !self.click(format!("{id}.add-row"))? {
                return Ok(false);
            }
            rows += 1;
        }
        while rows > values.len() {
            rows -= 1;
            if !self.click(format!("{id}.{rows}.remove-row"))? {
                return Ok(false);
            }
        }
        for (row, value) in values.iter().enumerate() {
            for element in &parameter.inner {
                if !self.fill(&format!("{id}.{row}"), element, value)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

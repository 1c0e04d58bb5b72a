//! Doing something on a screen.

use std::sync::Arc;

use imbl::Vector;
use serde_json::Value as Json;

use super::{ActionOutcome, Called, DRAFT_CHARACTERS_MAX, DRAFTS_MAX, Direction, GuiAction, Viewer};
use crate::app::Role;
use crate::app::errors;
use crate::run::{CallError, Raised, Reply, World};
use crate::screen::address;
use crate::screen::build::Read;
use crate::screen::command::{Command, InputKind, Submission};
use crate::screen::open_screen::{ErrorMark, OpenScreen, Toast};
use crate::screen::tree::Element;
use crate::value::Value;

/// Longest text that is said about what was done, in characters.
const TOAST_CHARACTERS_MAX: usize = 2_000;

impl Viewer {
    /// Does something on the screen. Forms and buttons call actions as tools do; all else changes the viewer alone.
    ///
    /// # Errors
    /// When the definition is at fault. A typed error is no such fault: it is in the answer, and on the screen.
    pub fn act(&mut self, world: &mut World, action: &GuiAction) -> Result<ActionOutcome, CallError> {
        self.settle(world)?;
        let (tree, before) = self.build(world)?;
        self.toast = None;
        let mut shown = ActionOutcome::default();
        let done = match action {
            GuiAction::Home => {
                self.route = Vector::unit(OpenScreen::default());
                Ok(())
            }
            GuiAction::Back if self.route.len() > 1 => {
                self.route.pop_back();
                Ok(())
            }
            GuiAction::Back => Err(refusal(world, "There is no screen to go back to.")),
            GuiAction::Open { address } => address::parse(world, address).map(|there| self.open(world, there)),
            GuiAction::Scroll { direction } => {
                let parts = tree.scroll.map_or(1, |scroll| scroll.parts);
                self.scroll(world, *direction, parts)
            }
            GuiAction::Click { element } | GuiAction::Type { element, .. } | GuiAction::Select { element, .. } => {
                match tree.find(element).filter(|found| found.is_actionable()) {
                    Some(found) => self.with(world, found, action, &mut shown),
                    None => Err(refusal(world, &format!("There is no element {:?} here.", cut(element, 100)))),
                }
            }
        };
        match done {
            Ok(()) => {}
            Err(CallError::Raised(raised)) => {
                if self.toast.is_none() {
                    self.fail("", &raised);
                }
                shown.error = Some(raised);
            }
            Err(crashed) => return Err(crashed),
        }
        self.settle(world)?;
        let (_, after) = self.build(world)?;
        let written = shown.calls.iter().any(|call| call.reply.is_ok());
        read(world, &before, after, written, &mut shown)?;
        Ok(shown)
    }

    /// Does one thing after the other, up to the first that is refused.
    ///
    /// # Errors
    /// See [`Viewer::act`].
    pub fn act_all(&mut self, world: &mut World, actions: &[GuiAction]) -> Result<ActionOutcome, CallError> {
        let mut all = ActionOutcome::default();
        for action in actions {
            let shown = self.act(world, action)?;
            all.calls.extend(shown.calls);
            all.error = shown.error;
            if all.error.is_some() {
                break;
            }
        }
        Ok(all)
    }

    fn scroll(&mut self, world: &World, direction: Direction, parts: usize) -> Result<(), CallError> {
        let Some(here) = self.here() else { return Ok(()) };
        match direction {
            Direction::Down if here.scroll + 1 < parts => here.scroll += 1,
            Direction::Up if here.scroll > 0 => here.scroll = here.scroll.min(parts) - 1,
            Direction::Down => return Err(refusal(world, "There is nothing further down.")),
            Direction::Up => return Err(refusal(world, "There is nothing further up.")),
        }
        Ok(())
    }

    /// Does something with an element.
    fn with(
        &mut self,
        world: &mut World,
        element: &Element,
        action: &GuiAction,
        shown: &mut ActionOutcome,
    ) -> Result<(), CallError> {
        let Some(command) = &element.command else { return Ok(()) };
        let Some(here) = self.here() else { return Ok(()) };
        match (command, action) {
            (Command::Input { kind, reset }, action) => {
                let text = entered(world, element, *kind, action)?;
                if element.value.as_deref() != Some(&*text) {
                    if here.inputs.len() >= DRAFTS_MAX && !here.inputs.contains_key(&element.id) {
                        return Err(refusal(world, "There is too much on this screen that has not been sent."));
                    }
                    here.inputs.insert(Arc::clone(&element.id), text);
                    if let Some(reset) = reset {
                        here.inputs.remove(reset);
                    }
                }
                Ok(())
            }
            (_, GuiAction::Type { .. } | GuiAction::Select { .. }) => {
                let text = format!("{:?} is a {}: click it.", &*element.id, element.role.word());
                Err(refusal(world, &text))
            }
            (Command::Set { key, text }, _) => {
                here.inputs.insert(Arc::clone(key), Arc::clone(text));
                here.scroll = 0;
                Ok(())
            }
            (Command::Remove { list, row, rows }, _) => {
                remove_row(here, list, *row, *rows);
                Ok(())
            }
            (Command::Go(place), _) => {
                self.go(place.clone());
                Ok(())
            }
            (Command::Open { depth }, _) => {
                here.dialogs.truncate(*depth);
                here.dialogs.push_back(Arc::clone(&element.id));
                Ok(())
            }
            (Command::Close { dialog, depth }, _) => {
                here.dialogs.truncate(*depth);
                forget(here, dialog);
                Ok(())
            }
            (Command::Follow { link, locals, form }, _) => {
                let place = self.build_link(world, link, locals, form);
                match place {
                    Ok(place) => self.go(place),
                    Err(CallError::Raised(raised)) => {
                        self.fail(form, &raised);
                        return Err(raised.into());
                    }
                    Err(crashed) => return Err(crashed),
                }
                Ok(())
            }
            (Command::Submit(submission), _) => self.submit(world, submission, shown),
        }
    }

    fn build_link(
        &self,
        world: &World,
        link: &crate::app::screen::Link,
        locals: &[Value],
        form: &str,
    ) -> Result<OpenScreen, CallError> {
        let here = self.standing(world)?;
        crate::screen::build::Builder::new(world, here, None).target(&link.way, locals, form)
    }

    /// Calls an action with what was fixed and what was typed.
    fn submit(
        &mut self,
        world: &mut World,
        submission: &Submission,
        shown: &mut ActionOutcome,
    ) -> Result<(), CallError> {
        let Submission { form, locals, id, depth } = submission;
        let app = Arc::clone(world.app());
        let action = &app.actions[form.action];
        let here = self.standing(world)?;
        let builder = crate::screen::build::Builder::new(world, here, None);
        let (arguments, then) = match builder.arguments(form, locals, id) {
            Ok(arguments) => {
                let then = form.then.as_ref().map(|way| builder.target(way, locals, id)).transpose();
                (arguments, then)
            }
            Err(CallError::Raised(raised)) => {
                self.fail(id, &raised);
                return Err(raised.into());
            }
            Err(crashed) => return Err(crashed),
        };
        let then = then?;
        match world.call(Role::AGENT, &action.name, &arguments) {
            Ok(reply) => {
                self.toast = Some(Toast { text: done(&action.name, &reply), error: None });
                if let Some(here) = self.here() {
                    forget(here, id);
                    here.dialogs.truncate(*depth);
                }
                if let Some(place) = then {
                    self.go(place);
                }
                shown.calls.push(Called { name: Arc::clone(&action.name), arguments, reply: Ok(reply) });
                Ok(())
            }
            Err(CallError::Raised(raised)) => {
                self.fail(id, &raised);
                shown.calls.push(Called { name: Arc::clone(&action.name), arguments, reply: Err(raised.clone()) });
                Err(raised.into())
            }
            Err(crashed) => Err(crashed),
        }
    }

    fn fail(&mut self, form: &str, raised: &Raised) {
        let mark = ErrorMark { code: Arc::clone(&raised.code), form: form.into(), field: raised.field.clone() };
        self.toast = Some(Toast { text: raised.text.as_str().into(), error: Some(mark) });
    }
}

/// Reads the views that came into sight, as calls of their own; after an action all that are in sight.
fn read(
    world: &mut World,
    before: &[Read],
    after: Vec<Read>,
    written: bool,
    shown: &mut ActionOutcome,
) -> Result<(), CallError> {
    let app = Arc::clone(world.app());
    for (view, arguments) in after {
        if !written && before.iter().any(|(other, same)| *other == view && *same == arguments) {
            continue;
        }
        let name = Arc::clone(&app.views[view].name);
        let reply = match world.call(Role::AGENT, &name, &arguments) {
            Ok(reply) => Ok(reply),
            Err(CallError::Raised(raised)) => Err(raised),
            Err(crashed) => return Err(crashed),
        };
        shown.calls.push(Called { name, arguments, reply });
    }
    Ok(())
}

/// Value of an input after an action on it.
fn entered(world: &World, element: &Element, kind: InputKind, action: &GuiAction) -> Result<Arc<str>, CallError> {
    match (kind, action) {
        (InputKind::Text, GuiAction::Type { text, .. }) => {
            if text.chars().count() > DRAFT_CHARACTERS_MAX {
                return Err(refusal(world, &format!("Text must be at most {DRAFT_CHARACTERS_MAX} characters.")));
            }
            Ok(text.as_str().into())
        }
        (InputKind::Choice | InputKind::Toggle, GuiAction::Select { option, .. }) => {
            let by_value = element.options.iter().find(|known| *known.value == **option);
            let found = by_value.or_else(|| element.options.iter().find(|known| known.name == *option));
            found
                .map(|found| Arc::clone(&found.value))
                .ok_or_else(|| refusal(world, &format!("{:?} is none of the options.", cut(option, 100))))
        }
        (InputKind::Toggle, GuiAction::Click { .. }) => {
            Ok(if element.value.as_deref() == Some("true") { "false" } else { "true" }.into())
        }
        (InputKind::Text, _) => Err(refusal(world, "Text is typed into this element.")),
        (InputKind::Choice, _) => Err(refusal(world, "One of the options of this element is selected.")),
        (InputKind::Toggle, _) => Err(refusal(world, "This element is clicked.")),
    }
}

/// Forgets what was typed into a form.
fn forget(place: &mut OpenScreen, form: &str) {
    let prefix = format!("{form}/");
    let keys: Vec<Arc<str>> = place.inputs.keys().filter(|key| key.starts_with(&prefix)).cloned().collect();
    for key in keys {
        place.inputs.remove(&key);
    }
}

/// Takes one of `rows` repeated inputs away; those behind it move up.
fn remove_row(place: &mut OpenScreen, list: &Arc<str>, row: usize, rows: usize) {
    let mut moved: Vec<(Arc<str>, Arc<str>)> = Vec::new();
    let inputs: Vec<(Arc<str>, Arc<str>)> =
        place.inputs.iter().map(|(key, text)| (Arc::clone(key), Arc::clone(text))).collect();
    let prefix = format!("{list}.");
    for (key, text) in inputs {
        let Some(rest) = key.strip_prefix(&prefix) else { continue };
        let (number, tail) = rest.find('.').map_or((rest, ""), |dot| rest.split_at(dot));
        let Ok(number) = number.parse::<usize>() else { continue };
        if number >= row {
            place.inputs.remove(&key);
        }
        if number > row {
            moved.push((format!("{prefix}{}{tail}", number - 1).into(), text));
        }
    }
    place.inputs.extend(moved);
    place.inputs.insert(Arc::clone(list), rows.saturating_sub(1).to_string().into());
}

/// Message after an action.
fn done(name: &str, reply: &Reply) -> Arc<str> {
    let mut text = format!("{}: done.", crate::app::screen::words(name));
    match &reply.json {
        Json::Object(members) => {
            for (name, value) in members {
                text.push_str(&format!(" {name}: {}.", plain(value)));
            }
        }
        Json::Null => {}
        other => text.push_str(&format!(" {}", plain(other))),
    }
    cut(&text, TOAST_CHARACTERS_MAX).into()
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn cut(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

fn refusal(world: &World, text: &str) -> CallError {
    Raised::plain(world.app(), errors::INVALID_ARGUMENT, text).into()
}

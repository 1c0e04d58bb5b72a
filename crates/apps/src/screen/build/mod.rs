//! Builder of the tree of elements from screens, data and the state of an actor.

mod cells;
mod fill;
mod input;
mod list;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::command::{Command, Submission};
use super::open_screen::{OpenScreen, Toast};
use super::tree::{AriaRole, Element, Facts, Scrolled, Tree};
use crate::app::screen::{Form, Link, Screen, Widget, WidgetKind, words};
use crate::app::{Action, App, Screens};
use crate::expression::{Checked, Template};
use crate::run::{CallError, World};
use crate::value::Value;
use cells::Window;
pub(crate) use input::plain;
pub(in crate::screen) use input::{plain_parameter, repeats};
use list::Listed;
pub(in crate::screen) use list::row_part;

/// A view that a screen reads, with its arguments.
pub(in crate::screen) type Read = (usize, Map<String, Json>);

/// Builds the tree of one screen.
pub(in crate::screen) struct Builder<'a> {
    pub(super) world: &'a World,
    pub(super) app: &'a App,
    screens: &'a Screens,
    screen: &'a Screen,
    place: &'a OpenScreen,
    toast: Option<&'a Toast>,
    /// Pages by list.
    listed: BTreeMap<Arc<str>, Listed>,
    reads: Vec<Read>,
    window: Window,
    /// Dialogs around what is built now.
    depth: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn new(world: &'a World, place: &'a OpenScreen, toast: Option<&'a Toast>) -> Self {
        let app = world.app();
        Self {
            world,
            app,
            screens: &app.screens,
            screen: &app.screens.screens[place.screen],
            place,
            toast,
            listed: BTreeMap::new(),
            reads: Vec::new(),
            window: Window::new(place.scroll),
            depth: 0,
        }
    }

    /// The tree, and the views that it reads.
    pub(super) fn build(mut self, back: bool) -> Result<(Tree, Vec<Read>), CallError> {
        let locals = Arc::clone(&self.place.args);
        let title = self.text(&self.screen.title, &locals)?;
        let mut elements = vec![self.navigation()];
        if let Some(toast) = self.toast {
            let role = if toast.error.is_some() { AriaRole::Alert } else { AriaRole::Status };
            elements.push(Element::text(role, &*toast.text));
        }
        elements.push(Element::new(AriaRole::Heading, "", title.clone()));
        let screen = self.screen;
        elements.extend(self.body(&screen.body, &locals)?);
        let parts = self.window.parts();
        let scroll = (parts > 1).then(|| Scrolled { part: self.place.scroll.min(parts - 1) + 1, parts });
        Ok((Tree { screen: Arc::clone(&screen.name), title, back, scroll, elements }, self.reads))
    }

    /// Links to the screens that need no arguments.
    fn navigation(&self) -> Element {
        let links = self.screens.screens.iter().enumerate().filter(|(_, screen)| screen.args.is_empty());
        let link = |(place, screen): (usize, &Screen)| {
            let go = Command::Go(OpenScreen { screen: place, ..OpenScreen::default() });
            Element::new(AriaRole::Link, format!("app-nav/{}", screen.name), &*screen.label).doing(go)
        };
        Element::new(AriaRole::Navigation, "", "Screens").with(links.map(link).collect())
    }

    fn body(&mut self, body: &'a [Widget], locals: &Arc<[Value]>) -> Result<Vec<Element>, CallError> {
        let prefix = Arc::clone(&self.screen.name);
        self.widgets(body, &prefix, locals)
    }

    /// Widgets below a prefix of ids.
    fn widgets(&mut self, body: &'a [Widget], prefix: &str, locals: &Arc<[Value]>) -> Result<Vec<Element>, CallError> {
        let mut elements = Vec::new();
        for widget in body {
            let id: Arc<str> = format!("{prefix}/{}", widget.id).into();
            elements.extend(self.widget(&widget.kind, id, locals)?);
        }
        Ok(elements)
    }

    fn widget(
        &mut self,
        kind: &'a WidgetKind,
        id: Arc<str>,
        locals: &Arc<[Value]>,
    ) -> Result<Option<Element>, CallError> {
        Ok(Some(match kind {
            WidgetKind::List(list) => self.list(list, locals)?,
            WidgetKind::Search(view) => self.search(*view, &id),
            WidgetKind::Filters(view) => self.filters(*view, &id)?,
            WidgetKind::Pager(view) => return self.pager(*view, &id, locals),
            WidgetKind::Detail { arg, shows } => self.detail(*arg, shows, id, locals)?,
            WidgetKind::Summary(lines) => {
                let mut cells = Vec::new();
                for (name, checked) in lines {
                    let value = self.value(checked, locals)?;
                    let shown = value.as_ref().map_or_else(|| "-".to_owned(), |value| self.show(value, checked.kind()));
                    let value = value.unwrap_or_default();
                    let fact = Facts::Value { key: Arc::clone(name), value, kind: checked.kind().clone() };
                    cells.push(Element::text(AriaRole::Cell, shown).called(&**name).about(fact));
                }
                Element::new(AriaRole::Group, id, "Summary").with(cells)
            }
            WidgetKind::Form(form) => {
                let label = self.text(&form.label, locals)?;
                let children = self.form(form, &id, &label, locals, self.depth)?;
                let fact = Facts::Act { action: form.action, asks: form.asks() };
                Element::new(AriaRole::Form, id, label).with(children).about(fact)
            }
            WidgetKind::Button(form) => self.button(form, id, locals)?,
            WidgetKind::Goto(link) => self.link(link, id, locals)?,
            WidgetKind::Banner { text, when } => {
                let there = match when {
                    None => true,
                    Some(when) => self.value(when, locals)? == Some(Value::Bool(true)),
                };
                if !there {
                    return Ok(None);
                }
                Element::text(AriaRole::Status, self.text(text, locals)?)
            }
            WidgetKind::Tabs(bodies) | WidgetKind::Steps(bodies) => {
                let steps = matches!(kind, WidgetKind::Steps(_));
                self.bodies(bodies, &id, steps, locals)?
            }
            WidgetKind::Dialog { label, body } => self.dialog(label, body, id, locals)?,
        }))
    }

    /// One of several bodies, with what chooses it.
    fn bodies(
        &mut self,
        bodies: &'a [(Arc<str>, Vec<Widget>)],
        id: &Arc<str>,
        steps: bool,
        locals: &Arc<[Value]>,
    ) -> Result<Element, CallError> {
        let chosen = self.place.inputs.get(id);
        let chosen = bodies.iter().position(|(name, _)| Some(name) == chosen).unwrap_or(0);
        let set = |name: &Arc<str>| Command::Set { key: Arc::clone(id), text: Arc::clone(name) };
        let mut tabs = Vec::new();
        for (place, (name, _)) in bodies.iter().enumerate() {
            let mut tab = Element::new(AriaRole::Tab, format!("{id}/{name}"), words(name)).doing(set(name));
            if place == chosen {
                tab.value = Some("selected".to_owned());
            }
            // Steps are taken one after the other.
            tab.disabled = steps && place > chosen + 1;
            tabs.push(tab);
        }
        let (name, body) = &bodies[chosen];
        let tabs = Element::new(AriaRole::Tablist, Arc::clone(id), "").with(tabs);
        let panel = Element::new(AriaRole::Group, "", words(name)).with(self.body(body, locals)?);
        Ok(Element::new(AriaRole::Group, "", "").with(vec![tabs, panel]))
    }

    fn dialog(
        &mut self,
        label: &str,
        body: &'a [Widget],
        id: Arc<str>,
        locals: &Arc<[Value]>,
    ) -> Result<Element, CallError> {
        if !self.is_open(&id) {
            return Ok(Element::new(AriaRole::Button, id, label).doing(Command::Open { depth: self.depth }));
        }
        let close = Command::Close { dialog: Arc::clone(&id), depth: self.depth };
        let close = Element::new(AriaRole::Button, format!("{id}/close-dialog"), "Close").doing(close);
        self.depth += 1;
        let mut children = self.body(body, locals)?;
        self.depth -= 1;
        children.push(close);
        Ok(Element::new(AriaRole::Dialog, id, label).with(children))
    }

    fn is_open(&self, id: &str) -> bool {
        self.place.dialogs.get(self.depth).is_some_and(|open| **open == *id)
    }

    /// A button that runs an action at once, or its dialog.
    fn button(&mut self, form: &'a Arc<Form>, id: Arc<str>, locals: &Arc<[Value]>) -> Result<Element, CallError> {
        let label = self.text(&form.label, locals)?;
        let fact = Facts::Act { action: form.action, asks: form.asks() || form.confirm };
        if !form.asks() && !form.confirm {
            let submission = Submission {
                form: Arc::clone(form),
                locals: Arc::clone(locals),
                id: Arc::clone(&id),
                depth: self.depth,
            };
            return Ok(Element::new(AriaRole::Button, id, label).doing(Command::Submit(submission)).about(fact));
        }
        if !self.is_open(&id) {
            let open = Command::Open { depth: self.depth };
            return Ok(Element::new(AriaRole::Button, id, label).doing(open).about(fact));
        }
        let mut children = self.form(form, &id, &label, locals, self.depth)?;
        let close = Command::Close { dialog: Arc::clone(&id), depth: self.depth };
        children.push(Element::new(AriaRole::Button, format!("{id}/form-cancel"), "Cancel").doing(close));
        let form = Element::new(AriaRole::Form, "", "").with(children);
        Ok(Element::new(AriaRole::Dialog, id, label).with(vec![form]).about(fact))
    }

    /// The inputs of a form and its button.
    fn form(
        &mut self,
        form: &'a Arc<Form>,
        id: &Arc<str>,
        label: &str,
        locals: &Arc<[Value]>,
        depth: usize,
    ) -> Result<Vec<Element>, CallError> {
        let action: &'a Action = &self.app.actions[form.action];
        let mut children = Vec::new();
        let parameters = action.parameters.iter().zip(&form.fix);
        for (parameter, _) in parameters.filter(|(_, fix)| fix.is_none()) {
            self.input(id, &parameter.name, parameter, None, &mut children)?;
        }
        let name = if form.confirm { format!("Confirm: {label}") } else { label.to_owned() };
        let submission = Submission { form: Arc::clone(form), locals: Arc::clone(locals), id: Arc::clone(id), depth };
        let button = Element::new(AriaRole::Button, format!("{id}/form-submit"), name);
        children.push(button.doing(Command::Submit(submission)));
        Ok(children)
    }

    fn link(&mut self, link: &'a Arc<Link>, id: Arc<str>, locals: &Arc<[Value]>) -> Result<Element, CallError> {
        let label = self.text(&link.label, locals)?;
        let follow = Command::Follow { link: Arc::clone(link), locals: Arc::clone(locals), form: Arc::clone(&id) };
        if !link.asks() {
            return Ok(Element::new(AriaRole::Link, id, label).doing(follow));
        }
        let mut children = Vec::new();
        for parameter in self.asked_of(&link.way) {
            self.input(&id, &parameter.name, &parameter, None, &mut children)?;
        }
        children.push(Element::new(AriaRole::Button, format!("{id}/form-submit"), label.clone()).doing(follow));
        Ok(Element::new(AriaRole::Form, id, label).with(children))
    }

    /// The value of an expression; none where numbers run out of range.
    fn value(&self, checked: &Checked, locals: &[Value]) -> Result<Option<Value>, CallError> {
        match self.world.value(checked, locals) {
            Ok(value) => Ok(Some(value)),
            Err(CallError::Raised(_)) => Ok(None),
            Err(crashed) => Err(crashed),
        }
    }

    fn text(&self, template: &Template, locals: &[Value]) -> Result<String, CallError> {
        match self.world.text(template, locals) {
            Ok(text) => Ok(text),
            Err(CallError::Raised(raised)) => Ok(raised.text),
            Err(crashed) => Err(crashed),
        }
    }
}

impl Element {
    fn called(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }
}

//! The page of the present screen.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;
use minijinja::Value;
use serde::Serialize;

use super::endless::{Earlier, earlier};
use super::model::{Modeller, Node};
use super::suggest::{SEARCH, Suggestions, suggestions};
use super::value;
use crate::app::screen::ViewInputKind;
use crate::app::theme::{Looks, NavEntry, Panel, ROW, Theme};
use crate::run::{CallError, World};
use crate::screen::{AriaRole, Element, Sheet, Viewer};

/// The page of a screen whose page would be longer than any may be.
const TOO_LONG: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Too long</title></head>\
                        <body><main><h1>This page is too long</h1><p>Go back, or look at less of it.</p></main></body></html>\n";

/// Frame around a screen.
#[derive(Debug, Clone, Default)]
pub struct Frame<'a> {
    /// Beginning of every address of the page: empty, or a path without a slash at its end.
    pub base: &'a str,
    /// The bar with the task; none for a reader who gets the task in another way.
    pub task: Option<TaskBar<'a>>,
    /// The end of the episode, if it is over.
    pub over: Option<Ended>,
    /// True if endless lists may ask for their further rows by themselves: where a look at an address is no turn.
    pub grows: bool,
}

/// The task, as a person who plays reads it.
#[derive(Debug, Clone, Serialize)]
pub struct TaskBar<'a> {
    /// The instruction.
    pub text: &'a str,
    /// Names of the answers that the task asks for.
    pub answers: Vec<&'a str>,
}

/// The end of an episode.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Ended {
    /// The verdict; none for a reader who may not see it, or where there is none yet.
    pub verdict: Option<Score>,
}

/// A verdict, as far as a page shows it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Score {
    /// From 0 to 1; none where the episode was not scored.
    pub score: Option<f64>,
    /// `scored`, or the reason why it was not.
    pub status: String,
    /// The clauses of the goal.
    pub checks: Vec<CheckLine>,
}

/// A clause of a verdict.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CheckLine {
    /// Its name.
    pub name: String,
    /// True if it holds.
    pub passed: bool,
    /// Evidence.
    pub evidence: String,
}

#[derive(Serialize)]
struct Link {
    href: String,
    label: String,
    icon: Option<Arc<str>>,
    current: bool,
}

#[derive(Serialize)]
struct Toast<'a> {
    text: &'a str,
    wrong: bool,
}

/// The page of the screen where a viewer is.
///
/// # Errors
/// When an expression of the screen is at fault.
pub fn page(viewer: &Viewer, world: &World, frame: &Frame<'_>) -> Result<String, CallError> {
    let (context, screen) = context(viewer, world, frame)?;
    // A template that fails must not keep anybody from the screen.
    let page = world.app().theme.render(&screen, context.clone()).or_else(|_| Theme::render_default(context));
    Ok(page.unwrap_or_else(|_| TOO_LONG.to_owned()))
}

/// The page of the screen where a viewer is, by the templates of its app alone.
///
/// # Errors
/// When a template of the app fails, in words; or an expression of the screen is at fault.
pub fn themed_page(viewer: &Viewer, world: &World, frame: &Frame<'_>) -> Result<String, String> {
    let (context, screen) = context(viewer, world, frame).map_err(|error| error.to_string())?;
    world.app().theme.render(&screen, context).map_err(|error| format!("the page of the screen {screen}: {error}"))
}

fn context(viewer: &Viewer, world: &World, frame: &Frame<'_>) -> Result<(Value, Arc<str>), CallError> {
    let app = Arc::clone(world.app());
    let sheet = viewer.sheet(world)?;
    let author = Author { viewer, world, frame, looks: &app.theme.looks };
    Ok((author.context(&sheet)?, Arc::clone(&sheet.tree.screen)))
}

/// Writes down what templates see.
struct Author<'a> {
    viewer: &'a Viewer,
    world: &'a World,
    frame: &'a Frame<'a>,
    looks: &'a Looks,
}

impl Author<'_> {
    fn context(&self, sheet: &Sheet) -> Result<Value, CallError> {
        let app = self.world.app();
        let title = self.looks.title.as_deref().map_or_else(|| crate::app::screen::words(&app.name), str::to_owned);
        let icon = self.looks.icon.as_deref().unwrap_or("apps");
        let about = [("name", &*app.name), ("title", &*title), ("icon", icon), ("about", &*app.about)];
        let home = if sheet.screen == 0 { self.panels(&self.looks.home, sheet)? } else { Vec::new() };
        let at = |panels: &BTreeMap<usize, Vec<Panel>>| {
            panels.get(&sheet.screen).map(|panels| self.panels(panels, sheet)).transpose()
        };
        let (beside, under) = (at(&self.looks.beside)?, at(&self.looks.under)?);
        let earlier = earlier(self.viewer, self.world, self.looks, sheet)?;
        let suggestions = suggestions(self.world, self.looks, sheet)?;
        Ok(Value::from_pairs([
            ("app", value(BTreeMap::from(about))),
            ("page", self.page(sheet, &title, &suggestions)),
            ("screen", self.screen(sheet, usize::MAX, (&earlier, &suggestions))),
            (
                "panels",
                Value::from_pairs([
                    ("home", Value::from(home)),
                    ("beside", Value::from(beside.unwrap_or_default())),
                    ("under", Value::from(under.unwrap_or_default())),
                ]),
            ),
        ]))
    }

    fn page(&self, sheet: &Sheet, title: &str, suggestions: &Suggestions) -> Value {
        let toast =
            sheet.tree.elements.get(1).filter(|element| matches!(element.role, AriaRole::Status | AriaRole::Alert));
        let toast = toast.map(|element| Toast {
            text: element.value.as_deref().unwrap_or_default(),
            wrong: element.role == AriaRole::Alert,
        });
        let (nav, more) = self.nav(sheet);
        let primary: Vec<Link> =
            self.looks.nav.iter().filter(|entry| entry.primary).map(|entry| self.entry(entry, sheet)).collect();
        Value::from_pairs([
            ("title", Value::from(title)),
            ("base", Value::from(self.frame.base)),
            ("path", Value::from(self.address(&sheet.address))),
            ("home", Value::from(self.address("/"))),
            ("nav", value(&nav)),
            ("more", value(&more)),
            ("primary", value(&primary)),
            ("back", Value::from(sheet.tree.back)),
            ("toast", value(&toast)),
            ("task", value(&self.frame.task)),
            ("over", value(&self.frame.over)),
            ("script", Value::from(self.world.app().theme.has_script())),
            ("scroll", value(sheet.tree.scroll)),
            ("search", self.search(sheet, suggestions)),
            ("shell", Value::from(self.looks.shell.unwrap_or("sidebar"))),
        ])
    }

    fn address(&self, address: &str) -> String {
        format!("{}{address}", self.frame.base)
    }

    fn path_of(&self, screen: usize) -> String {
        let name = &self.world.app().screens.screens[screen].name;
        let mark = if **name == *crate::screen::ASSETS { "~" } else { "" };
        self.address(&if screen == 0 { "/".to_owned() } else { format!("/{mark}{name}") })
    }

    fn entry(&self, entry: &NavEntry, sheet: &Sheet) -> Link {
        let screen = &self.world.app().screens.screens[entry.screen];
        Link {
            href: self.path_of(entry.screen),
            label: entry.label.as_deref().map_or_else(|| self.screen_label(&screen.name, &screen.label), str::to_owned),
            icon: entry.icon.clone(),
            current: entry.screen == sheet.screen,
        }
    }

    fn screen_label(&self, name: &Arc<str>, label: &Arc<str>) -> String {
        self.looks.labels.get(name).unwrap_or(label).to_string()
    }

    /// Links of the theme, and links to the other screens that need no arguments.
    fn nav(&self, sheet: &Sheet) -> (Vec<Link>, Vec<Link>) {
        let screens = &self.world.app().screens.screens;
        let plain = (0..screens.len()).filter(|place| screens[*place].args.is_empty());
        let named = |place: &usize| self.looks.nav.iter().any(|entry| entry.screen == *place);
        let link = |place| self.entry(&NavEntry { screen: place, label: None, icon: None, primary: false }, sheet);
        if self.looks.nav.is_empty() {
            return (plain.map(link).collect(), Vec::new());
        }
        let nav = self.looks.nav.iter().filter(|entry| !entry.primary).map(|entry| self.entry(entry, sheet));
        (nav.collect(), plain.filter(|place| *place > 0 && !named(place)).map(link).collect())
    }

    /// The search box of every page.
    fn search(&self, sheet: &Sheet, suggestions: &Suggestions) -> Value {
        let Some(entry) = &self.looks.search else { return Value::from(()) };
        let screen = &self.world.app().screens.screens[entry.screen];
        let input = screen.view_inputs.iter().find(|input| matches!(input.kind, ViewInputKind::Search));
        let Some(input) = input else { return Value::from(()) };
        let here = sheet.view(self.world).into_iter().filter(|_| sheet.screen == entry.screen);
        let value = here.filter(|(word, _)| *word == input.word).map(|(_, value)| value.to_string()).next();
        Value::from_pairs([
            ("path", Value::from(self.path_of(entry.screen))),
            ("word", Value::from(&*input.word)),
            ("label", Value::from(self.entry(entry, sheet).label)),
            ("element", Value::from(&*input.key)),
            ("here", Value::from(sheet.screen == entry.screen)),
            ("value", Value::from(value.unwrap_or_default())),
            ("suggest", super::value(suggestions.get(SEARCH))),
        ])
    }

    fn panels(&self, panels: &[Panel], here: &Sheet) -> Result<Vec<Value>, CallError> {
        panels.iter().map(|panel| self.panel(panel, here)).collect()
    }

    fn panel(&self, panel: &Panel, here: &Sheet) -> Result<Value, CallError> {
        let screen = &self.world.app().screens.screens[panel.screen];
        let key = |word: &Arc<str>| screen.view_inputs.iter().find(|input| input.word == *word).map(|input| &input.key);
        let view: OrdMap<Arc<str>, Arc<str>> = panel
            .view
            .iter()
            .filter_map(|(word, value)| Some((Arc::clone(key(word)?), self.meant(value, here)?)))
            .collect();
        let sheet = self.viewer.sheet_beside(self.world, panel.screen, &view)?;
        let title =
            panel.title.as_deref().map_or_else(|| self.screen_label(&screen.name, &screen.label), str::to_owned);
        let screen = self.screen(&sheet, panel.take, (&Earlier::new(), &Suggestions::new()));
        Ok(Value::from_pairs([
            ("title", Value::from(title)),
            ("href", Value::from(self.address(&sheet.address))),
            ("screen", screen),
        ]))
    }

    /// The value of a word of a panel's address.
    fn meant(&self, value: &Arc<str>, here: &Sheet) -> Option<Arc<str>> {
        if **value == *ROW { here.row_id(self.world) } else { Some(Arc::clone(value)) }
    }

    /// A screen as templates see it.
    fn screen(&self, sheet: &Sheet, take: usize, (earlier, suggestions): (&Earlier, &Suggestions)) -> Value {
        let (&Frame { base, grows, .. }, looks) = (self.frame, self.looks);
        let modeller = Modeller { world: self.world, looks, sheet, base, take, earlier, suggestions, grows };
        let elements = body(&sheet.tree.elements);
        let nodes = modeller.nodes(elements);
        let toolbar = Node::toolbar(&nodes, sheet, self.world);
        let kind = kind_of(&nodes, sheet.screen);
        let of_role = |role: &str| nodes.iter().filter(|node| node.role() == role).collect::<Vec<_>>();
        let lists: BTreeMap<Arc<str>, &Node> = nodes.iter().filter_map(|node| Some((node.view()?, node))).collect();
        let acts: Vec<&Node> = nodes.iter().filter(|node| matches!(node.role(), "button" | "link")).collect();
        let detail = nodes.iter().find(|node| node.is_row());
        let name = &sheet.tree.screen;
        let nav = self.looks.nav.iter().find(|entry| entry.screen == sheet.screen && !entry.primary);
        let called = self.looks.labels.get(name).or_else(|| nav?.label.as_ref());
        let title = called.map_or_else(|| sheet.tree.title.clone(), ToString::to_string);
        Value::from_pairs([
            ("name", Value::from(&**name)),
            ("title", Value::from(title)),
            ("kind", Value::from(kind)),
            ("path", Value::from(modeller.path())),
            ("address", Value::from(self.address(&sheet.address))),
            ("lists", value(&lists)),
            ("detail", value(detail)),
            ("acts", value(&acts)),
            ("forms", value(of_role("form"))),
            ("dialogs", value(of_role("dialog"))),
            ("banners", value(of_role("status"))),
            ("toolbar", toolbar),
            ("dialog", Value::from(sheet.tree.all().iter().any(|element| element.role == AriaRole::Dialog))),
            ("nodes", value(&nodes)),
        ])
    }
}

/// Elements below the heading.
fn body(elements: &[Element]) -> &[Element] {
    let heading = elements.iter().position(|element| element.role == AriaRole::Heading);
    heading.map_or(elements, |place| &elements[place + 1..])
}

/// The kind of screen: home, list, detail, form, or mixed.
fn kind_of(nodes: &[Node], screen: usize) -> &'static str {
    let any = |role: &str| nodes.iter().any(|node| node.role() == role);
    if nodes.iter().any(Node::is_row) {
        "detail"
    } else if nodes.iter().any(|node| node.view().is_some()) {
        "list"
    } else if any("form") {
        "form"
    } else if screen == 0 {
        "home"
    } else {
        "mixed"
    }
}

//! A browser that knows forms and links: it reads pages with a real parser and sends what a browser would send.

use std::collections::BTreeMap;

use palestra_apps::html;
use palestra_apps::run::World;
use palestra_apps::screen::{ActionOutcome, GuiAction, Viewer};
use scraper::{ElementRef, Html, Selector};

pub(crate) const BASE: &str = "/app/0b5c";

pub(crate) struct Browser {
    pub(crate) world: World,
    pub(crate) viewer: Viewer,
    /// By element: what was entered and not yet sent, with whether it is a checkbox.
    entered: BTreeMap<String, String>,
}

/// Action of a pressed control.
enum Pressed {
    Link(Vec<(String, String)>),
    Checkbox(bool),
    Button,
}

impl Browser {
    pub(crate) fn new(world: World, viewer: Viewer) -> Self {
        Self { world, viewer, entered: BTreeMap::new() }
    }

    pub(crate) fn page(&self) -> String {
        html::page(&self.viewer.tree(&self.world).expect("a tree"), BASE)
    }

    /// Does with the page what an action does on the screen.
    pub(crate) fn perform(&mut self, action: &GuiAction) {
        let _shown = match action {
            GuiAction::Type { element, text: value } | GuiAction::Select { element, option: value } => {
                self.enter(element, value);
                return;
            }
            GuiAction::Click { element } => {
                // What was entered may have to be sent before the control comes into sight.
                if seek(&Html::parse_document(&self.page()), element).is_none() {
                    self.flush(None);
                }
                let page = Html::parse_document(&self.page());
                let pressed = pressed(control(&page, element));
                match pressed {
                    Pressed::Checkbox(checked) => {
                        let was = self.entered.get(element).map_or(checked, |entered| entered == "true");
                        self.enter(element, if was { "false" } else { "true" });
                        return;
                    }
                    Pressed::Link(fields) => {
                        self.flush(None);
                        self.post(&fields)
                    }
                    Pressed::Button => {
                        self.flush(Some(element));
                        let page = Html::parse_document(&self.page());
                        let form = form_of(control(&page, element));
                        let mut fields = self.fields(form);
                        fields.push(("element".to_owned(), element.clone()));
                        self.entered.clear();
                        self.post(&fields)
                    }
                }
            }
            GuiAction::Back => self.post(&[("go".to_owned(), "back".to_owned())]),
            GuiAction::Home => self.post(&[("go".to_owned(), "home".to_owned())]),
            GuiAction::Scroll { .. } => panic!("nobody scrolls here"),
        };
    }

    /// Enters something into a form, after sending what was entered into another.
    fn enter(&mut self, element: &str, value: &str) {
        self.flush(Some(element));
        self.entered.insert(element.to_owned(), value.to_owned());
    }

    /// Sends what was entered into another form than that of an element.
    fn flush(&mut self, beside: Option<&str>) {
        let Some(first) = self.entered.keys().next().cloned() else { return };
        let page = Html::parse_document(&self.page());
        let form = form_of(control(&page, &first));
        if beside.is_some_and(|element| form_of(control(&page, element)).id() == form.id()) {
            return;
        }
        let fields = self.fields(form);
        self.entered.clear();
        let _shown = self.post(&fields);
    }

    fn post(&mut self, fields: &[(String, String)]) -> ActionOutcome {
        let actions = html::actions(fields).expect("fields of a page");
        self.viewer.act_all(&mut self.world, &actions).expect("no fault of the definition")
    }

    /// Fields that a form sends, without its buttons.
    fn fields(&self, form: ElementRef<'_>) -> Vec<(String, String)> {
        assert_eq!((form.attr("method"), form.attr("action")), (Some("post"), Some(BASE)));
        let mut fields = Vec::new();
        for input in form.select(&selector("input, select, textarea")) {
            let name = input.attr("name").expect("a name").to_owned();
            let entered = input.attr("data-element").and_then(|id| self.entered.get(id)).cloned();
            let value = match (input.value().name(), input.attr("type")) {
                ("input", Some("checkbox")) => {
                    let checked = entered.map_or(input.attr("checked").is_some(), |entered| entered == "true");
                    checked.then(|| "true".to_owned())
                }
                ("input", _) => Some(entered.unwrap_or_else(|| input.attr("value").unwrap_or_default().to_owned())),
                ("select", _) => {
                    let options: Vec<_> = input.select(&selector("option")).collect();
                    let chosen = options.iter().find(|option| option.attr("selected").is_some()).or(options.first());
                    let value = entered.or_else(|| chosen?.attr("value").map(ToOwned::to_owned)).expect("an option");
                    assert!(options.iter().any(|option| option.attr("value") == Some(&value)), "{value} is no option");
                    Some(value)
                }
                // Browsers end lines by two characters.
                _ => Some(entered.unwrap_or_else(|| input.text().collect()).replace('\n', "\r\n")),
            };
            fields.extend(value.map(|value| (name, value)));
        }
        fields
    }
}

pub(crate) fn selector(text: &str) -> Selector {
    Selector::parse(text).expect("a selector")
}

/// The control of an element.
pub(crate) fn control<'p>(page: &'p Html, id: &str) -> ElementRef<'p> {
    seek(page, id).unwrap_or_else(|| panic!("{id} is not on the page\n{}", page.html()))
}

fn seek<'p>(page: &'p Html, id: &str) -> Option<ElementRef<'p>> {
    page.select(&selector("[data-element]")).find(|control| control.attr("data-element") == Some(id))
}

fn form_of(control: ElementRef<'_>) -> ElementRef<'_> {
    control
        .ancestors()
        .filter_map(ElementRef::wrap)
        .find(|above| above.value().name() == "form")
        .expect("a control stands in a form")
}

fn pressed(control: ElementRef<'_>) -> Pressed {
    match control.value().name() {
        "a" => {
            let target = control.attr("href").expect("a link leads somewhere");
            let (base, query) = target.split_once('?').expect("a query");
            let (field, value) = query.split_once('=').expect("a field");
            assert_eq!((base, field), (BASE, "element"));
            Pressed::Link(vec![(field.to_owned(), decode(value))])
        }
        "input" => Pressed::Checkbox(control.attr("checked").is_some()),
        "button" => {
            assert_eq!(control.attr("name"), Some("element"));
            assert_eq!(control.attr("value"), control.attr("data-element"));
            Pressed::Button
        }
        other => panic!("{other} is not pressed"),
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        if *first == b'%' {
            let (digits, behind) = behind.split_at(2);
            let digits = std::str::from_utf8(digits).expect("two digits");
            bytes.push(u8::from_str_radix(digits, 16).expect("a byte"));
            rest = behind;
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8(bytes).expect("text")
}

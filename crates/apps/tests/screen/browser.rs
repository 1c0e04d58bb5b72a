//! A browser that knows addresses, forms and links: it reads pages with a real parser and sends what a browser would send.

use std::collections::BTreeMap;

use palestra_apps::html::{self, Frame, Method, PageRequest, PageResponse, respond};
use palestra_apps::run::World;
use palestra_apps::screen::{GuiAction, Viewer};
use scraper::{ElementRef, Html, Selector};

pub(crate) const BASE: &str = "/app/0b5c";

pub(crate) struct Browser {
    pub(crate) world: World,
    pub(crate) viewer: Viewer,
    /// By element: what was entered and not yet sent, with whether it is a checkbox.
    entered: BTreeMap<String, String>,
}

/// The page of the present screen, by the templates of its app.
pub(crate) fn page_of(viewer: &Viewer, world: &World) -> String {
    let frame = Frame { base: BASE, ..Frame::default() };
    html::themed_page(viewer, world, &frame).unwrap_or_else(|wrong| panic!("{wrong}"))
}

impl Browser {
    pub(crate) fn new(world: World, viewer: Viewer) -> Self {
        Self { world, viewer, entered: BTreeMap::new() }
    }

    pub(crate) fn page(&self) -> String {
        page_of(&self.viewer, &self.world)
    }

    fn here(&self) -> String {
        format!("{BASE}{}", self.viewer.address(&self.world).expect("an address"))
    }

    /// Does with the page what an action does on the screen.
    pub(crate) fn perform(&mut self, action: &GuiAction) {
        match action {
            GuiAction::Type { element, text: value } | GuiAction::Select { element, option: value } => {
                self.enter(element, value);
            }
            GuiAction::Click { element } => self.click(element),
            GuiAction::Back => self.go("back"),
            GuiAction::Home => self.go("home"),
            GuiAction::Open { address } => self.get(&format!("{BASE}{address}")),
            GuiAction::Scroll { .. } => panic!("nobody scrolls here"),
        }
    }

    fn click(&mut self, element: &str) {
        // What was entered may have to be sent before the control comes into sight.
        if seek(&Html::parse_document(&self.page()), element).is_none() {
            self.flush(None);
        }
        if let Some(address) = self.viewer.address_of(&self.world, element).expect("a screen") {
            self.flush(None);
            let page = Html::parse_document(&self.page());
            let target = format!("{BASE}{address}");
            let there = page.select(&selector("a[href]")).any(|link| link.attr("href") == Some(&target));
            assert!(there, "no link leads to {target}\n{}", page.html());
            self.get(&target);
            return;
        }
        let page = Html::parse_document(&self.page());
        let control = control(&page, element);
        if control.value().name() == "input" {
            let was = self.entered.get(element).map_or(control.attr("checked").is_some(), |entered| entered == "true");
            self.enter(element, if was { "false" } else { "true" });
            return;
        }
        assert_eq!((control.attr("name"), control.attr("value")), (Some("element"), Some(element)));
        self.flush(Some(element));
        let page = Html::parse_document(&self.page());
        let form = form_of(seek(&page, element).expect("a button"));
        let mut fields = self.fields(form);
        fields.push(("element".to_owned(), element.to_owned()));
        let target = form.attr("action").expect("an address").to_owned();
        self.entered.clear();
        self.post(&target, &fields);
    }

    fn go(&mut self, way: &str) {
        self.post(&self.here(), &[("go".to_owned(), way.to_owned())]);
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
        let same = |element| seek(&page, element).is_some_and(|control| form_of(control).id() == form.id());
        if beside.is_some_and(same) {
            return;
        }
        let fields = self.fields(form);
        let target = form.attr("action").expect("an address").to_owned();
        let looks = form.attr("method") == Some("get");
        self.entered.clear();
        if looks {
            self.get(&format!("{target}?{}", encode(&fields)));
        } else {
            self.post(&target, &fields);
        }
    }

    fn get(&mut self, target: &str) {
        self.send(Method::Get, target, &[]);
    }

    fn post(&mut self, target: &str, fields: &[(String, String)]) {
        self.send(Method::Post, target, fields);
    }

    /// Sends a request, and follows where it is sent on to.
    fn send(&mut self, method: Method, target: &str, form: &[(String, String)]) {
        let address = target.strip_prefix(BASE).expect("an address of the app");
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let request = PageRequest { method, path, query, form };
        let frame = Frame { base: BASE, ..Frame::default() };
        let (_, answer) = respond(&mut self.viewer, &mut self.world, &request, &frame).expect("no fault");
        match answer {
            PageResponse::Html(_) => assert_eq!(method, Method::Get),
            PageResponse::Redirect(target) => {
                assert_eq!(target, self.here());
                let address = target.strip_prefix(BASE).expect("an address of the app");
                let (path, query) = address.split_once('?').unwrap_or((address, ""));
                let request = PageRequest { method: Method::Get, path, query, form: &[] };
                let (_, answer) = respond(&mut self.viewer, &mut self.world, &request, &frame).expect("no fault");
                assert!(matches!(answer, PageResponse::Html(_)), "{target}: {answer:?}");
            }
            other => panic!("{other:?}"),
        }
    }

    /// Fields that a form sends, without its buttons.
    fn fields(&self, form: ElementRef<'_>) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        for input in form.select(&selector("input, select, textarea")) {
            if input.attr("name").is_none() && input.attr("type") == Some("checkbox") {
                panic!("a checkbox without a name");
            }
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

/// Fields as the query of a form.
fn encode(fields: &[(String, String)]) -> String {
    let part = |text: &str| -> String {
        text.bytes()
            .map(|byte| match byte {
                b' ' => "+".to_owned(),
                byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
                byte => format!("%{byte:02X}"),
            })
            .collect()
    };
    fields.iter().map(|(name, value)| format!("{}={}", part(name), part(value))).collect::<Vec<_>>().join("&")
}

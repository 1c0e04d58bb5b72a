//! A hand at a browser: does with pages of an app what a screen's actions do, by clicks and keys alone.

use palestra_apps::run::World;
use palestra_apps::screen::{AriaRole, GuiAction, Viewer};
use serde_json::{Value, json};

use super::server::TestServer;

/// A session whose agent sees an app's pages in a browser.
pub struct Hand<'a> {
    server: &'a TestServer,
    session: String,
    /// Twin of the app that the pages show, one action behind none of what was done.
    world: World,
    viewer: Viewer,
    /// Steps that were taken.
    pub steps: u64,
    /// Answer to the last of them.
    pub last: Value,
    /// Actions that they led to and that nothing takes back.
    pub irreversible: Vec<Value>,
}

/// Actions of a step that nothing takes back.
pub fn irreversible(step: &Value) -> Vec<Value> {
    step["info"]["irreversible"].as_array().cloned().unwrap_or_default()
}

impl<'a> Hand<'a> {
    pub fn new(server: &'a TestServer, session: &Value, world: World) -> Self {
        let session = session["id"].as_str().expect("an id").to_owned();
        Self { server, session, world, viewer: Viewer::new(), steps: 0, last: Value::Null, irreversible: Vec::new() }
    }

    /// Takes one step of the session.
    pub async fn step(&mut self, action: &Value) -> &Value {
        let body = json!({"action": action});
        self.last = self.server.post(&format!("/v1/sessions/{}/step", self.session), &body).await.ok();
        self.steps += 1;
        self.irreversible.extend(irreversible(&self.last));
        &self.last
    }

    /// Takes a step as BrowserGym writes it; what is wrong with it, if something is.
    async fn attempt(&mut self, action: &str) -> Option<String> {
        let step = self.step(&json!({"text": action})).await;
        let error = &step["observation"]["data"]["error"];
        assert!(step["observation"]["data"].is_object(), "{action}: {step}");
        error.as_str().map(str::to_owned)
    }

    async fn must(&mut self, action: &str) -> Result<(), String> {
        let error = self.attempt(action).await;
        error.map_or(Ok(()), |error| Err(format!("{action}: {error}\n{}", self.last["observation"]["text"])))
    }

    /// Does with the pages what an action does on the screen.
    ///
    /// # Errors
    /// With what the page answered instead.
    pub async fn perform(&mut self, action: &GuiAction) -> Result<(), String> {
        match action {
            GuiAction::Type { element, text } => {
                let text = self.by_its_clock(text);
                self.reach("fill", &attribute(element), &format!(", {}", quoted(&text))).await?;
                self.send_search(element).await?;
            }
            GuiAction::Select { element, option } => self.choose(element, option).await?,
            GuiAction::Click { element } => self.click(element).await?,
            GuiAction::Back => self.must("click('css=button[name=go][value=back]')").await?,
            GuiAction::Home => self.must("click('css=a.brand')").await?,
            GuiAction::Open { address } => self.must(&format!("goto({})", quoted(address))).await?,
            GuiAction::Scroll { .. } => return Err("nobody scrolls here".to_owned()),
        }
        self.viewer.act(&mut self.world, action).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// A point in time as an input of dates and times takes it: by the clock of the app, without an offset.
    fn by_its_clock(&self, text: &str) -> String {
        let calendar = &self.world.app().calendar;
        let Some(instant) = calendar.parse_instant(text).filter(|_| text.contains('T')) else { return text.to_owned() };
        let shown = calendar.show_instant(instant);
        let offset = shown.rfind(['+', '-']).unwrap_or(shown.len());
        shown[..offset].to_owned()
    }

    /// Time passes in the app.
    pub async fn wait(&mut self, seconds: i64) {
        self.world.wait(seconds).expect("time passes");
        self.step(&json!({"tool": "wait", "arguments": {"seconds": seconds}})).await;
    }

    /// Takes a step at what a selector fits; a dialog over it is closed, and what it is folded away in is opened first.
    async fn reach(&mut self, verb: &str, fits: &str, more: &str) -> Result<(), String> {
        let action = format!("{verb}({}{more})", quoted(&format!("css={fits}")));
        let Some(mut error) = self.attempt(&action).await else { return Ok(()) };
        if self.last["observation"]["text"].as_str().is_some_and(|text| text.contains("modal=True")) {
            self.must("keyboard_press('Escape')").await?;
            match self.attempt(&action).await {
                Some(still) => error = still,
                None => return Ok(()),
            }
        }
        let folded = format!("css=details:not([open]):has({fits}) > summary");
        if self.attempt(&format!("click({})", quoted(&folded))).await.is_some() {
            return Err(format!("{action}: {error}\n{}", self.last["observation"]["text"]));
        }
        self.must(&action).await
    }

    /// A search that is typed, or what a list asks for, is sent by the key Enter.
    async fn send_search(&mut self, element: &str) -> Result<(), String> {
        let tree = self.viewer.tree(&self.world).map_err(|error| error.to_string())?;
        let role = tree.find(element).map(|element| element.role);
        if role == Some(AriaRole::Searchbox) || element.contains("/ask-") {
            self.reach("press", &attribute(element), ", 'Enter'").await?;
        }
        Ok(())
    }

    async fn choose(&mut self, element: &str, option: &str) -> Result<(), String> {
        let tree = self.viewer.tree(&self.world).map_err(|error| error.to_string())?;
        if tree.find(element).is_some_and(|element| element.role == AriaRole::Checkbox) {
            let verb = if option == "true" { "check" } else { "uncheck" };
            return self.reach(verb, &attribute(element), "").await;
        }
        self.reach("select_option", &attribute(element), &format!(", {}", quoted(option))).await
    }

    async fn click(&mut self, element: &str) -> Result<(), String> {
        let address = self.viewer.address_of(&self.world, element).map_err(|error| error.to_string())?;
        if let Some(address) = address {
            let link = format!("a[href=\"{}\"]", escaped(&address));
            if self
                .attempt(&format!("click({})", quoted(&format!("css={link}:not(details:not([open]) a)"))))
                .await
                .is_none()
            {
                return Ok(());
            }
            return self.reach("click", &link, "").await;
        }
        self.reach("click", &attribute(element), "").await?;
        // What takes something away is asked about first.
        if self.last["observation"]["text"].as_str().is_some_and(|text| text.contains("button 'Yes'")) {
            self.must("click('role=button[name=\"Yes\"]')").await?;
        }
        Ok(())
    }
}

fn attribute(element: &str) -> String {
    format!("[data-element=\"{}\"]", escaped(element))
}

/// Text in a string of a selector.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Text as an argument of an action.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}

//! Listening to a tab: its requests are answered, its state is kept.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use url::Url;

use super::state::{Dialog, Tab};
use super::{Shared, clipboard};
use crate::cdp::{Channel, Event, EventQueue, Events};
use crate::site::{Answer, Request};

/// Requests of one tab that wait for answers at once.
const WAITING_MAX: usize = 8;

/// Types of requests that scripts make and go on from.
const SCRIPTED: [&str; 2] = ["Fetch", "XHR"];

/// Listens to one tab until it is closed.
#[derive(Clone)]
pub(super) struct Driver {
    shared: Arc<Shared>,
    channel: Channel,
    target: String,
    /// Room for requests that wait.
    waiting: Arc<Semaphore>,
}

impl Driver {
    /// Listens from now on.
    pub(super) fn listen(shared: Arc<Shared>, channel: Channel, target: String, is_ahead: bool) {
        let (events, queue) = Events::queue();
        let arrivals = events.arrivals();
        channel.connection.listen(Some(&channel.session), events);
        let driver = Self { shared, channel, target, waiting: Arc::new(Semaphore::new(WAITING_MAX)) };
        let tab = Tab::new(driver.channel.clone(), driver.target.clone(), is_ahead, arrivals);
        driver.shared.change(|state| {
            state.asked_for -= 1;
            state.tabs.push(tab);
            state.front = state.tabs.len() - 1;
        });
        #[expect(clippy::disallowed_methods, reason = "it ends with the tab, whose queue ends then")]
        tokio::spawn(driver.run(queue));
    }

    async fn run(self, mut queue: EventQueue) {
        while let Some(event) = queue.next().await {
            self.take(&event).await;
            self.shared.change(|state| state.tab(&self.target).map(|tab| tab.noted += 1));
        }
        self.channel.connection.forget(&self.channel.session);
        let left_out = queue.left_out();
        self.shared.change(|state| {
            state.left_out += left_out;
            state.remove(&self.target);
        });
    }

    async fn take(&self, Event { method, params, .. }: &Event) {
        match method.as_str() {
            "Fetch.requestPaused" => self.asked(params).await,
            "Target.attachedToTarget" => self.attached(params).await,
            "Runtime.bindingCalled" => clipboard::told(&self.shared, &self.channel, &self.target, params),
            _ => {
                if method == "Page.frameNavigated" && params["frame"]["parentId"].is_null() {
                    catch_up(&self.shared, &self.channel, &self.target, &params["frame"]);
                }
                self.note(method, params);
            }
        }
    }

    /// Takes note of what happened to the tab.
    fn note(&self, method: &str, params: &Value) {
        let text = |name: &str| params[name].as_str().unwrap_or_default();
        let frame = text("frameId").to_owned();
        self.shared.change(|state| {
            match method {
                "Runtime.consoleAPICalled" => return state.print(text("type"), &spoken(&params["args"])),
                "Runtime.exceptionThrown" => {
                    let details = &params["exceptionDetails"];
                    let thrown = details["exception"]["description"].as_str().or_else(|| details["text"].as_str());
                    return state.print("error", thrown.unwrap_or_default());
                }
                "Log.entryAdded" => {
                    let entry = &params["entry"];
                    let (level, said) = (entry["level"].as_str(), entry["text"].as_str());
                    return state.print(level.unwrap_or_default(), said.unwrap_or_default());
                }
                "Page.frameRequestedNavigation" if matches!(text("disposition"), "newTab" | "newWindow") => {
                    state.asked_for += 1;
                    return;
                }
                _ => {}
            }
            let Some(tab) = state.tab(&self.target) else { return };
            match method {
                "Page.frameStartedLoading" => drop(tab.loading.insert(frame)),
                // A tab that a page opened loads before it is listened to, and tells of no other beginning.
                "Page.frameStartedNavigating"
                    if !matches!(text("navigationType"), "sameDocument" | "historySameDocument") =>
                {
                    tab.loading.insert(frame);
                }
                "Page.frameStoppedLoading" => drop(tab.loading.remove(&frame)),
                "Network.requestWillBeSent" if SCRIPTED.contains(&text("type")) => {
                    tab.calls.insert(text("requestId").to_owned());
                }
                "Network.loadingFinished" | "Network.loadingFailed" => {
                    tab.is_answered |= tab.calls.remove(text("requestId"));
                }
                "Page.frameDetached" => {
                    tab.loading.remove(&frame);
                    tab.scripts.remove(&frame);
                }
                "Page.frameNavigated" => {
                    tab.documents += 1;
                    if params["frame"]["parentId"].is_null() {
                        // Nobody waits any more for what the document before it asked for.
                        tab.calls.clear();
                        let fragment = params["frame"]["urlFragment"].as_str().unwrap_or_default();
                        tab.url = format!("{}{fragment}", params["frame"]["url"].as_str().unwrap_or_default());
                        params["frame"]["loaderId"].as_str().unwrap_or_default().clone_into(&mut tab.document);
                    }
                }
                "Page.navigatedWithinDocument" if tab.scripts.len() <= 1 || frame == self.target => {
                    text("url").clone_into(&mut tab.url);
                }
                "Page.javascriptDialogOpening" => {
                    tab.dialog = Some(Dialog {
                        kind: text("type").to_owned(),
                        message: text("message").to_owned(),
                        default_text: text("defaultPrompt").to_owned(),
                    });
                }
                "Page.javascriptDialogClosed" => {
                    tab.dialog = None;
                    tab.dialogs_ended += 1;
                }
                "Page.fileChooserOpened" => tab.chooser = params["backendNodeId"].as_i64(),
                "Input.dragIntercepted" => tab.drag = Some(params["data"].clone()),
                "Runtime.executionContextCreated" => {
                    let context = &params["context"];
                    if context["auxData"]["isDefault"] == true
                        && let (Some(frame), Some(id)) =
                            (context["auxData"]["frameId"].as_str(), context["id"].as_i64())
                    {
                        tab.scripts.insert(frame.to_owned(), id);
                    }
                }
                "Runtime.executionContextDestroyed" => {
                    let gone = params["executionContextId"].as_i64();
                    tab.scripts.retain(|_, id| Some(*id) != gone);
                }
                "Runtime.executionContextsCleared" => tab.scripts.clear(),
                "Inspector.targetCrashed" => {
                    tab.crashed = true;
                    tab.scripts.clear();
                    tab.loading.clear();
                    tab.calls.clear();
                }
                _ => {}
            }
        });
    }

    /// Workers of a page run once they have its clock.
    async fn attached(&self, params: &Value) {
        let Some(session) = params["sessionId"].as_str() else { return };
        let channel = Channel { connection: self.channel.connection.clone(), session: session.into() };
        // Where the connection is gone, so is the worker.
        let _ = channel.post(&[("Runtime.runIfWaitingForDebugger", json!({}))]).await;
    }

    /// Answers a request of the page, beside others where its answer has to be waited for.
    async fn asked(&self, params: &Value) {
        self.shared.change(|state| state.tab(&self.target).map(|tab| tab.requests += 1));
        let request = request(params);
        let waits =
            request.as_ref().is_some_and(|request| self.shared.site.get().is_some_and(|site| site.waits(request)));
        let permit = if waits { Arc::clone(&self.waiting).acquire_owned().await.ok() } else { None };
        match permit {
            None => self.answer(params, request).await,
            Some(permit) => {
                let (driver, params) = (self.clone(), params.clone());
                #[expect(
                    clippy::disallowed_methods,
                    reason = "it ends with the answer, for which a site has a time limit"
                )]
                tokio::spawn(async move {
                    driver.answer(&params, request).await;
                    drop(permit);
                });
            }
        }
    }

    async fn answer(&self, params: &Value, request: Option<Request>) {
        let id = &params["requestId"];
        let stand = self.shared.stand.lock().clone();
        let answer = match (request, stand, self.shared.site.get()) {
            (Some(request), ..) if is_for_an_icon(params, &request) => Answer::text(204, "image/x-icon", ""),
            (Some(request), Some(stand), _) => stand.answer(&request),
            (Some(request), None, Some(site)) => site.answer(request).await,
            _ => Answer::Blocked,
        };
        let url = params["request"]["url"].as_str().unwrap_or_default();
        let (status, command) = match answer {
            Answer::Response { status, headers, body } => {
                let headers: Vec<Value> =
                    headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
                let body = STANDARD.encode(body);
                let response =
                    json!({"requestId": id, "responseCode": status, "responseHeaders": headers, "body": body});
                (status, ("Fetch.fulfillRequest", response))
            }
            Answer::Blocked => (0, ("Fetch.failRequest", json!({"requestId": id, "errorReason": "BlockedByClient"}))),
        };
        // Where the connection is gone, so is the page.
        let _ = self.channel.post(&[command]).await;
        self.shared.change(|state| {
            if !(100..400).contains(&status) {
                state.fail(url, status);
            }
            state.tab(&self.target).map(|tab| tab.requests -= 1)
        });
    }
}

/// Asks again for a first document that was on its way before requests were answered, and so was not found.
pub(super) fn catch_up(shared: &Arc<Shared>, channel: &Channel, target: &str, frame: &Value) {
    let missed = shared.change(|state| {
        let tab = state.tab(target).filter(|tab| tab.is_ahead)?;
        tab.is_ahead = false;
        let missed = frame["unreachableUrl"].as_str()?;
        tab.requests += 1;
        Some(missed.to_owned())
    });
    let Some(url) = missed else { return };
    let (shared, channel, target) = (Arc::clone(shared), channel.clone(), target.to_owned());
    #[expect(clippy::disallowed_methods, reason = "it ends by itself, once the browser has answered")]
    tokio::spawn(async move {
        // Where the connection is gone, so is the page.
        let _ = channel.call("Page.navigate", json!({"url": url})).await;
        shared.change(|state| state.tab(&target).map(|tab| tab.requests -= 1));
    });
}

/// True if the browser asks by itself for the icon of a tab, which nobody sees. A page that names an icon is asked for that.
fn is_for_an_icon(params: &Value, request: &Request) -> bool {
    params["resourceType"] == "Other" && request.url.path() == "/favicon.ico"
}

/// A request as the protocol tells it; `None` where its address is none.
fn request(params: &Value) -> Option<Request> {
    let told = &params["request"];
    let url = Url::parse(told["url"].as_str()?).ok()?;
    let headers = told["headers"].as_object().into_iter().flatten();
    let parts = told["postDataEntries"].as_array().into_iter().flatten();
    let parts = parts.filter_map(|part| STANDARD.decode(part["bytes"].as_str()?).ok());
    Some(Request {
        method: told["method"].as_str()?.to_owned(),
        url,
        headers: headers.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect(),
        body: parts.flatten().collect(),
        is_document: params["resourceType"] == "Document",
    })
}

/// Arguments of a call of the console, as text.
fn spoken(arguments: &Value) -> String {
    let text = |argument: &Value| match (&argument["value"], argument["description"].as_str()) {
        (Value::String(text), _) => text.clone(),
        (Value::Null, Some(description)) => description.to_owned(),
        (Value::Null, None) => argument["type"].as_str().unwrap_or_default().to_owned(),
        (value, _) => value.to_string(),
    };
    arguments.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(" ")
}

//! Requests of a browser: what they do on the screen, and what is answered.

use serde_json::{Map, Value as Json};

use super::form::{NotActions, OPEN, actions, ending};
use super::page::{Frame, page};
use crate::app::theme::Asset;
use crate::run::{CallError, World};
use crate::screen::{ActionOutcome, GuiAction, Viewer};

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Looks at an address.
    Get,
    /// Sends a form.
    Post,
}

/// A request of a browser for a page.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest<'a> {
    /// Its method.
    pub method: Method,
    /// The path behind the base: `/orders/W123`, as it was sent.
    pub path: &'a str,
    /// The query without its question mark, as it was sent; empty where there is none.
    pub query: &'a str,
    /// The fields of a form.
    pub form: &'a [(String, String)],
}

/// Purpose of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// The page of the present screen.
    Show,
    /// Actions on the screen, and then the page.
    Act(Vec<GuiAction>),
    /// A call of `submit` with these arguments.
    Submit(Map<String, Json>),
    /// A style sheet, script or picture.
    Asset(Asset),
    /// Something that no page has.
    Missing,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum PageResponse {
    /// A page.
    Html(String),
    /// The present address, base before it; to be answered as 303.
    Redirect(String),
    /// A style sheet, script or picture.
    Asset(Asset),
    /// The end of the task: `submit` is to be called with these arguments, and then the browser sent to the present address.
    Submit(Map<String, Json>),
    /// Something that no page has; to be answered as 404.
    Missing,
    /// A form that no page has, in words; to be answered as 400.
    Bad(String),
}

/// The fields of a posted form, `application/x-www-form-urlencoded`; none where it is none.
#[must_use]
pub fn fields(body: &str) -> Option<Vec<(String, String)>> {
    crate::screen::pairs(body)
}

/// Finds out what a request asks for. Nothing is done yet.
///
/// # Errors
/// When its form has a field that no page has.
pub fn plan(viewer: &Viewer, world: &World, request: &PageRequest<'_>) -> Result<Plan, NotActions> {
    if let Some(name) = request.path.strip_prefix("/theme/").filter(|_| request.method == Method::Get)
        && let Some(asset) = world.app().theme.asset(name)
    {
        return Ok(Plan::Asset(asset.clone()));
    }
    if request.path == "/favicon.ico" {
        return Ok(Plan::Missing);
    }
    let address =
        if request.query.is_empty() { request.path.to_owned() } else { format!("{}?{}", request.path, request.query) };
    // Where the definition is at fault, the first action meets the same fault and reports it.
    let here = viewer.is_at(world, &address).unwrap_or(false);
    let go = (!here).then_some(GuiAction::Open { address: address.clone() });
    if request.method == Method::Get {
        return Ok(go.map_or(Plan::Show, |go| Plan::Act(vec![go])));
    }
    if let Some(arguments) = ending(request.form)? {
        return Ok(Plan::Submit(arguments));
    }
    let mut all: Vec<GuiAction> = go.into_iter().collect();
    let opened = request.form.iter().filter(|(name, _)| name == OPEN).map(|(_, id)| id);
    let closed = opened.filter(|id| !viewer.has_open(world, &address, id));
    all.extend(closed.map(|id| GuiAction::Click { element: id.clone() }));
    let tree = if here { viewer.tree(world).ok() } else { None };
    let holds = |id: &str, text: &str| {
        tree.as_ref().and_then(|tree| tree.find(id)).is_some_and(|element| element.value.as_deref() == Some(text))
    };
    // What an input holds already is not entered again.
    all.extend(actions(request.form)?.into_iter().filter(|action| match action {
        GuiAction::Type { element, text } => !holds(element, text),
        GuiAction::Select { element, option } => !holds(element, option),
        _ => true,
    }));
    Ok(if all.is_empty() { Plan::Show } else { Plan::Act(all) })
}

/// Does what a request asks for, and answers it. Each action is a transition as any other on the screen, up to the first that is
/// refused; what came of each is told. Of an episode that is over only the page is shown.
///
/// # Errors
/// When the definition is at fault.
pub fn respond(
    viewer: &mut Viewer,
    world: &mut World,
    request: &PageRequest<'_>,
    frame: &Frame<'_>,
) -> Result<(Vec<ActionOutcome>, PageResponse), CallError> {
    let planned = match plan(viewer, world, request) {
        Ok(planned) => planned,
        Err(error) => return Ok((Vec::new(), PageResponse::Bad(error.to_string()))),
    };
    let actions = match planned {
        Plan::Asset(asset) => return Ok((Vec::new(), PageResponse::Asset(asset))),
        Plan::Missing => return Ok((Vec::new(), PageResponse::Missing)),
        _ if frame.over.is_some() => Vec::new(),
        Plan::Submit(arguments) => return Ok((Vec::new(), PageResponse::Submit(arguments))),
        Plan::Show => Vec::new(),
        Plan::Act(actions) => actions,
    };
    let mut outcomes = Vec::new();
    for action in &actions {
        let outcome = viewer.act(world, action)?;
        let refused = outcome.error.is_some();
        outcomes.push(outcome);
        if refused {
            break;
        }
    }
    let address = viewer.address(world)?;
    let asked =
        if request.query.is_empty() { request.path.to_owned() } else { format!("{}?{}", request.path, request.query) };
    if request.method == Method::Post || (!actions.is_empty() && asked != address) {
        return Ok((outcomes, PageResponse::Redirect(format!("{}{address}", frame.base))));
    }
    Ok((outcomes, PageResponse::Html(page(viewer, world, frame)?)))
}

//! Addresses of screens: `/orders/W123?tab=items`. The path has the name of a screen and its arguments by their public ids; the
//! query has what is only looked at. Home is `/`.

use std::borrow::Cow;
use std::sync::Arc;

use imbl::OrdMap;
use serde_json::Value as Json;

use super::build::{plain, plain_parameter};
use super::open_screen::{DRAFT_CHARACTERS_MAX, OpenScreen};
use crate::app::screen::{Screen, ViewInput, ViewInputKind};
use crate::app::{Role, errors};
use crate::kinds::Type;
use crate::run::{CallError, Raised, World};
use crate::value::Value;

/// Stands for null in a path; before `=`, for a text that a path cannot hold as it is.
const MARK: char = '~';
/// The first part of the paths of style sheets, scripts and pictures.
pub(crate) const ASSETS: &str = "theme";

/// Where an address leads.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Destination {
    pub(crate) screen: usize,
    pub(crate) args: Arc<[Value]>,
    /// View inputs that are not as at first.
    pub(crate) view: OrdMap<Arc<str>, Arc<str>>,
}

impl Destination {
    /// Where a screen of a route is.
    pub(super) fn of(screen: &Screen, place: &OpenScreen) -> Self {
        let held = |input: &ViewInput| {
            let text = place.inputs.get(&input.key).filter(|text| !input.is_default(text))?;
            Some((Arc::clone(&input.key), Arc::clone(text)))
        };
        let view = screen.view_inputs.iter().filter_map(held).collect();
        Self { screen: place.screen, args: Arc::clone(&place.args), view }
    }
}

/// The address of a screen of a route.
pub(super) fn show(world: &World, place: &OpenScreen) -> String {
    let screens = &world.app().screens.screens;
    let screen = &screens[place.screen];
    let mut address = String::from("/");
    if place.screen > 0 {
        if *screen.name == *ASSETS {
            address.push(MARK);
        }
        encode(&screen.name, &mut address);
    }
    for ((_, kind), value) in screen.args.iter().zip(place.args.iter()) {
        let json = world.codec().to_json(value, kind, world.data());
        address.push('/');
        segment(&json, &mut address);
    }
    let there = Destination::of(screen, place);
    let words = screen.view_inputs.iter().filter_map(|input| Some((&input.word, there.view.get(&input.key)?)));
    query(words, &mut address);
    address
}

/// Writes words and values as a query; nothing where there are none.
pub(crate) fn query<'t>(pairs: impl Iterator<Item = (&'t Arc<str>, &'t Arc<str>)>, address: &mut String) {
    for (number, (word, text)) in pairs.enumerate() {
        address.push(if number == 0 { '?' } else { '&' });
        encode(word, address);
        address.push('=');
        encode(text, address);
    }
}

/// Where an address leads.
///
/// # Errors
/// A typed refusal: it is no address, there is no such screen or row, or a value makes no sense.
pub(crate) fn parse(world: &World, address: &str) -> Result<Destination, CallError> {
    let address = address.split('#').next().unwrap_or_default();
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let Some(path) = path.strip_prefix('/') else {
        return Err(refused(world, "An address begins with /, such as / or those of links.".to_owned()));
    };
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut parts = path.split('/').map(|part| decode(part, false));
    let name = parts.next().flatten().ok_or_else(|| garbled(world))?;
    let name = name.strip_prefix(MARK).unwrap_or(&name);
    let screens = &world.app().screens.screens;
    let place = if name.is_empty() { Some(0) } else { screens.iter().position(|screen| *screen.name == *name) };
    let Some(place) = place else {
        let name: String = name.chars().take(60).collect();
        return Err(refused(world, format!("There is no page {name:?} here.")));
    };
    let screen = &screens[place];
    let mut args = Vec::new();
    for (name, kind) in &screen.args {
        let part = parts.next().ok_or_else(|| refused(world, format!("The address lacks the {name}.")))?;
        let json = argument(&part.ok_or_else(|| garbled(world))?, kind);
        args.push(world.argument(Role::AGENT, &plain_parameter(name, kind), Some(&json))?);
    }
    if parts.next().is_some() {
        return Err(refused(world, "The address has too many parts.".to_owned()));
    }
    let mut view = OrdMap::new();
    for (word, text) in pairs(query).ok_or_else(|| garbled(world))? {
        let visible = |input: &&ViewInput| match input.kind {
            ViewInputKind::Filter(table, column) => world.sees_column(Role::AGENT, table, column),
            _ => true,
        };
        let Some(input) = screen.view_inputs.iter().filter(visible).find(|input| *input.word == *word) else {
            let word: String = word.chars().take(60).collect();
            return Err(refused(world, format!("This page knows nothing of {word:?} in its address.")));
        };
        check(world, input, &text)?;
        if input.is_default(&text) {
            view.remove(&input.key);
        } else {
            view.insert(Arc::clone(&input.key), text.into());
        }
    }
    Ok(Destination { screen: place, args: args.into(), view })
}

/// The names and values of a query or a posted form; none where it is none.
pub(crate) fn pairs(query: &str) -> Option<Vec<(String, String)>> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Some((decode(name, true)?, decode(value, true)?))
        })
        .collect()
}

/// Refuses a value that no control of the screen takes.
fn check(world: &World, input: &ViewInput, text: &str) -> Result<(), CallError> {
    let one_of = |words: &[Arc<str>]| words.iter().any(|word| **word == *text);
    let of_kind = |kind: &Type| match kind.present() {
        Type::Bool => matches!(text, "" | "true" | "false"),
        Type::Enum(words) => text.is_empty() || one_of(words),
        _ => true,
    };
    let fits = match &input.kind {
        ViewInputKind::Tab(words) | ViewInputKind::Sort(words) => one_of(words),
        ViewInputKind::Page => text.parse::<u64>().is_ok_and(|page| page > 0 && page.to_string() == text),
        ViewInputKind::Search => true,
        ViewInputKind::Filter(table, column) => of_kind(&world.app().schema.table(*table).describe(*column).kind),
        ViewInputKind::Asked(kind) => of_kind(kind),
    };
    if fits && text.chars().count() <= DRAFT_CHARACTERS_MAX {
        return Ok(());
    }
    let text: String = text.chars().take(60).collect();
    Err(refused(world, format!("{text:?} is no value for {:?} in this address.", input.word)))
}

/// An argument as a part of a path.
fn segment(json: &Json, out: &mut String) {
    let text: Cow<'_, str> = match json {
        Json::Null => {
            out.push(MARK);
            return;
        }
        Json::Array(_) | Json::Object(_) => json.to_string().into(),
        scalar => plain(scalar).into(),
    };
    // Browsers leave out empty parts and dots.
    if text.is_empty() || text.starts_with(MARK) || text == "." || text == ".." {
        out.push(MARK);
        out.push('=');
    }
    encode(&text, out);
}

/// A part of a path as an argument. What does not fit stays text, and the argument says what is wrong with it.
fn argument(text: &str, kind: &Type) -> Json {
    let text = match text.strip_prefix(MARK) {
        Some("") => return Json::Null,
        Some(rest) => rest.strip_prefix('=').unwrap_or(rest),
        None => text,
    };
    let otherwise = || Json::String(text.to_owned());
    match kind.present() {
        Type::Int => text.parse::<i64>().map_or_else(|_| otherwise(), Json::from),
        Type::Bool => text.parse::<bool>().map_or_else(|_| otherwise(), Json::from),
        Type::List(_) | Type::Record(_) => serde_json::from_str(text).unwrap_or_else(|_| otherwise()),
        _ => otherwise(),
    }
}

/// Writes text so that it can stand in any part of an address.
pub(crate) fn encode(text: &str, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~:@,".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

/// Text that was written for an address; none where it is not well formed. In forms a plus is a space.
fn decode(text: &str, form: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            b'+' if form => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn garbled(world: &World) -> CallError {
    refused(world, "The address is not well formed: follow a link instead.".to_owned())
}

fn refused(world: &World, text: String) -> CallError {
    Raised::plain(world.app(), errors::INVALID_ARGUMENT, text).into()
}

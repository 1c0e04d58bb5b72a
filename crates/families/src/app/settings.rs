//! Settings of a session: `{"surface": "tools" | "gui" | "both" | "browser" | "hybrid", "screenshot": true, "show_verdict": true,
//! "state": {"table": {"id": {"column": value}}}}`.

use palestra_apps::data::{Data, DataFault};
use palestra_apps::task::episode::Episode;
use palestra_apps::task::instance::Instance;
use serde_json::{Map, Value};

use crate::browsed::{Look, RECORD, SCREENSHOT};
use palestra_environment::ConfigError;
use palestra_environment::surface::Surface;

/// Which setting chooses the surface.
const SURFACE: &str = "surface";
/// Which setting overrides the data that a task begins with.
pub(super) const STATE: &str = "state";
/// Which setting lets the page of an episode show its verdict.
const SHOW_VERDICT: &str = "show_verdict";
/// Faults of overrides that are told.
const FAULTS_TOLD_MAX: usize = 8;

/// Settings that were read.
pub(super) struct Settings<'a> {
    pub(super) surface: Surface,
    pub(super) look: Look,
    pub(super) shows_verdict: bool,
    state: Option<&'a Value>,
}

impl<'a> Settings<'a> {
    pub(super) fn read(config: &'a Map<String, Value>) -> Result<Self, ConfigError> {
        let known = [SURFACE, STATE, SCREENSHOT, RECORD, SHOW_VERDICT];
        if let Some(other) = config.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(wrong(
                other,
                "an app has no such setting: use surface, state, screenshot, record and show_verdict",
            ));
        }
        let surface = Self::surface_of(config)?;
        let look = Look::read(config)?;
        if look != Look::default() && !surface.has_browser() {
            let field = if config.contains_key(SCREENSHOT) { SCREENSHOT } else { RECORD };
            return Err(wrong(field, "there are no pages to make pictures of: choose the surface browser or hybrid"));
        }
        let shows_verdict = match config.get(SHOW_VERDICT) {
            None | Some(Value::Bool(false)) => false,
            Some(Value::Bool(true)) if surface.has_screen() => true,
            Some(Value::Bool(true)) => {
                return Err(wrong(SHOW_VERDICT, "there is no page for people: choose the surface gui or both"));
            }
            Some(_) => return Err(wrong(SHOW_VERDICT, "must be true or false")),
        };
        let state = config.get(STATE).filter(|state| !state.is_null());
        match state {
            Some(state) if !state.is_object() => Err(wrong(STATE, "must be an object of tables")),
            state => Ok(Self { surface, look, shows_verdict, state }),
        }
    }

    /// The surface that settings choose.
    pub(super) fn surface_of(config: &Map<String, Value>) -> Result<Surface, ConfigError> {
        match config.get(SURFACE) {
            None => Ok(Surface::default()),
            Some(Value::String(word)) => word
                .parse()
                .map_err(|unknown: palestra_environment::surface::UnknownSurface| wrong(SURFACE, &unknown.to_string())),
            Some(_) => Err(wrong(SURFACE, "must be text")),
        }
    }

    /// The data that the task begins with once the overrides are laid over it.
    pub(super) fn data(&self, instance: &Instance) -> Result<Data, ConfigError> {
        match self.state {
            None => Ok(instance.data.clone()),
            Some(overrides) => Episode::overridden(instance, overrides).map_err(|faults| refused(&faults)),
        }
    }
}

fn wrong(field: &str, detail: &str) -> ConfigError {
    ConfigError { field: Some(field.to_owned()), detail: detail.to_owned() }
}

/// The first fault with its place, and the others behind it.
fn refused(faults: &[DataFault]) -> ConfigError {
    let Some((first, others)) = faults.split_first() else { return wrong(STATE, "must fit the tables of the app") };
    let path = |fault: &DataFault| format!("{STATE}{}", fault.pointer.replace('/', "."));
    let mut detail = first.message.clone();
    for fault in others.iter().take(FAULTS_TOLD_MAX) {
        detail.push_str(&format!("; {}: {}", path(fault), fault.message));
    }
    if others.len() > FAULTS_TOLD_MAX {
        detail.push_str(&format!("; and {} more", others.len() - FAULTS_TOLD_MAX));
    }
    ConfigError { field: Some(path(first)), detail }
}

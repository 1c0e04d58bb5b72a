//! The family `web`: pages in a real browser that belong to no app.

mod game_pages;
mod games;
mod kind;
mod own;
mod pages;
mod record;
mod requests;
mod site_pages;
#[cfg(test)]
mod site_tests;
mod sites;
mod widgets;

use std::sync::Arc;

use kind::WebKind;

pub use own::{FAMILY, Submission, kind, parse};
use palestra_browser::Browsers;
use palestra_environment::EnvironmentKind;

/// True if a name is of this family.
#[must_use]
pub fn is_web(name: &str) -> bool {
    name.split_once('/').is_some_and(|(family, _)| family == FAMILY)
}

/// Every environment of the family.
#[must_use]
pub fn all(browsers: &Browsers) -> Vec<Arc<dyn EnvironmentKind>> {
    vec![
        Arc::new(WebKind::new(widgets::Widgets::new(), browsers.clone())),
        Arc::new(WebKind::new(games::Games::new(), browsers.clone())),
        Arc::new(WebKind::new(sites::Sites::new(), browsers.clone())),
    ]
}

//! The family `web`: pages in a real browser that belong to no app.

mod game_pages;
mod games;
mod kind;
mod pages;
mod record;
mod requests;
mod site_pages;
#[cfg(test)]
mod site_tests;
mod sites;
mod widgets;

use std::sync::Arc;

use palestra_browser::Browsers;
use palestra_environment::EnvironmentKind;

use kind::WebKind;

/// Every environment of the family.
#[must_use]
pub fn all(browsers: &Browsers) -> Vec<Arc<dyn EnvironmentKind>> {
    vec![
        Arc::new(WebKind::new(widgets::Widgets::new(), browsers.clone())),
        Arc::new(WebKind::new(games::Games::new(), browsers.clone())),
        Arc::new(WebKind::new(sites::Sites::new(), browsers.clone())),
    ]
}

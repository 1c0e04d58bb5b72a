//! The family `web`: pages in a real browser that belong to no app.

mod pages;
mod widgets;

use std::sync::Arc;

use palestra_browser::Browsers;
use palestra_environment::EnvironmentKind;

/// Every environment of the family.
#[must_use]
pub fn all(browsers: &Browsers) -> Vec<Arc<dyn EnvironmentKind>> {
    vec![Arc::new(widgets::Widgets::new(browsers.clone()))]
}

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

use kind::{Content as _, WebKind};

pub use own::{FAMILY, Submission, kind, parse};
use palestra_browser::Browsers;
use palestra_environment::EnvironmentKind;

/// True if a name is of this family.
#[must_use]
pub fn is_web(name: &str) -> bool {
    name.split_once('/').is_some_and(|(family, _)| family == FAMILY)
}

/// True if a name is of this family and of none of the environments that every server has.
#[must_use]
pub fn is_published(name: &str) -> bool {
    let builtin = [widgets::Widgets::FACTS, games::Games::FACTS, sites::Sites::FACTS];
    is_web(name) && builtin.iter().all(|facts| facts.environment != name)
}

/// Every environment of the family that a server has by itself.
#[must_use]
pub fn all(browsers: &Browsers) -> Vec<Arc<dyn EnvironmentKind>> {
    vec![
        Arc::new(WebKind::new(widgets::Widgets::new(), browsers.clone())),
        Arc::new(WebKind::new(games::Games::new(), browsers.clone())),
        Arc::new(WebKind::new(sites::Sites::new(), browsers.clone())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::Backends;

    #[test]
    fn names_of_the_family_are_published_but_for_those_that_every_server_has() {
        let browsers = Backends::none(std::path::Path::new(".")).browsers;
        for kind in all(&browsers) {
            assert!(is_web(&kind.spec().name) && !is_published(&kind.spec().name), "{}", kind.spec().name);
        }
        assert!(is_published("web/mine") && !is_published("sql/mine") && !is_published("web"));
    }
}

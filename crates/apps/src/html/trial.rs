//! A trial of an app's templates before it is published: the page of every screen that needs no arguments, and of the first row
//! that each of them leads to.

use std::sync::Arc;

use super::page::{Frame, themed_page};
use crate::app::App;
use crate::run::{Beginning, World, database};
use crate::screen::{AriaRole, GuiAction, Viewer};

/// Faults of the pages of an app at the beginning of its first database, in words.
#[must_use]
pub fn faulty_pages(app: &Arc<App>) -> Vec<String> {
    let Ok(data) = database(app, 0) else { return Vec::new() };
    let Ok(mut world) = World::begin(Arc::new(Beginning::free(Arc::clone(app), data.clone(), 1))) else {
        return Vec::new();
    };
    let mut wrong = Vec::new();
    for screen in app.screens.screens.iter().filter(|screen| screen.args.is_empty()) {
        let mut viewer = Viewer::new();
        let click = |element: String| GuiAction::Click { element };
        let mut next = Some(format!("app-nav/{}", screen.name));
        while let Some(element) = next.take() {
            // What a screen itself gets wrong, the check of the engine finds.
            if viewer.act(&mut world, &click(element)).is_err() {
                break;
            }
            wrong.extend(themed_page(&viewer, &world, &Frame::default()).err());
            let Ok(tree) = viewer.tree(&world) else { break };
            let row = tree.all().into_iter().find(|link| link.role == AriaRole::Link && link.id.ends_with("/open"));
            next = row.filter(|_| *tree.screen == *screen.name).map(|link| link.id.to_string());
        }
    }
    wrong.sort();
    wrong.dedup();
    wrong
}

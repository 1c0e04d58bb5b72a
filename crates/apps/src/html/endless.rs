//! Lists that go on without an end: behind the rows of the present page stand those of the pages before, and more follow as one comes near
//! the last row.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::app::theme::Looks;
use crate::run::{CallError, World};
use crate::screen::{Element, Facts, Sheet, Viewer};

/// Pages whose rows stand on one page. The next ones stand on a page of their own, so that no page grows beyond bounds.
const PAGES_MAX: usize = 20;

/// The pages before the present one of a list.
pub(super) struct Before {
    /// Oldest first.
    pub(super) sheets: Vec<Sheet>,
    /// The address of the page before them, where there is one.
    pub(super) previous: Option<String>,
    /// True if the next page stands together with them.
    pub(super) goes_on: bool,
}

/// By the ids of endless lists of a screen: the pages before.
pub(super) type Earlier = BTreeMap<Arc<str>, Before>;

/// Reads the pages before the present one of each endless list of a screen.
///
/// # Errors
/// When an expression of the screen is at fault.
pub(super) fn earlier(viewer: &Viewer, world: &World, looks: &Looks, sheet: &Sheet) -> Result<Earlier, CallError> {
    let mut all = Earlier::new();
    for list in sheet.tree.all() {
        let Some(Facts::List { view }) = list.facts.as_deref() else { continue };
        if !looks.lists.get(&world.app().views[*view].name).is_some_and(|looks| looks.endless) {
            continue;
        }
        let Some(page) = present(list) else { continue };
        let Some(button) = list.children.iter().find(|child| child.id.ends_with("/previous-page")) else { continue };
        let first = first_beside(page);
        let turned = |page| sheet.turned(viewer, world, button, page);
        let sheets = (first..page).filter_map(turned).collect::<Result<_, _>>()?;
        let previous = (first > 1).then(|| turned(first - 1)).flatten().transpose()?.map(|sheet| sheet.address);
        let goes_on = first_beside(page + 1) == first;
        all.insert(Arc::clone(&list.id), Before { sheets, previous, goes_on });
    }
    Ok(all)
}

/// The number of the present page of a list.
fn present(list: &Element) -> Option<usize> {
    list.children.iter().find_map(|child| match child.facts.as_deref() {
        Some(Facts::Pages { page, .. }) => Some(*page),
        _ => None,
    })
}

/// The first of the pages whose rows stand together with those of a page.
const fn first_beside(page: usize) -> usize {
    page.saturating_sub(1) / PAGES_MAX * PAGES_MAX + 1
}

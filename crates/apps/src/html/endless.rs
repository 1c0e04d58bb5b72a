//! Lists that go on without an end: behind the rows of the present page stand those of the pages before, and more follow as one comes near
//! the last row.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::model::{List, Modeller};
use crate::app::theme::Looks;
use crate::run::{CallError, World};
use crate::screen::{Element, Facts, Sheet, Viewer};

/// Pages whose rows stand on one page. The next ones stand on a page of their own, so that no page grows beyond bounds.
const PAGES_MAX: usize = 20;

/// The pages before the present one of a list.
pub(super) struct Before {
    /// Oldest first.
    sheets: Vec<Sheet>,
    /// The address of the page before them, where there is one.
    previous: Option<String>,
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
        all.insert(Arc::clone(&list.id), Before { sheets, previous });
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

impl Modeller<'_> {
    /// Puts the rows of the pages before in front of those of the present one.
    pub(super) fn go_on(&self, list: &mut List, view: usize) {
        let Some(before) = self.earlier.get(&list.id) else { return };
        let present = list.rows.len();
        for sheet in before.sheets.iter().rev() {
            let elements = sheet.tree.all();
            let element = elements.into_iter().find(|element| element.id == list.id);
            if let Some(element) = element {
                list.precede(Self { sheet, ..*self }.page_of(element, view));
            }
        }
        if let Some(pages) = &mut list.pages {
            pages.shown = list.rows.len();
            pages.fresh = pages.shown - present;
            pages.previous.clone_from(&before.previous);
            // Where the next page stands alone it is followed, not put behind this one.
            pages.grows = self.grows && first_beside(pages.page + 1) == first_beside(pages.page);
        }
    }
}

impl List {
    /// Puts the rows of an earlier page in front of its own.
    fn precede(&mut self, mut earlier: Self) {
        earlier.rows.append(&mut self.rows);
        for mut group in std::mem::take(&mut self.groups) {
            match earlier.groups.iter_mut().find(|known| known.label == group.label) {
                Some(known) => known.rows.append(&mut group.rows),
                None => earlier.groups.push(group),
            }
        }
        (self.rows, self.groups) = (earlier.rows, earlier.groups);
    }
}

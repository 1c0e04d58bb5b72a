//! A screen with its address, and where its links lead: what a page shows.

use imbl::OrdMap;
use std::sync::Arc;

use super::address;
use super::build::Builder;
use super::command::Command;
use super::open_screen::OpenScreen;
use super::tree::{Element, Tree};
use super::viewer::Viewer;
use crate::kinds::TableId;
use crate::run::{CallError, World};
use crate::value::{RowKey, Value};

/// A screen that a page shows.
pub(crate) struct Sheet {
    pub(crate) tree: Tree,
    /// Its address.
    pub(crate) address: String,
    /// The screen's place in the app.
    pub(crate) screen: usize,
    place: OpenScreen,
}

impl Sheet {
    fn build(viewer: &Viewer, world: &World, place: &OpenScreen, here: bool) -> Result<Self, CallError> {
        let toast = viewer.toast.as_ref().filter(|_| here);
        let (tree, _) = Builder::new(world, place, toast).build(viewer.route.len() > 1)?;
        Ok(Self { tree, address: address::show(world, place), screen: place.screen, place: place.clone() })
    }

    /// The address that an element leads to; none where it leads nowhere, or does something.
    pub(crate) fn link(&self, world: &World, element: &Element) -> Option<String> {
        match element.command.as_ref()? {
            Command::Go(place) => Some(address::show(world, place)),
            Command::Set { key, text } => {
                let screen = &world.app().screens.screens[self.place.screen];
                screen.view_inputs.iter().find(|input| input.key == *key)?;
                Some(address::show(world, &self.with(key, text)))
            }
            Command::Follow { link, locals, form } if !link.asks() => {
                let place = Builder::new(world, &self.place, None).target(&link.way, locals, form).ok()?;
                Some(address::show(world, &place))
            }
            _ => None,
        }
    }

    /// The screen with another page of a list, which a button of that list turns; none where it turns none.
    pub(crate) fn turned(
        &self,
        viewer: &Viewer,
        world: &World,
        button: &Element,
        page: usize,
    ) -> Option<Result<Self, CallError>> {
        let Some(Command::Set { key, .. }) = &button.command else { return None };
        let place = OpenScreen { dialogs: imbl::Vector::new(), ..self.with(key, &page.to_string().into()) };
        Some(Self::build(viewer, world, &place, false))
    }

    fn with(&self, key: &Arc<str>, text: &Arc<str>) -> OpenScreen {
        let mut place = self.place.clone();
        place.inputs.insert(Arc::clone(key), Arc::clone(text));
        place
    }

    /// The word of an input in the address.
    pub(crate) fn view_word<'a>(&self, world: &'a World, key: &str) -> Option<&'a Arc<str>> {
        let inputs = &world.app().screens.screens[self.place.screen].view_inputs;
        inputs.iter().find(|input| *input.key == *key).map(|input| &input.word)
    }

    /// The id of the row that the screen is about.
    pub(crate) fn row_id(&self, world: &World) -> Option<Arc<str>> {
        let Some(Value::Row(row)) = self.place.args.first() else { return None };
        world.data().id(*row).map(|id| id.as_ref().into())
    }

    /// Content of the address beside pages: words of the query and their values.
    pub(crate) fn view(&self, world: &World) -> Vec<(Arc<str>, Arc<str>)> {
        let screen = &world.app().screens.screens[self.place.screen];
        let there = address::Destination::of(screen, &self.place);
        let held = screen.view_inputs.iter().filter(|input| !input.key.ends_with("/page"));
        held.filter_map(|input| Some((Arc::clone(&input.word), Arc::clone(there.view.get(&input.key)?)))).collect()
    }
}

impl Viewer {
    /// The address of the screen.
    ///
    /// # Errors
    /// When an expression of the screen is at fault.
    pub fn address(&self, world: &World) -> Result<String, CallError> {
        Ok(address::show(world, self.standing(world)?))
    }

    /// The address that an element of the screen leads to; none where it leads nowhere, or does something.
    ///
    /// # Errors
    /// When an expression of the screen is at fault.
    pub fn address_of(&self, world: &World, element: &str) -> Result<Option<String>, CallError> {
        let sheet = self.sheet(world)?;
        Ok(sheet.tree.find(element).and_then(|element| sheet.link(world, element)))
    }

    /// True if an address is that of the screen, however it is written.
    pub(crate) fn is_at(&self, world: &World, address: &str) -> Result<bool, CallError> {
        let place = self.standing(world)?;
        let screen = &world.app().screens.screens[place.screen];
        match address::parse(world, address) {
            Ok(there) => Ok(there == address::Destination::of(screen, place)),
            Err(CallError::Raised(_)) => Ok(false),
            Err(crashed) => Err(crashed),
        }
    }

    /// True if a dialog is open on the screen of an address, as far as the viewer was there.
    pub(crate) fn has_open(&self, world: &World, address: &str, dialog: &str) -> bool {
        let Ok(there) = address::parse(world, address) else { return false };
        let known = self.route.iter().rfind(|place| place.screen == there.screen && place.args == there.args);
        known.is_some_and(|place| place.dialogs.iter().any(|open| **open == *dialog))
    }

    /// The screen where the viewer is.
    pub(crate) fn sheet(&self, world: &World) -> Result<Sheet, CallError> {
        Sheet::build(self, world, self.standing(world)?, true)
    }

    /// A screen without arguments, as the viewer left it on its way.
    pub(crate) fn sheet_beside(
        &self,
        world: &World,
        screen: usize,
        view: &OrdMap<Arc<str>, Arc<str>>,
    ) -> Result<Sheet, CallError> {
        let fresh = OpenScreen { screen, inputs: view.clone(), ..OpenScreen::default() };
        let known = self.route.iter().rev().find(|place| place.screen == screen);
        // A dialog that is open there is not open here.
        let place =
            known.filter(|_| view.is_empty()).map(|place| OpenScreen { dialogs: imbl::Vector::new(), ..place.clone() });
        Sheet::build(self, world, &place.unwrap_or(fresh), false)
    }
}

/// The address of the screen that shows a row, if there is one.
pub(crate) fn of_row(world: &World, row: RowKey) -> Option<String> {
    let place = screen_of(world, row.table)?;
    Some(address::show(world, &OpenScreen { screen: place, args: [Value::Row(row)].into(), ..OpenScreen::default() }))
}

/// The screen that has a row of a table as its one argument.
pub(crate) fn screen_of(world: &World, table: TableId) -> Option<usize> {
    let is_it = |screen: &crate::app::screen::Screen| matches!(screen.args.as_slice(), [(_, kind)] if *kind.present() == crate::kinds::Type::Row(table));
    world.app().screens.screens.iter().position(is_it)
}

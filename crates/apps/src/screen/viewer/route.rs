//! Going from screen to screen, past rows that are no longer there.

use super::{ROUTE_DEPTH_MAX, Viewer};
use crate::app::Role;
use crate::run::{CallError, World};
use crate::screen::address::Destination;
use crate::screen::open_screen::OpenScreen;
use crate::value::Value;

impl Viewer {
    /// The nearest screen on the way back that still makes sense.
    pub(in crate::screen) fn standing(&self, world: &World) -> Result<&OpenScreen, CallError> {
        for place in self.route.iter().rev() {
            if stands(world, place)? {
                return Ok(place);
            }
        }
        // Home has no arguments, so it always stands.
        self.route.front().ok_or(CallError::Crashed(crate::expression::EvalError::Mismatch))
    }

    /// Leaves screens that are about rows that are no longer there.
    pub(super) fn settle(&mut self, world: &World) -> Result<(), CallError> {
        let mut standing = imbl::Vector::new();
        for place in &self.route {
            if stands(world, place)? {
                standing.push_back(place.clone());
            }
        }
        self.route = standing;
        Ok(())
    }

    pub(super) fn go(&mut self, place: OpenScreen) {
        self.route.push_back(place);
        if self.route.len() > ROUTE_DEPTH_MAX {
            // Home stays where it is.
            self.route.remove(1);
        }
    }

    /// Goes to an address, as a click on its link does. On the present screen only what is looked at changes.
    pub(super) fn open(&mut self, world: &World, there: Destination) {
        let Destination { screen, args, view } = there;
        match self.here().filter(|here| here.screen == screen && here.args == args) {
            Some(here) => here.look_at(&world.app().screens.screens[screen], &view),
            None => self.go(OpenScreen { screen, args, inputs: view, ..OpenScreen::default() }),
        }
    }

    pub(super) fn here(&mut self) -> Option<&mut OpenScreen> {
        self.route.back_mut()
    }
}

fn stands(world: &World, place: &OpenScreen) -> Result<bool, CallError> {
    for value in place.args.iter() {
        if let Value::Row(row) = value
            && (world.data().row(*row).is_none() || !world.sees(Role::AGENT, *row)?)
        {
            return Ok(false);
        }
    }
    Ok(true)
}

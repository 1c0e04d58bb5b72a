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

    /// Goes to a screen as its address does: back to it where one came from it, and else forward.
    pub(super) fn go(&mut self, world: &World, place: OpenScreen) {
        let view = place.inputs.clone();
        self.open(world, Destination { screen: place.screen, args: place.args, view });
    }

    /// Goes to an address. On the way back, what was typed on a screen is still there.
    pub(super) fn open(&mut self, world: &World, there: Destination) {
        let known = self.route.iter().rposition(|place| place.screen == there.screen && place.args == there.args);
        match known {
            Some(depth) => {
                self.route.truncate(depth + 1);
                let screen = &world.app().screens.screens[there.screen];
                if let Some(here) = self.here() {
                    here.look_at(screen, &there.view);
                }
            }
            None => {
                let place =
                    OpenScreen { screen: there.screen, args: there.args, inputs: there.view, ..OpenScreen::default() };
                self.route.push_back(place);
                if self.route.len() > ROUTE_DEPTH_MAX {
                    // Home stays where it is.
                    self.route.remove(1);
                }
            }
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

//! The remains of a place that was freed once its episode had ended: the state that was judged.

use palestra_protocol::observation::Observation;

use crate::state::State;
use crate::{Context, Environment, Input, Reaction};

/// A state without the place that it is of. Nobody acts in it: its episode is over.
#[derive(Clone)]
pub struct Remains(pub State);

impl Environment for Remains {
    fn observe(&self) -> Observation {
        Observation::text("The episode is over, and its place was freed.")
    }

    fn act(&mut self, _input: Input<'_>, _context: &mut Context) -> Reaction {
        Reaction::failed("the place was freed when its episode ended: reset the session")
    }

    fn state(&self) -> State {
        self.0.clone()
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }
}

//! Events, which happen without the agent.

use std::sync::Arc;

use super::parameter::Argument;
use crate::expression::Checked;

/// An event, which happens without the agent.
#[derive(Debug)]
pub struct Event {
    /// Its name.
    pub name: Arc<str>,
    /// The time.
    pub schedule: Schedule,
    /// The action of the system.
    pub run: usize,
    /// Its arguments.
    pub arguments: Vec<Argument>,
}

/// Time of an event.
#[derive(Debug)]
pub enum Schedule {
    /// Once.
    At(Checked),
    /// Again and again.
    Every {
        /// Seconds between two times.
        seconds: i64,
        /// Numerator and denominator of the chance that it happens each time.
        chance: (u32, u32),
    },
}

//! What happens without the agent.

use std::sync::Arc;

use super::parameter::Argument;
use crate::expression::Checked;

/// Something that happens without the agent.
#[derive(Debug)]
pub struct Event {
    /// Its name.
    pub name: Arc<str>,
    /// When.
    pub schedule: Schedule,
    /// Which action of the system.
    pub run: usize,
    /// Its arguments.
    pub arguments: Vec<Argument>,
}

/// When an event happens.
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

//! A step that was taken: its action, its answer, and the wait for its record.

use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::step::Stepped;

use super::recorder::Ticket;
use super::{EncodedStep, SessionError};

/// A step that was taken. Its record may still be on its way to the store.
#[derive(Clone)]
pub struct TakenStep<A = EncodedStep> {
    /// `None` where the action never reached the environment.
    pub(super) action: Option<Arc<Action>>,
    pub(super) answer: A,
    /// Resolves once the record is committed; `None` where nothing was recorded, or the step was read back.
    pub(super) ticket: Option<Ticket>,
}

/// A step as a session in memory keeps it: the JSON of an answer takes less memory than the answer.
pub(super) type KeptStep = TakenStep<Arc<str>>;

impl TakenStep {
    /// The answer once its record is committed.
    ///
    /// # Errors
    /// When the commit was refused.
    pub async fn recorded(self) -> Result<EncodedStep, SessionError> {
        if let Some(ticket) = self.ticket {
            ticket.committed().await?;
        }
        Ok(self.answer)
    }

    /// The same step with another answer.
    ///
    /// # Errors
    /// As [`EncodedStep::new`].
    pub fn changed(self, change: impl FnOnce(&mut Stepped)) -> Result<Self, SessionError> {
        Ok(Self { answer: self.answer.changed(change)?, ..self })
    }

    /// The answer, if its record is committed.
    pub(super) fn committed(self) -> Result<EncodedStep, Self> {
        if self.ticket.as_ref().is_none_or(Ticket::is_committed) { Ok(self.answer) } else { Err(self) }
    }

    pub(super) fn kept(&self) -> KeptStep {
        let Self { action, answer, ticket } = self;
        KeptStep { action: action.clone(), answer: Arc::clone(answer.json()), ticket: ticket.clone() }
    }
}

impl KeptStep {
    pub(super) fn decoded(&self) -> Result<TakenStep, SessionError> {
        let Self { action, answer, ticket } = self.clone();
        let answer = EncodedStep::read(answer).map_err(|error| SessionError::Internal(error.to_string()))?;
        Ok(TakenStep { action, answer, ticket })
    }
}

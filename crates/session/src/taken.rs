//! A step that was taken, and the wait for its record.

use super::recorder::Ticket;
use super::{Said, SessionError};

/// A step that was taken, whose record may still be on its way.
pub struct Taken {
    pub(super) answer: Said,
    /// When its record is safe; `None` where there is nothing to wait for.
    pub(super) ticket: Option<Ticket>,
}

impl Taken {
    /// The answer, where nothing has to be waited for.
    pub fn at_once(self) -> Result<Said, Self> {
        match &self.ticket {
            Some(ticket) if !ticket.is_committed() => Err(self),
            _ => Ok(self.answer),
        }
    }

    /// The answer, once its record is committed.
    ///
    /// # Errors
    /// When it was not recorded.
    pub async fn recorded(self) -> Result<Said, SessionError> {
        if let Some(ticket) = self.ticket {
            ticket.committed().await?;
        }
        Ok(self.answer)
    }
}

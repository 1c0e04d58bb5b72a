//! The page of a session that has a screen: what it shows, and what its forms do.

use palestra_protocol::action::Action;
use palestra_protocol::id::SessionId;

use super::{SessionError, Sessions, turn};
use palestra_environment::{PageCall, Place};
use palestra_store::Tenant;

/// The content of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Screen {
    /// The screen of an episode that goes on, as HTML.
    Live(String),
    /// Nothing: the episode is over.
    Over,
}

impl Sessions {
    /// The screen of a session as an HTML page, whose forms are sent to `path`.
    ///
    /// # Errors
    /// When there is no such session, or it has no screen.
    pub async fn screen(&self, tenant: &Tenant, id: SessionId, path: &str) -> Result<Screen, SessionError> {
        let mut turn = self.turn(tenant, id).await?;
        let live = turn.live()?;
        if !live.running() {
            return Ok(Screen::Over);
        }
        let Some(Place::Pure(place)) = &live.place else { return Ok(Screen::Over) };
        let page =
            turn::guard("environment", || place.page(path)).map_err(|error| SessionError::Internal(error.detail))?;
        page.map(Screen::Live).ok_or(SessionError::NotFound("page"))
    }

    /// The actions that a form of the page stands for, each of them a turn.
    ///
    /// # Errors
    /// When there is no such session or form, or the episode is over.
    pub async fn actions_of_form(
        &self,
        tenant: &Tenant,
        id: SessionId,
        fields: &[(String, String)],
    ) -> Result<Vec<Action>, SessionError> {
        let mut turn = self.turn(tenant, id).await?;
        let live = turn.live()?;
        let Some(Place::Pure(place)) = live.place.as_ref().filter(|_| live.running()) else {
            return Err(SessionError::EpisodeOver);
        };
        let calls = turn::guard("environment", || place.calls_of_form(fields));
        let calls = calls.map_err(|error| SessionError::Internal(error.detail))?;
        let calls = calls.map_err(|why| super::error::fault("form", &why))?;
        Ok(calls.into_iter().map(|PageCall { tool, arguments }| Action::Tool { tool, arguments }).collect())
    }
}

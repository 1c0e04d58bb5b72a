//! The page of a session that has a screen: what it shows, and what its forms do.

use palestra_protocol::action::Action;
use palestra_protocol::id::SessionId;

use super::{SessionError, Sessions, turn};
use palestra_environment::{PageAnswer, PageCall, PageEnd, PageRequest, Place};
use palestra_store::Tenant;

/// The content of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Screen {
    /// The screen as HTML: the present one, or after the end of the episode the last one.
    Page(String),
    /// A style sheet, script or picture with its media type.
    Asset(&'static str, String),
    /// Actions to take, each of them a turn; then the browser goes to the present address.
    Turns(Vec<Action>),
    /// Nothing: the episode is over, and its environment is gone.
    Over,
}

impl Sessions {
    /// Answers a browser that looks at an address of a session's screen, or sends a form there.
    ///
    /// # Errors
    /// When there is no such session, form or file, or it has no screen.
    pub async fn screen(
        &self,
        tenant: &Tenant,
        id: SessionId,
        request: &PageRequest<'_>,
    ) -> Result<Screen, SessionError> {
        let mut turn = self.turn(tenant, id).await?;
        let live = turn.live()?;
        let Some(Place::Pure(place)) = &live.place else { return Ok(Screen::Over) };
        let end = (!live.running()).then_some(PageEnd { verdict: live.verdict.as_deref() });
        let answer = turn::guard("environment", || place.page(request, end));
        let answer = answer.map_err(|error| SessionError::Internal(error.detail))?;
        match answer.map_err(|why| super::error::fault("form", &why))? {
            PageAnswer::Html(page) => Ok(Screen::Page(page)),
            PageAnswer::Asset(media, text) => Ok(Screen::Asset(media, text)),
            PageAnswer::Calls(calls) => {
                let action = |PageCall { tool, arguments }| Action::Tool { tool, arguments };
                Ok(Screen::Turns(calls.into_iter().map(action).collect()))
            }
            PageAnswer::Missing | PageAnswer::None => Err(SessionError::NotFound("page")),
        }
    }

    /// The address of the present screen of a session behind the base of its pages; none where its environment is gone.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn page_address(&self, tenant: &Tenant, id: SessionId) -> Result<Option<String>, SessionError> {
        let mut turn = self.turn(tenant, id).await?;
        let live = turn.live()?;
        let Some(Place::Pure(place)) = &live.place else { return Ok(None) };
        let address = turn::guard("environment", || place.page_address());
        address.map_err(|error| SessionError::Internal(error.detail))
    }
}

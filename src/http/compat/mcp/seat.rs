//! A client and its session.

use std::sync::Arc;

use palestra_protocol::session::Session;

use crate::app::App;
use palestra_auth::Principal;

/// A client and its session.
pub(super) struct Seat<'a> {
    pub(super) app: &'a App,
    pub(super) principal: &'a Arc<Principal>,
    pub(super) session: &'a Session,
}

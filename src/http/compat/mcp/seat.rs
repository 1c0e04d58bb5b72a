//! Who speaks, and with which session.

use std::sync::Arc;

use palestra_protocol::session::Session;

use crate::app::App;
use palestra_auth::Principal;

/// Who speaks, and with which session.
pub(super) struct Seat<'a> {
    pub(super) app: &'a App,
    pub(super) principal: &'a Arc<Principal>,
    pub(super) session: &'a Session,
}

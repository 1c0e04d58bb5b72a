//! Permissions that commands need. Every command, from a request, a batch or a socket, passes here.

use palestra_auth::{AuthError, Principal};
use palestra_protocol::key::Scope;
use palestra_session::Command;

/// Refuses callers who may not give a command.
///
/// # Errors
/// When the key lacks a scope, or a session's token asks for more than a step in its own session.
pub(super) fn require(principal: &Principal, command: &Command) -> Result<(), AuthError> {
    match command {
        Command::Step { session, .. } => principal.require_sight_of(*session),
        Command::Verify { request, .. } if request.probe == Some(true) => principal.require(Scope::VerifyProbe),
        Command::Create { .. }
        | Command::Reset { .. }
        | Command::Finish { .. }
        | Command::Verify { .. }
        | Command::Fork { .. }
        | Command::Snapshot { .. }
        | Command::Restore { .. }
        | Command::Close { .. } => principal.require(Scope::Sessions),
    }
}

#[cfg(test)]
mod tests {
    use palestra_auth::Grant;
    use palestra_protocol::id::SessionId;
    use palestra_protocol::session::{Fork, Verify};
    use palestra_protocol::step::Step;

    use super::*;

    fn principal(grant: Grant) -> Principal {
        Principal { grant, ..Principal::admin("acme".into()) }
    }

    #[test]
    fn a_token_steps_in_its_own_session_and_does_nothing_else() {
        let session = SessionId::new();
        let token = principal(Grant::Session(session));
        let step: Step = serde_json::from_str(r#"{"action":{"text":"a"}}"#).unwrap();
        let step = |session| Command::Step { session, step: Box::new(step.clone()) };
        assert!(require(&token, &step(session)).is_ok());
        assert!(matches!(require(&token, &step(SessionId::new())), Err(AuthError::OtherSession)));
        for command in [
            Command::Close { session },
            Command::Verify { session, request: Verify::default() },
            Command::Fork { session, request: Fork::default(), key: None },
        ] {
            assert!(matches!(require(&token, &command), Err(AuthError::TokenTooNarrow)), "{command:?}");
        }
    }

    #[test]
    fn probing_needs_its_own_scope() {
        let key = principal(Grant::Scopes(vec![Scope::Sessions]));
        let verify = |probe| Command::Verify { session: SessionId::new(), request: Verify { wait_ms: None, probe } };
        assert!(require(&key, &verify(None)).is_ok());
        assert!(matches!(require(&key, &verify(Some(true))), Err(AuthError::Scope(Scope::VerifyProbe))));
    }
}

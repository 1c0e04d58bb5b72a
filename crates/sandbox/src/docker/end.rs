//! The end of a container, as its engine tells it: by its events, since a container that ended is removed, and by which process the
//! engine is.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptionsBuilder;
use futures::StreamExt as _;
use tokio::net::UnixStream;

use super::engine::Engine;
use crate::ending::{Ending, FirstProcess};
use crate::error::SandboxError;

/// Time that the events of an end may take to arrive.
const EVENTS_MAX: Duration = Duration::from_secs(3);
/// Longest wait for an engine that is asked for them.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// The birth of a container: enough to find its end.
#[derive(Debug, Clone)]
pub(super) struct ContainerIdentity {
    at: Duration,
    /// Run of the engine that made it.
    engine: String,
}

/// Events of an engine about a container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct EngineEvents {
    /// Its memory ran out.
    out_of_memory: bool,
    /// Somebody had the engine end it.
    ended_by_engine: bool,
    /// The code of its first process.
    code: Option<i32>,
    /// It is gone.
    removed: bool,
}

impl ContainerIdentity {
    /// That of a container which is made now.
    pub(super) async fn now(engine: &Engine) -> Result<Self, SandboxError> {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self { at, engine: engine.incarnation().await? })
    }
}

impl EngineEvents {
    fn add(&mut self, event: &EventMessage) {
        let attribute =
            |name: &str| event.actor.as_ref().and_then(|actor| actor.attributes.as_ref()).and_then(|all| all.get(name));
        match event.action.as_deref() {
            Some("oom") => self.out_of_memory = true,
            Some("kill" | "stop") => self.ended_by_engine = true,
            Some("die") => self.code = attribute("exitCode").and_then(|code| code.parse().ok()),
            Some("destroy") => self.removed = true,
            _ => {}
        }
    }

    fn ending(self) -> Ending {
        let memory = self.out_of_memory.then(|| "the engine says that its memory had reached its limit".to_owned());
        match self.code {
            _ if self.ended_by_engine => Ending::Host("the engine was told to end it".to_owned()),
            Some(code) => Ending::of(FirstProcess::of_code(code), memory),
            None if self.removed => Ending::Host("the engine removed it".to_owned()),
            None => Ending::of(FirstProcess::Runs, memory),
        }
    }
}

impl Engine {
    /// Run of the engine that listens: another one after every start.
    pub(super) async fn incarnation(&self) -> Result<String, SandboxError> {
        let gone = |error: std::io::Error| self.unreachable(&error);
        let path = self.socket();
        let file = std::fs::metadata(path).map_err(gone)?;
        let stream = UnixStream::connect(path).await.map_err(gone)?;
        let process = stream.peer_cred().map_err(gone)?.pid().unwrap_or_default();
        Ok(format!("{}-{}-{process}", file.ino(), file.ctime()))
    }

    /// Cause of the end of a container.
    pub(super) async fn ending(&self, name: &str, identity: &ContainerIdentity) -> Ending {
        match self.incarnation().await {
            Err(error) => return Ending::Host(error.to_string()),
            Ok(now) if now != identity.engine => return Ending::Host("the engine was started anew".to_owned()),
            Ok(_) => {}
        }
        match tokio::time::timeout(ANSWER_MAX, self.told(name, identity)).await {
            Err(_) => Ending::Host("the engine does not answer".to_owned()),
            Ok(Err(error)) => Ending::Host(error.to_string()),
            Ok(Ok(EngineEvents { code: None, removed: false, .. })) => match self.knows(name).await {
                Ok(true) => Ending::of(FirstProcess::Runs, None),
                Ok(false) => Ending::Host("the engine knows no such container any more".to_owned()),
                Err(error) => Ending::Host(error.to_string()),
            },
            Ok(Ok(told)) => told.ending(),
        }
    }

    async fn told(&self, name: &str, identity: &ContainerIdentity) -> Result<EngineEvents, SandboxError> {
        let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + EVENTS_MAX;
        let filters = HashMap::from([("container", vec![name])]);
        let options = EventsOptionsBuilder::default()
            .since(&identity.at.as_secs().to_string())
            .until(&format!("{}.{:09}", until.as_secs(), until.subsec_nanos()))
            .filters(&filters)
            .build();
        let mut events = Box::pin(self.client().events(Some(options)));
        let mut told = EngineEvents::default();
        while let Some(event) = events.next().await {
            told.add(&event.map_err(|error| self.unreachable(&error))?);
            if told.removed {
                break;
            }
        }
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ending::OwnLimit;

    #[test]
    fn ends_by_the_engine_are_never_the_sandboxs() {
        let killed = EngineEvents { code: Some(137), removed: true, ..EngineEvents::default() };
        assert!(matches!(killed.ending(), Ending::Host(_)));
        let own = EngineEvents { out_of_memory: true, ..killed };
        assert!(matches!(own.ending(), Ending::OwnLimit(OwnLimit::Memory, _)));
        assert!(matches!(EngineEvents { ended_by_engine: true, ..own }.ending(), Ending::Host(_)));
        assert!(matches!(EngineEvents { code: None, ..own }.ending(), Ending::Host(_)));
        assert!(matches!(EngineEvents { code: Some(1), ..killed }.ending(), Ending::Unknown(_)));
    }
}

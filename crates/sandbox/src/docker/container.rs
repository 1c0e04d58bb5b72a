//! Handle of the back end on a running container, and the containers that could not be removed at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::end::ContainerIdentity;
use super::engine::{Container, Engine, NotMade};
use crate::ending::Ending;
use crate::error::SandboxError;
use crate::handle::SandboxHandle;

/// Between two tries to remove what is left over.
const RETRY: Duration = Duration::from_secs(2);
/// Number of lookups of a container whose creation was asked for and not answered.
const LOOKS_MAX: u32 = 30;

/// A container that is there. Dropped without being destroyed, it is left over.
pub(super) struct ContainerHandle {
    engine: Engine,
    leftovers: Arc<Leftovers>,
    name: String,
    identity: ContainerIdentity,
    gone: bool,
}

/// Makes a container. To be run to its end even where nobody waits for it any more: what is made and not taken is left over.
pub(super) async fn make(
    engine: Engine,
    leftovers: Arc<Leftovers>,
    container: Container,
    taken: oneshot::Sender<Result<ContainerHandle, SandboxError>>,
) {
    let name = container.name.clone();
    let identity = match ContainerIdentity::now(&engine).await {
        Ok(identity) => identity,
        Err(error) => {
            drop(taken.send(Err(error)));
            return;
        }
    };
    let made = match engine.create(container).await {
        Ok(true) => Ok(ContainerHandle { engine, leftovers, name, identity, gone: false }),
        Ok(false) => Err(SandboxError::Start(format!("there is a container {name} already"))),
        Err(NotMade { error, perhaps }) => {
            if perhaps {
                leftovers.look_for(&name, LOOKS_MAX);
            }
            Err(error)
        }
    };
    drop(taken.send(made));
}

#[async_trait]
impl SandboxHandle for ContainerHandle {
    async fn keep_disk(&mut self, _disk: &str) -> Result<(), SandboxError> {
        Err(no_disk())
    }

    async fn ending(&mut self) -> Ending {
        self.engine.ending(&self.name, &self.identity).await
    }

    async fn destroy(&mut self, _with_disk: bool) {
        if self.gone {
            return;
        }
        match self.engine.remove(&self.name).await {
            Ok(_) => self.gone = true,
            Err(error) => tracing::warn!(container = self.name, %error, "a container is left over; it is tried again"),
        }
    }
}

impl Drop for ContainerHandle {
    fn drop(&mut self) {
        if !self.gone {
            self.leftovers.add(&self.name);
        }
    }
}

/// Disks of containers cannot outlive them.
pub(super) fn no_disk() -> SandboxError {
    SandboxError::Unavailable("a container's disk ends with it and cannot be kept: use the local back end".to_owned())
}

/// Names of containers that are to be removed, with how often each is still looked for.
#[derive(Default)]
pub(super) struct Leftovers {
    names: Mutex<BTreeMap<String, u32>>,
    added: Notify,
}

impl Leftovers {
    /// Their number.
    pub(super) fn count(&self) -> usize {
        self.names.lock().len()
    }

    /// A container that is there.
    pub(super) fn add(&self, name: &str) {
        self.look_for(name, 1);
    }

    fn look_for(&self, name: &str, looks: u32) {
        self.names.lock().insert(name.to_owned(), looks);
        self.added.notify_one();
    }

    /// Removes what is added, for as long as it takes: an engine that was killed comes back.
    pub(super) async fn clean(self: Arc<Self>, engine: Engine) {
        loop {
            self.added.notified().await;
            while !self.names.lock().is_empty() {
                let names: Vec<String> = self.names.lock().keys().cloned().collect();
                for name in names {
                    if let Ok(found) = engine.remove(&name).await {
                        self.looked(&name, found);
                    }
                }
                if !self.names.lock().is_empty() {
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    fn looked(&self, name: &str, found: bool) {
        let mut names = self.names.lock();
        let left = names.get(name).map_or(0, |looks| looks.saturating_sub(1));
        if found || left == 0 {
            names.remove(name);
        } else {
            names.insert(name.to_owned(), left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_containers_are_looked_for_more_than_once() {
        let leftovers = Leftovers::default();
        leftovers.add("sure");
        leftovers.look_for("perhaps", 2);
        for name in ["sure", "perhaps"] {
            leftovers.looked(name, false);
        }
        assert_eq!(leftovers.names.lock().keys().collect::<Vec<_>>(), ["perhaps"]);
        leftovers.looked("perhaps", false);
        assert!(leftovers.names.lock().is_empty());
        leftovers.look_for("perhaps", 30);
        leftovers.looked("perhaps", true);
        assert!(leftovers.names.lock().is_empty());
    }
}

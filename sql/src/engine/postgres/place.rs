//! Places for sessions: a database, the role that may use it, and a connection, made ahead of need and used once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::beyond::Beyond;
use super::catalog;
use super::server::{Lane, Server, literal, lost, quoted};
use super::template::{GROUPS, Template};
use super::wire::Wire;
use crate::engine::{Access, EngineError};

/// Connections of one session: its own, and one while an interrupted one still ends.
const CONNECTIONS_MAX: u32 = 2;

/// A place. When it is dropped its database and role are removed in the background.
pub(super) struct Place {
    pub(super) wire: Wire,
    /// The database's name and the role's.
    pub(super) name: String,
    /// Bytes of the template.
    pub(super) size: u64,
    /// What savepoints do not cover in it.
    pub(super) beyond: Beyond,
    rubbish: Rubbish,
    /// Counts the session; warm places have none.
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

/// Where the names of places go that nobody uses any more, with the server that holds them.
#[derive(Clone)]
pub(super) struct Rubbish {
    pub(super) server: Arc<Server>,
    pub(super) names: mpsc::UnboundedSender<String>,
}

impl Place {
    /// Makes a place from a template.
    pub(super) async fn make(rubbish: &Rubbish, template: &Template, access: Access) -> Result<Self, EngineError> {
        let server = &rubbish.server;
        let name = server.fresh_name("s");
        // From here on it is removed, whatever fails.
        let mut cleaner = Cleaner { rubbish: Some(rubbish.clone()), name: name.clone() };
        let password = server.password();
        let group = quoted(&server.name(GROUPS[access as usize]));
        let quoted_name = quoted(&name);
        let mut statements = vec![format!(
            "CREATE ROLE {quoted_name} LOGIN PASSWORD {} CONNECTION LIMIT {CONNECTIONS_MAX} IN ROLE {group}",
            literal(&password)
        )];
        if server.superuser {
            statements.push(format!("ALTER ROLE {quoted_name} SET temp_file_limit = '256MB'"));
        }
        statements.push(format!(
            "CREATE DATABASE {quoted_name} TEMPLATE {}{}",
            quoted(&template.name),
            strategy(server)
        ));
        statements.push(format!("REVOKE ALL ON DATABASE {quoted_name} FROM PUBLIC"));
        let rights = if access == Access::Read { "CONNECT" } else { "CONNECT, TEMPORARY" };
        statements.push(format!("GRANT {rights} ON DATABASE {quoted_name} TO {quoted_name}"));
        let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
        server.run(Lane::Make, &statements).await?;
        let mut wire = server.enter_as(&name, &name, &password).await.map_err(lost)?;
        // A server process looks up most of the catalogs once: better now than when somebody waits.
        wire.run(&[catalog::DEFERRED, catalog::SEQUENCES]).await.map_err(lost)?;
        let Some(rubbish) = cleaner.rubbish.take() else {
            return Err(EngineError::Lost("a place was given up while it was made".to_owned()));
        };
        Ok(Self { wire, name, size: template.size, beyond: template.beyond.clone(), rubbish, permit: None })
    }

    /// The server that holds it.
    pub(super) fn server(&self) -> Arc<Server> {
        Arc::clone(&self.rubbish.server)
    }
}

/// Copying by blocks needs no checkpoint, so that sessions that run do not wait for one. Older versions know no other way.
fn strategy(server: &Server) -> &'static str {
    if server.version >= 150_000 { " STRATEGY wal_log" } else { "" }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Nobody receives any more when the engine is closed: then everything is swept.
        let _ = self.rubbish.names.send(std::mem::take(&mut self.name));
    }
}

/// Removes what was made of a place, unless it was finished.
struct Cleaner {
    rubbish: Option<Rubbish>,
    name: String,
}

impl Drop for Cleaner {
    fn drop(&mut self) {
        if let Some(rubbish) = self.rubbish.take() {
            let _ = rubbish.names.send(std::mem::take(&mut self.name));
        }
    }
}

//! Templates: databases that are made once from a script, closed to everybody, and copied for every session.

use std::time::Duration;

use super::clock::{self, NOW_SETTING, SCHEMA};
use super::hardening::harden;
use super::non_transactional::{self, NonTransactionalState};
use super::server::{Purpose, Server, literal, lost};
use super::wire::{BatchStatement, Wire, WireError};
use crate::engine::EngineError;
use crate::script::quoted;
use crate::script::{Statement, split};
use crate::source::{Content, Source};
use crate::value::Dialect;

/// Time that one statement of a script may take.
const STATEMENT_MAX: Duration = Duration::from_secs(120);
/// The time that scripts and plans see as now: 2025-01-01. Whatever day they are made on, it is the same.
pub(super) const NOW_MS: i64 = 1_735_689_600_000;
/// Statements that are sent in one round trip.
const BATCH: usize = 64;

/// A database to copy from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    /// The database.
    pub(super) name: String,
    /// Bytes on disk.
    pub(super) size: u64,
    /// State beyond savepoints.
    pub(super) non_transactional: NonTransactionalState,
}

/// Group roles, one for each [`crate::engine::Access`]; every session's role is a member of one.
pub(super) const GROUPS: [&str; 3] = ["read", "write", "define"];

/// Makes what all templates begin with: group roles, and a database with our schema from which everything dangerous is taken.
pub(super) async fn make_base(server: &Server) -> Result<(), EngineError> {
    for group in GROUPS {
        server.run(Purpose::Make, &[&format!("CREATE ROLE {} NOLOGIN", quoted(&server.name(group)))]).await?;
    }
    if !server.superuser {
        // Objects are handed over to a role only by its members.
        let define = quoted(&server.name("define"));
        server.run(Purpose::Make, &[&format!("GRANT {define} TO CURRENT_USER")]).await?;
    }
    let base = server.name("base");
    let create =
        format!("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'", quoted(&base));
    server.run(Purpose::Make, &[&create, &format!("REVOKE ALL ON DATABASE {} FROM PUBLIC", quoted(&base))]).await?;
    let mut wire = server.enter(&base).await.map_err(lost)?;
    wire.run(SCHEMA).await.map_err(lost)?;
    wire.run(non_transactional::FUNCTIONS).await.map_err(lost)?;
    wire.run(&["REVOKE CREATE ON SCHEMA public FROM PUBLIC"]).await.map_err(lost)?;
    if server.superuser {
        harden(&mut wire).await.map_err(lost)?;
    }
    Ok(())
}

/// Makes the template of a source.
pub(super) async fn make(server: &Server, source: &Source) -> Result<Template, EngineError> {
    let Content::Script(script) = &source.content else {
        return Err(EngineError::Source("a database file of SQLite is nothing that PostgreSQL reads".to_owned()));
    };
    let name = server.fresh_name(&format!("t_{}", source.digest.get(..12).unwrap_or(&source.digest)));
    let maker = server.fresh_name("m");
    let made = fill(server, &name, &maker, script).await;
    let removed = remove_role(server, &maker).await;
    match made {
        Ok(template) => removed.map(|()| template),
        Err(error) => {
            remove(server, &name).await?;
            Err(error)
        }
    }
}

/// Removes a template or a database of a session.
pub(super) async fn remove(server: &Server, name: &str) -> Result<(), EngineError> {
    server.run(Purpose::Drop, &[&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", quoted(name))]).await
}

/// Removes a role that owns nothing any more.
pub(super) async fn remove_role(server: &Server, name: &str) -> Result<(), EngineError> {
    server.run(Purpose::Drop, &[&format!("DROP ROLE IF EXISTS {}", quoted(name))]).await
}

/// The script runs as a role that can do nothing outside of the new database; everything is handed over to `define` afterwards.
async fn fill(server: &Server, name: &str, maker: &str, script: &str) -> Result<Template, EngineError> {
    let (database, role) = (quoted(name), quoted(maker));
    let password = server.password();
    server.run(Purpose::Make, &[&format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)")]).await?;
    server.run(Purpose::Make, &[&format!("CREATE ROLE {role} LOGIN PASSWORD {}", literal(&password))]).await?;
    let create = format!("CREATE DATABASE {database} TEMPLATE {}", quoted(&server.name("base")));
    let grant = format!("GRANT CONNECT, CREATE, TEMPORARY ON DATABASE {database} TO {role}");
    server.run(Purpose::Make, &[&create, &format!("REVOKE ALL ON DATABASE {database} FROM PUBLIC"), &grant]).await?;
    if !server.superuser {
        server.run(Purpose::Make, &[&format!("GRANT {role} TO CURRENT_USER")]).await?;
    }
    let mut admin = server.enter(name).await.map_err(lost)?;
    admin.run(&[&format!("GRANT USAGE, CREATE ON SCHEMA public TO {role}")]).await.map_err(lost)?;
    if server.superuser {
        admin.run(&[&format!("GRANT USAGE ON LANGUAGE sql, plpgsql TO {role}")]).await.map_err(lost)?;
    }
    let mut wire = server.enter_as(name, maker, &password).await.map_err(lost)?;
    run_script(&mut wire, script).await?;
    wire.run(&["RESET ALL", "VACUUM (ANALYZE)"]).await.map_err(lost)?;
    drop(wire);
    hand_over(server, &mut admin, maker).await.map_err(lost)?;
    let template = measure(&mut admin, name).await.map_err(lost)?;
    drop(admin);
    server.run(Purpose::Make, &[&format!("ALTER DATABASE {database} ALLOW_CONNECTIONS false")]).await?;
    Ok(template)
}

async fn run_script(wire: &mut Wire, script: &str) -> Result<(), EngineError> {
    let timeout = format!("SET statement_timeout = {}", STATEMENT_MAX.as_millis());
    let now = format!("SET {NOW_SETTING} = '{}'", clock::moment(NOW_MS));
    wire.run(&[&timeout, &now, "SELECT setseed(0)"]).await.map_err(lost)?;
    let statements = split(script, Dialect::Postgres);
    let sent: Vec<String> = statements.iter().map(prepare).collect();
    // Statements that may not be in one transaction with others go alone; an explicit transaction of the script's own goes on.
    let mut next = 0;
    while next < sent.len() {
        let alone =
            |index: usize| matches!(&*statements[index].name(Dialect::Postgres), "VACUUM" | "ANALYZE" | "REINDEX");
        let mut end = next + 1;
        while end < sent.len() && end - next < BATCH && !alone(next) && !alone(end) {
            end += 1;
        }
        let batch: Vec<BatchStatement<'_>> = sent[next..end].iter().map(|sql| BatchStatement::plain(sql)).collect();
        let answer = wire.batch(&batch).await.map_err(|error| EngineError::Source(error.to_string()))?;
        if let Some(error) = answer.error {
            let failed = &statements[next + answer.replies.len()];
            let shown: String = failed.text.chars().take(200).collect();
            return Err(EngineError::Source(format!("{error} in the statement {shown:?}")));
        }
        next = end;
    }
    // A script that leaves a transaction open meant to end it.
    wire.run(&["COMMIT"]).await.map_err(|error| EngineError::Source(error.to_string()))
}

fn prepare(statement: &Statement<'_>) -> String {
    clock::rewrite(statement.text, &statement.tokens, true).sql
}

/// Gives what the script made to `define`, and the rights of the other groups on it.
async fn hand_over(server: &Server, admin: &mut Wire, maker: &str) -> Result<(), WireError> {
    let [read, write, define] = GROUPS.map(|group| quoted(&server.name(group)));
    let role = quoted(maker);
    admin.run(&[&format!("REASSIGN OWNED BY {role} TO {define}"), &format!("DROP OWNED BY {role}")]).await?;
    let schemas = "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname NOT IN ('palestra', 'information_schema') \
                   AND NOT starts_with(nspname, 'pg_')";
    let mut grants = Vec::new();
    for schema in admin.rows(schemas).await?.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
        let schema = quoted(&schema);
        grants.extend([
            format!("GRANT USAGE ON SCHEMA {schema} TO {read}, {write}, {define}"),
            format!("GRANT CREATE ON SCHEMA {schema} TO {define}"),
            format!("GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {read}, {write}"),
            format!("GRANT INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA {schema} TO {write}"),
            format!("GRANT SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {read}"),
            format!("GRANT ALL ON ALL SEQUENCES IN SCHEMA {schema} TO {write}"),
        ]);
    }
    admin.run(&grants.iter().map(String::as_str).collect::<Vec<_>>()).await
}

async fn measure(admin: &mut Wire, name: &str) -> Result<Template, WireError> {
    let size = admin.rows("SELECT pg_catalog.pg_database_size(pg_catalog.current_database())").await?;
    let size = size.first().and_then(|row| row.first()?.as_deref()?.parse().ok()).unwrap_or(0);
    let mut non_transactional = NonTransactionalState::default();
    non_transactional.read(admin.rows(non_transactional::SORTS).await?);
    non_transactional.learn(admin.rows(non_transactional::SEQUENCES).await?);
    Ok(Template { name: name.to_owned(), size, non_transactional })
}

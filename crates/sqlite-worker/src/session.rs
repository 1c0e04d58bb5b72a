//! A session: a connection to pages of its own, the marks to which it can return, and what must stand there again.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::functions::{self, State};
use crate::guard::{Asking, Guard};
use crate::heap::Account;
use crate::limits::{self, MEMORY_MIN, Meter};
use crate::pages::{self, Ledger, Store, Table};
use crate::raw;
use crate::wire::Limits;

/// More changed rows than this are not made again to return to a mark.
const CHANGES_MAX: u64 = 10_000;
/// Factor of its growth that a session may keep in pages that only marks still need.
const KEPT: u64 = 2;

/// State of an open connection, lent to whoever runs statements on it.
#[derive(Debug)]
pub struct Session {
    /// First, so that it is closed while everything that it uses lives.
    pub(crate) connection: Connection,
    pub(crate) guard: Arc<Guard>,
    pub(crate) functions: Arc<State>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) account: Arc<Account>,
    store: Arc<Store>,
    ledger: Arc<Ledger>,
    pub(crate) settings: Settings,
    /// Contents after the last statement that left no transaction open.
    committed: Table,
    /// By the number of the step; `None` where the session cannot return.
    marks: BTreeMap<u64, Option<Mark>>,
}

/// Settings of a session.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Asking party.
    pub asking: Asking,
    /// Resource limits of statements.
    pub limits: Limits,
    /// Randomness follows from it.
    pub seed: u64,
    /// Bytes that the database may have.
    pub size_max: u64,
}

/// A point between two steps.
#[derive(Debug, Clone, Default)]
struct Mark {
    table: Table,
    last_insert_rowid: i64,
    changes: u64,
    total_changes: i64,
    foreign_keys: Option<bool>,
}

impl Session {
    /// Opens a session on what a template holds.
    ///
    /// # Errors
    /// In words, when SQLite cannot open it.
    pub fn open(table: &Table, settings: Settings, meter: Arc<Meter>) -> Result<Self, String> {
        let mark = Mark { table: table.clone(), ..Mark::default() };
        Self::at(mark, settings, meter, Arc::default()).map_err(|error| error.to_string())
    }

    /// Opens a session at a mark.
    fn at(mark: Mark, settings: Settings, meter: Arc<Meter>, ledger: Arc<Ledger>) -> Result<Self, Failure> {
        let account = Account::new(usize::try_from(settings.limits.memory_max.max(MEMORY_MIN)).unwrap_or(usize::MAX));
        let (store, guard, functions) = (
            Store::new(mark.table.clone(), Arc::clone(&ledger)),
            Guard::new(settings.asking),
            State::new(Arc::clone(&meter)),
        );
        let paying = account.pays();
        let connection = connect(&store, &settings, &guard, &functions, &meter)?;
        mark.restore(&connection, &guard, &functions)?;
        drop(paying);
        let (committed, marks) = (mark.table.clone(), BTreeMap::from([(0, Some(mark))]));
        Ok(Self { connection, guard, functions, meter, account, store, ledger, settings, committed, marks })
    }

    /// Contents of the database, without changes of an open transaction.
    #[must_use]
    pub fn table(&self) -> Table {
        self.committed.clone()
    }

    /// Remembers what stands when no transaction is open.
    pub(crate) fn note_committed(&mut self) {
        if self.connection.is_autocommit() {
            self.committed = self.store.table();
        }
    }

    /// Ends a step, and leaves a mark. `pure` says that nothing has changed since the mark before.
    pub fn mark(&mut self, seq: u64, pure: bool) {
        let before = self.marks.last_key_value().map(|(_, mark)| mark.clone());
        let mark = match before {
            Some(mark) if pure => mark,
            _ => self.point(),
        };
        self.marks.insert(seq, mark);
        self.forget_old_marks();
    }

    /// Where the session stands; `None` where a new connection could not stand there.
    fn point(&self) -> Option<Mark> {
        if !self.connection.is_autocommit() || self.guard.saw_temporary() {
            return None;
        }
        Some(Mark {
            table: self.store.table(),
            last_insert_rowid: self.connection.last_insert_rowid(),
            changes: self.changes(),
            total_changes: i64::try_from(self.connection.total_changes()).unwrap_or(i64::MAX)
                + self.functions.changed_before(),
            foreign_keys: self.connection.db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY).ok(),
        })
    }

    /// Result of `changes()`.
    pub(crate) fn changes(&self) -> u64 {
        self.functions.changes().unwrap_or_else(|| self.connection.changes())
    }

    /// Pages that only marks need must not pile up: the oldest marks go, but for the beginning, which costs nothing.
    fn forget_old_marks(&mut self) {
        let kept_max = self.settings.size_max.saturating_add(self.settings.limits.growth_max.saturating_mul(KEPT));
        let last = self.marks.last_key_value().map_or(0, |(seq, _)| *seq);
        while self.ledger.bytes() > kept_max {
            let oldest = self.marks.iter_mut().find(|(seq, mark)| **seq != 0 && **seq != last && mark.is_some());
            let Some((_, mark)) = oldest else { return };
            *mark = None;
        }
    }

    /// Returns to a mark. `false` where that cannot be done in place; nothing has changed then.
    pub fn rewind(&mut self, seq: u64) -> bool {
        let Some(Some(mark)) = self.marks.get(&seq).cloned() else { return false };
        if mark.changes > CHANGES_MAX {
            return false;
        }
        let Ok(mut session) = Self::at(mark, self.settings, Arc::clone(&self.meter), Arc::clone(&self.ledger)) else {
            return false;
        };
        session.marks = std::mem::take(&mut self.marks);
        session.marks.split_off(&(seq + 1));
        *self = session;
        true
    }

    /// A copy at this point, with its marks; `None` where this cannot be done in place.
    #[must_use]
    pub fn fork(&self, meter: Arc<Meter>) -> Option<Self> {
        let mark = self.point().filter(|mark| mark.changes <= CHANGES_MAX)?;
        let mut copy = Self::at(mark, self.settings, meter, Arc::default()).ok()?;
        copy.marks.clone_from(&self.marks);
        Some(copy)
    }

    /// Looks through a database that came as a file.
    ///
    /// # Errors
    /// In words, when it is damaged or needs what nothing here has.
    pub fn check_file(&mut self) -> Result<(), String> {
        let _paying = self.account.pays();
        self.meter.begin_step(self.settings.limits.statement_ms);
        self.meter.begin(self.settings.limits.statement_ms);
        let connection = &self.connection;
        let checked = self.guard.unwatched(|| {
            let odd = "SELECT count(*) FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'";
            let odd: i64 = connection.query_row(odd, [], |row| row.get(0))?;
            let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
            Ok::<_, rusqlite::Error>((odd, found))
        });
        self.meter.end();
        match checked.map_err(|error| error.to_string())? {
            (0, found) if found == "ok" => Ok(()),
            (0, found) => Err(format!("the database is damaged: {found}")),
            _ => Err("the database has virtual tables, which are not supported".to_owned()),
        }
    }

    /// Gives back memory that is only kept in case it is needed again.
    pub(crate) fn tidy(&self) {
        // That it fails only means that some memory stays.
        let _ = self.connection.release_memory();
    }
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("{}", .0.message)]
    Raw(raw::Fault),
}

impl From<raw::Fault> for Failure {
    fn from(fault: raw::Fault) -> Self {
        Self::Raw(fault)
    }
}

fn connect(
    store: &Arc<Store>,
    settings: &Settings,
    guard: &Arc<Guard>,
    functions: &Arc<State>,
    meter: &Arc<Meter>,
) -> Result<Connection, Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = store.opening(|| Connection::open_with_flags_and_vfs("main", flags, pages::NAME))?;
    for (config, value) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true),
    ] {
        connection.set_db_config(config, value)?;
    }
    limits::apply(&connection, &settings.limits)?;
    // Nothing goes beside the database, and the little that is cached of it is given back after each step that writes.
    connection.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON; PRAGMA cache_size = -1024")?;
    connection.query_row("PRAGMA journal_mode = MEMORY", [], |_| Ok(()))?;
    // Whoever looks there opens it, and it is listed from then on: so that this can change nothing, it is open from the beginning.
    connection.query_row("SELECT count(*) FROM temp.sqlite_schema", [], |_| Ok(()))?;
    let page: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let pages = (settings.size_max / page.cast_unsigned().max(512)).clamp(1, u64::from(u32::MAX) - 2);
    connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    functions::install(&connection, functions)?;
    guard.watch(&connection)?;
    meter.watch(&connection)?;
    Ok(connection)
}

impl Mark {
    /// Makes a new connection remember what the one before it remembered here.
    fn restore(&self, connection: &Connection, guard: &Guard, functions: &State) -> Result<(), Failure> {
        if let Some(enabled) = self.foreign_keys {
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, enabled)?;
        }
        if self.changes > 0 {
            // `changes()` is what the last statement changed, and nothing sets it but changing as many rows.
            guard.unwatched(|| {
                connection.execute_batch(&format!(
                    "ATTACH ':memory:' AS past; CREATE TABLE past.t(a); \
                     INSERT INTO past.t WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT {}) \
                     SELECT a FROM n; DETACH past",
                    self.changes
                ))
            })?;
        }
        let own = i64::try_from(connection.total_changes()).unwrap_or(i64::MAX);
        functions.set_changed_before(self.total_changes - own);
        raw::set_last_insert_rowid(connection, self.last_insert_rowid);
        Ok(())
    }
}

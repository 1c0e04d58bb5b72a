//! Access rules of statements, decided while SQLite compiles them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, ffi};

use crate::raw::Fault;
use crate::wire::Access;
use crate::words::Kind;

/// Uses of functions in one statement whose single call may take long: nothing can end such a call.
const HEAVY_MAX: u32 = 32;

/// Pragmas that only read.
const READING: [&str; 17] = [
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "foreign_key_check",
    "integrity_check",
    "quick_check",
    "database_list",
    "collation_list",
    "function_list",
    "pragma_list",
    "compile_options",
    "page_count",
    "freelist_count",
];

/// Pragmas that read without a value, and set something with one.
const SETTINGS: [&str; 9] = [
    "foreign_keys",
    "defer_foreign_keys",
    "user_version",
    "application_id",
    "schema_version",
    "encoding",
    "recursive_triggers",
    "auto_vacuum",
    "page_size",
];

/// Functions of extensions, which nothing here needs: text search, trees of boxes, libraries, files.
const REFUSED: [&str; 14] = [
    "load_extension",
    "readfile",
    "writefile",
    "edit",
    "optimize",
    "matchinfo",
    "offsets",
    "snippet",
    "bm25",
    "highlight",
    "sqlite_dbpage",
    "zipfile",
    "rtreecheck",
    "match",
];
const REFUSED_PREFIXES: [&str; 5] = ["fts3", "fts5", "rtree", "geopoly", "sqlar"];

/// Functions whose single call takes the product of two lengths, of which the second is bounded, or is not.
const HEAVY: [&str; 2] = ["like", "glob"];
const TOO_HEAVY: [&str; 2] = ["json_patch", "jsonb_patch"];

const VACUUM_INTO: &str = "VACUUM INTO is not allowed: there are no files; VACUUM without INTO is";

/// Asking party.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// A session.
    Session(Access),
    /// The script of a template, which may also hold what tools write that copy databases: settings are passed over.
    Template,
}

impl Asking {
    fn may(self, access: Access) -> bool {
        match self {
            Self::Session(own) => own >= access,
            Self::Template => true,
        }
    }
}

/// Decides for one connection.
#[derive(Debug)]
pub struct Guard {
    asking: Asking,
    /// True while the worker's own statements are compiled, which are not checked.
    off: AtomicBool,
    /// A VACUUM runs, whose own statements come by here too.
    vacuum: AtomicBool,
    /// The server asks, for itself.
    looking: AtomicBool,
    /// The statement is one that keeps statistics in order: it may write into their tables.
    keeps_statistics: AtomicBool,
    /// True if the connection has seen a temporary object.
    temporary: AtomicBool,
    in_transaction: AtomicBool,
    /// The statement is only explained.
    explains: AtomicBool,
    /// True if the statement changes a setting.
    sets: AtomicBool,
    heavy: AtomicU32,
    refusal: Mutex<Option<String>>,
}

impl Guard {
    /// A guard, which looks at everything from [`Guard::watch`] on.
    #[must_use]
    pub fn new(asking: Asking) -> Arc<Self> {
        Arc::new(Self {
            asking,
            off: AtomicBool::new(false),
            vacuum: AtomicBool::new(false),
            looking: AtomicBool::new(false),
            keeps_statistics: AtomicBool::new(false),
            temporary: AtomicBool::new(false),
            in_transaction: AtomicBool::new(false),
            explains: AtomicBool::new(false),
            sets: AtomicBool::new(false),
            heavy: AtomicU32::new(0),
            refusal: Mutex::new(None),
        })
    }

    /// Lets it decide for a connection.
    ///
    /// # Errors
    /// None in practice.
    pub fn watch(self: &Arc<Self>, connection: &Connection) -> rusqlite::Result<()> {
        let guard = Arc::clone(self);
        connection.authorizer(Some(move |context: AuthContext<'_>| guard.decide(&context)))
    }

    /// Begins a statement.
    ///
    /// # Errors
    /// Where it is refused by its words alone.
    pub fn begin(&self, kind: &Kind, in_transaction: bool) -> Result<(), Fault> {
        let vacuum = matches!(kind, Kind::Vacuum { .. });
        self.vacuum.store(vacuum && self.asking.may(Access::Define), Ordering::Relaxed);
        self.explains.store(*kind == Kind::Explain, Ordering::Relaxed);
        self.in_transaction.store(in_transaction, Ordering::Relaxed);
        self.keeps_statistics.store(false, Ordering::Relaxed);
        self.sets.store(false, Ordering::Relaxed);
        self.heavy.store(0, Ordering::Relaxed);
        self.refusal.lock().take();
        // While a VACUUM runs nothing is looked at, and the name after INTO is an expression that may call anything.
        if *kind == (Kind::Vacuum { into: true }) {
            return Err(Fault { code: ffi::SQLITE_AUTH, message: VACUUM_INTO.to_owned(), offset: None });
        }
        Ok(())
    }

    /// Runs something that the session did not ask for.
    pub fn unwatched<T>(&self, what: impl FnOnce() -> T) -> T {
        self.off.store(true, Ordering::Relaxed);
        let result = what();
        self.off.store(false, Ordering::Relaxed);
        result
    }

    /// Lets statements do what the session may not, while the server asks for itself.
    pub fn look(&self, looking: bool) {
        self.looking.store(looking, Ordering::Relaxed);
    }

    /// Reason why the statement was refused, if it was.
    pub fn take_refusal(&self) -> Option<String> {
        self.refusal.lock().take()
    }

    /// True if the statement changes a setting, which SQLite does not take for a change.
    #[must_use]
    pub fn sets(&self) -> bool {
        self.sets.load(Ordering::Relaxed)
    }

    /// True if a temporary table, view, index or trigger has ever been made on this connection.
    #[must_use]
    pub fn saw_temporary(&self) -> bool {
        self.temporary.load(Ordering::Relaxed)
    }

    fn decide(&self, context: &AuthContext<'_>) -> Authorization {
        if self.off.load(Ordering::Relaxed) {
            return Authorization::Allow;
        }
        match self.judge(context) {
            Ok(()) => Authorization::Allow,
            Err(Refusal::Pass) => Authorization::Ignore,
            Err(Refusal::Because(reason)) => {
                self.refusal.lock().get_or_insert(reason);
                Authorization::Deny
            }
        }
    }

    fn judge(&self, context: &AuthContext<'_>) -> Result<(), Refusal> {
        if self.vacuum.load(Ordering::Relaxed) {
            return match context.action {
                AuthAction::Attach { filename } if !filename.is_empty() => refuse(VACUUM_INTO),
                _ => Ok(()),
            };
        }
        let temporary = context.database_name == Some("temp");
        if keeps_statistics(&context.action) {
            self.keeps_statistics.store(true, Ordering::Relaxed);
        }
        match context.action {
            AuthAction::Select | AuthAction::Recursive => Ok(()),
            AuthAction::Read { table_name, .. } => readable(table_name),
            AuthAction::Function { function_name } => self.function(function_name),
            AuthAction::Pragma { pragma_name, pragma_value } => self.pragma(pragma_name, pragma_value),
            AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => {
                self.need(Access::Write, "transactions are not allowed")
            }
            AuthAction::Insert { table_name }
            | AuthAction::Update { table_name, .. }
            | AuthAction::Delete { table_name } => self.change(table_name),
            AuthAction::CreateTempIndex { .. }
            | AuthAction::CreateTempTable { .. }
            | AuthAction::CreateTempTrigger { .. }
            | AuthAction::CreateTempView { .. } => {
                self.temporary.store(true, Ordering::Relaxed);
                self.need(Access::Write, "temporary objects are not allowed")
            }
            AuthAction::DropTempIndex { .. }
            | AuthAction::DropTempTable { .. }
            | AuthAction::DropTempTrigger { .. }
            | AuthAction::DropTempView { .. } => self.need(Access::Write, "temporary objects are not allowed"),
            AuthAction::AlterTable { database_name: "temp", .. } => {
                self.need(Access::Write, "temporary objects are not allowed")
            }
            AuthAction::CreateIndex { .. }
            | AuthAction::CreateTable { .. }
            | AuthAction::CreateTrigger { .. }
            | AuthAction::CreateView { .. }
            | AuthAction::DropIndex { .. }
            | AuthAction::DropTable { .. }
            | AuthAction::DropTrigger { .. }
            | AuthAction::DropView { .. }
            | AuthAction::AlterTable { .. }
            | AuthAction::Reindex { .. }
                if !temporary =>
            {
                self.need(Access::Define, "the schema may not be changed")
            }
            AuthAction::Reindex { .. } => self.need(Access::Write, "temporary objects are not allowed"),
            AuthAction::Analyze { .. } => self.need(Access::Define, "ANALYZE is not allowed"),
            AuthAction::Attach { .. } | AuthAction::Detach { .. } => {
                refuse("ATTACH and DETACH are not allowed: a session has one database, and there are no files")
            }
            AuthAction::CreateVtable { .. } | AuthAction::DropVtable { .. } => {
                refuse("virtual tables are not allowed; ordinary tables and views are")
            }
            _ => refuse("this is not allowed"),
        }
    }

    fn need(&self, access: Access, what: &str) -> Result<(), Refusal> {
        if self.asking.may(access) || self.looking.load(Ordering::Relaxed) {
            return Ok(());
        }
        let allowed = match self.asking {
            Asking::Session(Access::Read) => "this session may only read",
            _ => "this session may read and change rows, and use transactions and temporary tables",
        };
        refuse(format!("{what}: {allowed}"))
    }

    fn change(&self, table: &str) -> Result<(), Refusal> {
        // SQLite reads its statistics when it opens a database: written by hand, they would count only after a rewind.
        let statistics = table.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_stat"));
        if statistics && self.asking != Asking::Template && !self.keeps_statistics.load(Ordering::Relaxed) {
            return refuse("statistics may not be written by hand; ANALYZE writes them");
        }
        self.need(Access::Write, "rows may not be changed")
    }

    fn function(&self, name: &str) -> Result<(), Refusal> {
        let name = name.to_ascii_lowercase();
        if REFUSED.contains(&name.as_str()) || REFUSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            return refuse(format!("the function {name}() is not allowed: it is part of an extension"));
        }
        if TOO_HEAVY.contains(&name.as_str()) {
            return refuse(format!("the function {name}() is not allowed: a call may take too long; json_set() is"));
        }
        if HEAVY.contains(&name.as_str()) && self.heavy.fetch_add(1, Ordering::Relaxed) >= HEAVY_MAX {
            return refuse(format!("a statement may use LIKE and GLOB {HEAVY_MAX} times"));
        }
        Ok(())
    }

    fn pragma(&self, name: &str, value: Option<&str>) -> Result<(), Refusal> {
        let name = name.to_ascii_lowercase();
        if READING.contains(&name.as_str()) || value.is_none() && SETTINGS.contains(&name.as_str()) {
            return Ok(());
        }
        let define = self.asking.may(Access::Define);
        let settable = match name.as_str() {
            "foreign_keys" | "user_version" | "application_id" => define,
            // Outside of a transaction it would last until the next one ends, which no mark remembers.
            "defer_foreign_keys" => define && self.in_transaction.load(Ordering::Relaxed),
            "encoding" => self.asking == Asking::Template,
            _ => false,
        };
        match self.asking {
            // SQLite changes some settings while it compiles, so that to explain the statement would be to run it.
            _ if settable && self.explains.load(Ordering::Relaxed) => {
                refuse(format!("PRAGMA {name} cannot be explained where it sets something"))
            }
            _ if settable => {
                self.sets.store(true, Ordering::Relaxed);
                Ok(())
            }
            Asking::Template => Err(Refusal::Pass),
            Asking::Session(_) if name == "defer_foreign_keys" && define => {
                refuse("PRAGMA defer_foreign_keys is allowed within a transaction only")
            }
            Asking::Session(_) => refuse(format!(
                "PRAGMA {name} is not allowed{}; those that read the schema are, such as table_info",
                if value.is_some() { " to set anything" } else { "" }
            )),
        }
    }
}

enum Refusal {
    /// The statement does nothing.
    Pass,
    Because(String),
}

fn refuse(reason: impl Into<String>) -> Result<(), Refusal> {
    Err(Refusal::Because(reason.into()))
}

/// True if SQLite itself goes on to write statistics: ANALYZE does, and what is dropped takes its own along.
fn keeps_statistics(action: &AuthAction<'_>) -> bool {
    matches!(
        action,
        AuthAction::Analyze { .. }
            | AuthAction::DropTable { .. }
            | AuthAction::DropIndex { .. }
            | AuthAction::DropTempTable { .. }
            | AuthAction::DropTempIndex { .. }
    )
}

/// Tables that SQLite makes up and that reach below its own.
fn readable(table: &str) -> Result<(), Refusal> {
    let table = table.to_ascii_lowercase();
    if ["dbstat", "sqlite_dbpage", "sqlite_stmt", "fts3tokenize", "fts5vocab"].contains(&table.as_str()) {
        return refuse(format!("{table} may not be read"));
    }
    Ok(())
}

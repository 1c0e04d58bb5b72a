//! Policies as rules, compiled into triggers of both dialects: what they forbid fails inside the database, whoever asks.
//!
//! SQLite's `REPLACE` removes rows without asking any trigger, so every table under rules also gets triggers that refuse a row
//! whose key is taken. Keys never change, for the same reason.

use std::fmt::Write as _;

use crate::dataset::Table;
use crate::task::Spoken;

/// A rule. Conditions and actions are SQL of both dialects; they see `NEW` and `OLD`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// Rows cannot be written where a condition holds.
    Forbid {
        /// Its name, of its own in the world.
        name: &'static str,
        /// The table.
        table: &'static str,
        /// `INSERT`, `UPDATE`, `DELETE`.
        on: &'static [&'static str],
        /// When it is forbidden.
        when: &'static str,
        /// Message of the error.
        says: &'static str,
    },
    /// Something else happens after a row was written.
    After {
        /// Its name, of its own in the world.
        name: &'static str,
        /// The table.
        table: &'static str,
        /// `INSERT`, `UPDATE` or `DELETE`.
        on: &'static str,
        /// When it happens.
        when: &'static str,
        /// Statements, each with its semicolon.
        act: &'static str,
    },
    /// A column goes from one value to another in these steps alone.
    Steps {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// From, to.
        steps: &'static [(&'static str, &'static str)],
    },
    /// Rows are neither changed nor removed.
    Keep {
        /// The table.
        table: &'static str,
    },
    /// Rows are not removed.
    Stay {
        /// The table.
        table: &'static str,
    },
}

/// The statements of rules.
pub(super) fn compile(rules: &[Rule], tables: &[Table]) -> Spoken {
    let mut scripts = Scripts::default();
    for rule in rules {
        match rule {
            Rule::Forbid { name, table, on, when, says } => scripts.forbid(name, table, on, when, says),
            Rule::After { name, table, on, when, act } => scripts.after(name, table, on, when, act),
            Rule::Steps { table, column, steps } => {
                let allowed: Vec<String> = steps
                    .iter()
                    .map(|(from, to)| format!("(OLD.{column} = '{from}' AND NEW.{column} = '{to}')"))
                    .collect();
                let when = format!("OLD.{column} <> NEW.{column} AND NOT ({})", allowed.join(" OR "));
                let says = format!("the {column} of {table} cannot change like this");
                scripts.forbid(&format!("{table}_{column}_steps"), table, &["UPDATE"], &when, &says);
            }
            Rule::Keep { table } => {
                let says = format!("rows of {table} are kept as they are");
                scripts.forbid(&format!("{table}_are_kept"), table, &["UPDATE", "DELETE"], "1 = 1", &says);
            }
            Rule::Stay { table } => {
                let says = format!("rows of {table} are never removed");
                scripts.forbid(&format!("{table}_stay"), table, &["DELETE"], "1 = 1", &says);
            }
        }
    }
    let ruled = |table: &&Table| {
        rules.iter().any(|rule| match rule {
            Rule::Forbid { table: name, .. } | Rule::After { table: name, .. } | Rule::Steps { table: name, .. } => {
                *name == table.name
            }
            Rule::Keep { table: name } | Rule::Stay { table: name } => *name == table.name,
        })
    };
    for table in tables.iter().filter(ruled) {
        scripts.guard(table);
    }
    Spoken::each(scripts.sqlite, scripts.postgres)
}

#[derive(Default)]
struct Scripts {
    sqlite: String,
    postgres: String,
}

impl Scripts {
    fn forbid(&mut self, name: &str, table: &str, on: &[&str], when: &str, says: &str) {
        for event in on {
            let suffix = event.to_lowercase();
            let _ = writeln!(
                self.sqlite,
                "CREATE TRIGGER {name}_{suffix} BEFORE {event} ON {table} WHEN {when}\nBEGIN SELECT RAISE(ABORT, '{says}'); END;"
            );
        }
        let body = format!(
            "IF {when} THEN\n  RAISE EXCEPTION '{says}' USING ERRCODE = 'check_violation';\nEND IF;\n\
             IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;\nRETURN NEW;"
        );
        self.function(name, table, "BEFORE", &on.join(" OR "), &body);
    }

    fn after(&mut self, name: &str, table: &str, on: &str, when: &str, act: &str) {
        let _ = writeln!(self.sqlite, "CREATE TRIGGER {name} AFTER {on} ON {table} WHEN {when}\nBEGIN {act} END;");
        self.function(name, table, "AFTER", on, &format!("IF {when} THEN\n  {act}\nEND IF;\nRETURN NULL;"));
    }

    fn function(&mut self, name: &str, table: &str, moment: &str, on: &str, body: &str) {
        // Tables of the database alone, not temporary ones that somebody named alike.
        let _ = writeln!(
            self.postgres,
            "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $rule$\nBEGIN\n{body}\nEND\n$rule$;\n\
             CREATE TRIGGER {name} {moment} {on} ON {table} FOR EACH ROW EXECUTE FUNCTION {name}();"
        );
    }

    fn guard(&mut self, table: &Table) {
        let name = &table.name;
        let keys = std::iter::once(&table.primary_key).chain(&table.unique).filter(|columns| !columns.is_empty());
        for (number, columns) in keys.enumerate() {
            let same: Vec<String> = columns.iter().map(|column| format!("{column} = NEW.{column}")).collect();
            let same = same.join(" AND ");
            let says = format!("UNIQUE constraint failed: {name}.{}", columns.join(&format!(", {name}.")));
            let _ = writeln!(
                self.sqlite,
                "CREATE TRIGGER {name}_key_{number} BEFORE INSERT ON {name} WHEN EXISTS (SELECT 1 FROM {name} WHERE {same})\n\
                 BEGIN SELECT RAISE(ABORT, '{says}'); END;"
            );
            if number > 0 {
                let own: Vec<String> =
                    table.primary_key.iter().map(|column| format!("{column} = OLD.{column}")).collect();
                let _ = writeln!(
                    self.sqlite,
                    "CREATE TRIGGER {name}_change_{number} BEFORE UPDATE ON {name}\n\
                     WHEN EXISTS (SELECT 1 FROM {name} WHERE {same} AND NOT ({}))\nBEGIN SELECT RAISE(ABORT, '{says}'); END;",
                    own.join(" AND ")
                );
            }
        }
        if !table.primary_key.is_empty() {
            let moved: Vec<String> =
                table.primary_key.iter().map(|column| format!("NEW.{column} <> OLD.{column}")).collect();
            let says = format!("the key of a row of {name} does not change");
            self.forbid(&format!("{name}_key_stays"), name, &["UPDATE"], &moved.join(" OR "), &says);
        }
    }
}

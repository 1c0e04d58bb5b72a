//! The words of a statement, as far as they tell what it is.

/// Kind of a statement, by its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// `SELECT`, `VALUES`.
    Select,
    /// `INSERT`, `REPLACE`.
    Insert,
    /// `UPDATE`.
    Update,
    /// `DELETE`.
    Delete,
    /// `EXPLAIN`: nothing is run.
    Explain,
    /// `PRAGMA`.
    Pragma,
    /// `VACUUM`.
    Vacuum {
        /// True if it writes a copy somewhere else.
        into: bool,
    },
    /// Begins or ends a transaction or savepoint.
    Transaction(&'static str),
    /// Anything else, in the words of a command tag.
    Other(String),
}

impl Kind {
    /// Kind of the statement.
    #[must_use]
    pub fn of(sql: &str) -> Self {
        let mut words = Words::of(sql);
        match words.next().unwrap_or_default().as_str() {
            "SELECT" | "VALUES" => Self::Select,
            "INSERT" | "REPLACE" => Self::Insert,
            "UPDATE" => Self::Update,
            "DELETE" => Self::Delete,
            // The verb is the first one outside of brackets.
            "WITH" => words
                .find_map(|word| match word.as_str() {
                    "SELECT" | "VALUES" => Some(Self::Select),
                    "INSERT" | "REPLACE" => Some(Self::Insert),
                    "UPDATE" => Some(Self::Update),
                    "DELETE" => Some(Self::Delete),
                    _ => None,
                })
                .unwrap_or(Self::Select),
            "EXPLAIN" => Self::Explain,
            "PRAGMA" => Self::Pragma,
            "VACUUM" => Self::Vacuum { into: words.any(|word| word == "INTO") },
            "BEGIN" => Self::Transaction("BEGIN"),
            "COMMIT" | "END" => Self::Transaction("COMMIT"),
            "ROLLBACK" => Self::Transaction("ROLLBACK"),
            "SAVEPOINT" => Self::Transaction("SAVEPOINT"),
            "RELEASE" => Self::Transaction("RELEASE"),
            verb @ ("CREATE" | "DROP" | "ALTER") => {
                let object = words.find(|word| !matches!(word.as_str(), "TEMP" | "TEMPORARY" | "UNIQUE" | "VIRTUAL"));
                Self::Other(format!("{verb} {}", object.unwrap_or_default()))
            }
            verb => Self::Other(verb.to_owned()),
        }
    }

    /// The command tag, with the rows that it concerned.
    #[must_use]
    pub fn tag(&self, rows: u64) -> String {
        match self {
            Self::Select => format!("SELECT {rows}"),
            Self::Insert => format!("INSERT 0 {rows}"),
            Self::Update => format!("UPDATE {rows}"),
            Self::Delete => format!("DELETE {rows}"),
            Self::Explain => "EXPLAIN".to_owned(),
            Self::Pragma => "PRAGMA".to_owned(),
            Self::Vacuum { .. } => "VACUUM".to_owned(),
            Self::Transaction(tag) => (*tag).to_owned(),
            Self::Other(tag) => tag.clone(),
        }
    }

    /// True if it changes rows, which it counts.
    #[must_use]
    pub fn changes_rows(&self) -> bool {
        matches!(self, Self::Insert | Self::Update | Self::Delete)
    }
}

/// True if there is nothing but space, comments and semicolons.
#[must_use]
pub fn blank(sql: &str) -> bool {
    Words::of(sql).rest.is_empty()
}

/// Words of the first statement outside of brackets and quotes, in upper case. Anything else is passed over.
struct Words<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Words<'a> {
    fn of(sql: &'a str) -> Self {
        let mut words = Self { rest: sql, depth: 0 };
        words.skip_space();
        while let Some(rest) = words.rest.strip_prefix(';') {
            words.rest = rest;
            words.skip_space();
        }
        words
    }

    /// Passes over space and comments.
    fn skip_space(&mut self) {
        loop {
            let space = |c: char| c.is_ascii_whitespace() || c == '\u{feff}';
            self.rest = self.rest.trim_start_matches(space);
            self.rest = if self.rest.starts_with("--") {
                after(self.rest, "\n")
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                after(comment, "*/")
            } else {
                return;
            };
        }
    }
}

/// Text after the first such mark; nothing where there is none.
fn after<'a>(text: &'a str, mark: &str) -> &'a str {
    text.find(mark).map_or("", |at| &text[at + mark.len()..])
}

impl Iterator for Words<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            self.skip_space();
            let first = self.rest.chars().next().filter(|first| *first != ';')?;
            let rest = &self.rest[first.len_utf8()..];
            if first.is_alphanumeric() || first == '_' {
                let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
                let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
                self.rest = rest;
                if self.depth == 0 {
                    return Some(word.to_ascii_uppercase());
                }
                continue;
            }
            self.rest = match first {
                // A doubled quote is two quoted texts side by side, which is the same here.
                '\'' => after(rest, "'"),
                '"' => after(rest, "\""),
                '`' => after(rest, "`"),
                '[' => after(rest, "]"),
                _ => rest,
            };
            self.depth = match first {
                '(' => self.depth + 1,
                ')' => self.depth.saturating_sub(1),
                _ => self.depth,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_say_what_postgresql_would_say() {
        for (sql, tag) in [
            ("select 1", "SELECT 2"),
            (" -- a comment\n/* another */ VALUES (1)", "SELECT 2"),
            ("with a as (insert), b(x) as (select 'delete', \"update\" from t) update t set x = 1", "UPDATE 2"),
            ("WITH t AS (SELECT 1) SELECT * FROM t", "SELECT 2"),
            ("replace into t values (1)", "INSERT 0 2"),
            ("END TRANSACTION", "COMMIT"),
            ("rollback to a", "ROLLBACK"),
            ("create temp table t(a)", "CREATE TABLE"),
            ("create unique index i on t(a)", "CREATE INDEX"),
            ("alter table t add b", "ALTER TABLE"),
            ("explain query plan select 1", "EXPLAIN"),
            ("REINDEX", "REINDEX"),
        ] {
            assert_eq!(Kind::of(sql).tag(2), tag, "{sql}");
        }
    }

    #[test]
    fn a_copy_by_vacuum_is_told_from_a_vacuum_however_it_is_written() {
        for sql in [
            "VACUUM INTO 'a'",
            "vacuum main into ('a' || 'b')",
            ";; -- a comment\n/* another */vacuum/**/main/* INTO */\n--;\nInTo ?1",
            "VACUUM \"main\"INTO'a'",
            "VACUUM[main]INTO(SELECT 'a')",
            "VACUUM 'ma;in' INTO 'a'",
        ] {
            assert_eq!(Kind::of(sql), Kind::Vacuum { into: true }, "{sql}");
        }
        for sql in ["VACUUM", "VACUUM main", "VACUUM; INSERT INTO t VALUES (1)", "VACUUM -- INTO", "VACUUM \"INTO\""] {
            assert_eq!(Kind::of(sql), Kind::Vacuum { into: false }, "{sql}");
        }
    }

    #[test]
    fn space_and_comments_are_no_statement() {
        assert!(blank("") && blank(" ;; -- end") && blank("/* open") && blank("\u{feff}\n"));
        assert!(!blank("-- a\nx") && !blank("; select 1"));
    }
}

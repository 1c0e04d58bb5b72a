//! Names in SQL: which need quotes, and how they are written.

use std::borrow::Cow;

use crate::script;
use crate::value::Dialect;

/// Words that PostgreSQL or SQLite refuse as the name of a column or table, sorted.
const RESERVED: &[&str] = &[
    "abort",
    "add",
    "all",
    "alter",
    "always",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "autoincrement",
    "begin",
    "between",
    "binary",
    "both",
    "by",
    "case",
    "cast",
    "check",
    "collate",
    "collation",
    "column",
    "commit",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "default",
    "deferrable",
    "delete",
    "desc",
    "distinct",
    "do",
    "drop",
    "else",
    "end",
    "escape",
    "except",
    "exists",
    "false",
    "fetch",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "glob",
    "grant",
    "group",
    "having",
    "if",
    "ilike",
    "in",
    "index",
    "indexed",
    "initially",
    "inner",
    "insert",
    "intersect",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "materialized",
    "match",
    "natural",
    "not",
    "nothing",
    "notnull",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "outer",
    "over",
    "overlaps",
    "placing",
    "primary",
    "raise",
    "references",
    "regexp",
    "returning",
    "right",
    "rollback",
    "select",
    "session_user",
    "set",
    "similar",
    "some",
    "symmetric",
    "system_user",
    "table",
    "tablesample",
    "then",
    "to",
    "trailing",
    "transaction",
    "trigger",
    "true",
    "union",
    "unique",
    "update",
    "user",
    "using",
    "vacuum",
    "values",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
];

/// True if a name can stand without quotes: a letter or `_`, then letters, digits and `_`, and no reserved word of either dialect.
#[must_use]
pub fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !RESERVED.iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// A name as a script or query writes it: in quotes where it needs them. PostgreSQL's are in lower case, so that queries may
/// write names in any case without quotes, as in SQLite.
#[must_use]
pub fn quoted(name: &str, dialect: Dialect) -> String {
    let name = match dialect {
        Dialect::Sqlite => Cow::Borrowed(name),
        Dialect::Postgres => Cow::Owned(name.to_ascii_lowercase()),
    };
    if is_plain(&name) { name.into_owned() } else { script::quoted(&name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_need_it() {
        let cases = [
            ("order_id", "order_id", "order_id"),
            ("Order_ID", "Order_ID", "order_id"),
            ("Order", "\"Order\"", "\"order\""),
            ("18_49_Share", "\"18_49_Share\"", "\"18_49_share\""),
            ("a b", "\"a b\"", "\"a b\""),
            ("say \"no\"", "\"say \"\"no\"\"\"", "\"say \"\"no\"\"\""),
            ("Größe", "\"Größe\"", "\"größe\""),
            ("", "\"\"", "\"\""),
        ];
        for (name, sqlite, postgres) in cases {
            assert_eq!(
                (quoted(name, Dialect::Sqlite), quoted(name, Dialect::Postgres)),
                (sqlite.into(), postgres.into())
            );
        }
    }

    #[test]
    fn plain_names_need_no_quotes_in_sqlite() {
        let database = rusqlite::Connection::open_in_memory().expect("SQLite");
        let mut words = sqlparser::keywords::ALL_KEYWORDS.to_vec();
        words.extend(["id", "Total", "_x1"]);
        for word in words.into_iter().filter(|word| is_plain(word)) {
            let sql = format!("CREATE TABLE {word} ({word} INT); SELECT {word}.{word} FROM {word}; DROP TABLE {word}");
            database.execute_batch(&sql).unwrap_or_else(|fault| panic!("{word}: {fault}"));
        }
    }
}

//! Schema of a database, from the catalogs.

use serde::Deserialize;

use super::session::Session;
use crate::engine::{ColumnInfo, EngineError, ForeignKeyInfo, IndexInfo, Schema, TableInfo};

/// A name as it is used in a statement, with its schema where that is not the usual one. The schema of what is temporary has another
/// number in every session.
pub(super) const NAME: &str = "CASE WHEN n.nspname = 'public' THEN c.relname WHEN n.nspname LIKE 'pg\\_temp\\_%' THEN 'pg_temp.' || c.relname \
                    ELSE n.nspname || '.' || c.relname END";

/// Everything that is not the server's own or ours.
pub(super) const OURS: &str = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'palestra', 'pg_toast') \
                    AND n.nspname NOT LIKE 'pg\\_toast\\_temp\\_%'";

fn tables() -> String {
    let columns_of = |owner: &str, numbers: &str| {
        format!(
            "(SELECT coalesce(json_agg(a.attname ORDER BY k.place), '[]') FROM unnest({numbers}) WITH ORDINALITY k(number, place) \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = {owner} AND a.attnum = k.number)"
        )
    };
    let constraint = columns_of("o.conrelid", "o.conkey");
    let foreign = columns_of("o.confrelid", "o.confkey");
    // What an index only includes is no part of its key.
    let indexed =
        columns_of("i.indrelid", "i.indkey::int2[]").replace("k.number)", "k.number WHERE k.place <= i.indnkeyatts)");
    format!(
        "SELECT json_build_object('name', {NAME}, 'view', c.relkind IN ('v', 'm'), \
         'columns', (SELECT coalesce(json_agg(json_build_object('name', a.attname, \
             'type_name', pg_catalog.format_type(a.atttypid, a.atttypmod), 'not_null', a.attnotnull, \
             'default', pg_catalog.pg_get_expr(d.adbin, d.adrelid)) ORDER BY a.attnum), '[]') \
             FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), \
         'primary_key', coalesce((SELECT {constraint} FROM pg_catalog.pg_constraint o WHERE o.conrelid = c.oid AND o.contype = 'p'), '[]'), \
         'unique', (SELECT coalesce(json_agg({indexed} ORDER BY i.indexrelid::regclass::text), '[]') FROM pg_catalog.pg_index i \
             WHERE i.indrelid = c.oid AND i.indisunique AND NOT i.indisprimary AND i.indpred IS NULL AND i.indexprs IS NULL), \
         'foreign_keys', (SELECT coalesce(json_agg(json_build_object('columns', {constraint}, 'table', \
             (SELECT {other} FROM pg_catalog.pg_class f JOIN pg_catalog.pg_namespace m ON m.oid = f.relnamespace WHERE f.oid = o.confrelid), \
             'references', {foreign}, 'on_delete', CASE o.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' \
             WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' ELSE 'NO ACTION' END) ORDER BY o.conname), '[]') \
             FROM pg_catalog.pg_constraint o WHERE o.conrelid = c.oid AND o.contype = 'f'), \
         'checks', (SELECT coalesce(json_agg(pg_catalog.pg_get_expr(o.conbin, o.conrelid) ORDER BY o.conname), '[]') \
             FROM pg_catalog.pg_constraint o WHERE o.conrelid = c.oid AND o.contype = 'c'), \
         'sql', CASE WHEN c.relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(c.oid) END) \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'p', 'v', 'm') AND {OURS} ORDER BY {NAME}",
        other = NAME.replace("n.nspname", "m.nspname").replace("c.relname", "f.relname"),
    )
}

/// Expression for the comparison of an index, where it is not the usual one; NULL where it is as usual.
const COMPARISON: &str = "\
    nullif(pg_catalog.concat_ws(', ', (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attname, o.opcname, l.collname), ', ' ORDER BY k.place) \
    FROM pg_catalog.generate_series(1, i.indnkeyatts) k(place) \
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k.place - 1] AND a.attnum <> 0 \
    LEFT JOIN pg_catalog.pg_opclass o ON o.oid = i.indclass[k.place - 1] AND NOT o.opcdefault \
    LEFT JOIN pg_catalog.pg_collation l ON l.oid = i.indcollation[k.place - 1] AND l.oid IS DISTINCT FROM a.attcollation \
    WHERE o.oid IS NOT NULL OR l.oid IS NOT NULL), \
    CASE WHEN pg_catalog.pg_get_indexdef(i.indexrelid) LIKE '%NULLS NOT DISTINCT%' THEN 'NULL is not distinct' END, \
    CASE WHEN NOT (i.indisvalid AND i.indisready AND i.indislive AND i.indimmediate) THEN 'not valid at once' END), '')";

fn indexes() -> String {
    format!(
        "SELECT json_build_object('name', x.relname, 'table', {NAME}, 'columns', (SELECT json_agg(coalesce(a.attname, \
         pg_catalog.pg_get_indexdef(i.indexrelid, k.place::int, false)) ORDER BY k.place) \
         FROM unnest(i.indkey::int2[]) WITH ORDINALITY k(number, place) LEFT JOIN pg_catalog.pg_attribute a \
         ON a.attrelid = i.indrelid AND a.attnum = k.number AND k.number <> 0 WHERE k.place <= i.indnkeyatts), \
         'unique', i.indisunique, 'condition', pg_catalog.pg_get_expr(i.indpred, i.indrelid), 'comparison', {COMPARISON}) \
         FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid JOIN pg_catalog.pg_class c ON c.oid = i.indrelid \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE {OURS} \
         AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint o WHERE o.conindid = i.indexrelid AND o.contype IN ('p', 'u', 'x')) \
         ORDER BY x.relname, {NAME}"
    )
}

fn triggers() -> String {
    format!(
        "SELECT json_build_array(t.tgname, {NAME}) FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE NOT t.tgisinternal AND {OURS} ORDER BY t.tgname, {NAME}"
    )
}

#[derive(Deserialize)]
struct Table {
    name: String,
    view: bool,
    columns: Vec<Column>,
    primary_key: Vec<String>,
    unique: Vec<Vec<String>>,
    foreign_keys: Vec<ForeignKey>,
    checks: Vec<String>,
    sql: Option<String>,
}

#[derive(Deserialize)]
struct Column {
    name: String,
    type_name: String,
    not_null: bool,
    default: Option<String>,
}

#[derive(Deserialize)]
struct ForeignKey {
    columns: Vec<String>,
    table: String,
    references: Vec<String>,
    on_delete: String,
}

#[derive(Deserialize)]
struct Index {
    name: String,
    table: String,
    columns: Vec<String>,
    unique: bool,
    condition: Option<String>,
    comparison: Option<String>,
}

/// The schema as the session's transaction sees it.
pub(super) async fn schema(session: &mut Session) -> Result<Schema, EngineError> {
    let (tables, indexes, triggers) = (tables(), indexes(), triggers());
    let replies = session.look(&[&tables, &indexes, &triggers]).await?;
    let mut replies =
        replies.into_iter().map(|reply| reply.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()));
    let mut next = || replies.next().into_iter().flatten();
    let tables = next().map(|text| read::<Table>(&text).map(TableInfo::from)).collect::<Result<_, _>>()?;
    let indexes = next().map(|text| read::<Index>(&text).map(IndexInfo::from)).collect::<Result<_, _>>()?;
    let triggers = next().map(|text| read(&text)).collect::<Result<_, _>>()?;
    Ok(Schema { tables, indexes, triggers })
}

pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, EngineError> {
    serde_json::from_str(text)
        .map_err(|error| EngineError::Lost(format!("the catalogs say what is not understood: {error}")))
}

impl From<Table> for TableInfo {
    fn from(table: Table) -> Self {
        let column = |column: Column| ColumnInfo {
            name: column.name,
            type_name: column.type_name,
            not_null: column.not_null,
            default: column.default,
        };
        let reference = |key: ForeignKey| ForeignKeyInfo {
            columns: key.columns,
            table: key.table,
            references: key.references,
            on_delete: key.on_delete,
        };
        Self {
            name: table.name,
            view: table.view,
            columns: table.columns.into_iter().map(column).collect(),
            primary_key: table.primary_key,
            unique: table.unique,
            foreign_keys: table.foreign_keys.into_iter().map(reference).collect(),
            checks: table.checks,
            sql: table.sql,
        }
    }
}

impl From<Index> for IndexInfo {
    fn from(index: Index) -> Self {
        let Index { name, table, columns, unique, condition, comparison } = index;
        Self { name, table, columns, unique, condition, comparison }
    }
}

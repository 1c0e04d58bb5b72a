//! Facts from the catalogs about a database beside its tables, columns, keys, checks and indexes.
//!
//! Left out: comments, statistics and owners, which change no result; rights, which statements of a session cannot change; and how
//! far sequences have counted.

use std::collections::BTreeSet;

use super::catalog::{NAME, OURS, read};
use super::session::Session;
use crate::engine::{EngineError, SchemaDetail};

/// Columns of the constraint `o`, in the order of their names.
const COLUMNS: &str = "(SELECT coalesce(pg_catalog.string_agg(pg_catalog.lower(a.attname::text), ', ' ORDER BY a.attname::text), '') \
                       FROM pg_catalog.pg_attribute a WHERE a.attrelid = o.conrelid AND a.attnum = ANY (o.conkey))";

const CLASS: &str = "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace";

/// Each gives rows of a sort, what it is of, and words.
fn questions() -> Vec<String> {
    let mut all = of_relations();
    all.extend(of_columns());
    all.extend(of_rules());
    all.extend(of_schemas());
    all
}

fn of_relations() -> Vec<String> {
    let relation = |words: &str, condition: &str| {
        format!("SELECT 'other', {NAME}, {words} FROM {CLASS} WHERE {OURS} AND {condition}")
    };
    vec![
        relation("'is a relation of the kind ' || c.relkind::text", "c.relkind NOT IN ('r', 'v', 'i', 'S', 't')"),
        relation("'is unlogged'", "c.relpersistence = 'u' AND c.relkind IN ('r', 'p', 'm', 'S')"),
        relation("'has row security'", "(c.relrowsecurity OR c.relforcerowsecurity)"),
        relation(
            "'has the options ' || pg_catalog.array_to_string(c.reloptions, ', ')",
            "c.reloptions IS NOT NULL AND c.relkind IN ('r', 'p', 'v', 'm')",
        ),
        relation(
            "'inherits'",
            "c.relkind IN ('r', 'p') AND EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhrelid = c.oid)",
        ),
        relation("'is of a type'", "c.reloftype <> 0"),
        relation(
            "'tells changes by ' || c.relreplident::text",
            "c.relreplident <> 'd' AND c.relkind IN ('r', 'p', 'm')",
        ),
    ]
}

fn of_columns() -> Vec<String> {
    let column = |sort: &str, words: &str, condition: &str| {
        format!(
            "SELECT '{sort}', {NAME} || '.' || a.attname, {words} FROM {CLASS} \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
             WHERE {OURS} AND c.relkind IN ('r', 'p') AND {condition}"
        )
    };
    let owned = "pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid \
                 AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0";
    vec![
        column("generated", "'is generated'", "a.attgenerated <> ''"),
        column("numbered", "'numbers its rows'", "a.attidentity <> ''"),
        column(
            "other",
            "'has the collation ' || (SELECT l.collname FROM pg_catalog.pg_collation l WHERE l.oid = a.attcollation)",
            "a.attcollation <> (SELECT t.typcollation FROM pg_catalog.pg_type t WHERE t.oid = a.atttypid)",
        ),
        column("other", "'has the options ' || pg_catalog.array_to_string(a.attoptions, ', ')", "a.attoptions IS NOT NULL"),
        column(
            "other",
            "'is stored as ' || a.attstorage::text",
            "a.attstorage <> (SELECT t.typstorage FROM pg_catalog.pg_type t WHERE t.oid = a.atttypid)",
        ),
        format!(
            "SELECT 'other', {NAME} || '.' || a.attname, 'has the default ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM {CLASS} \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 \
             JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE {OURS} AND c.relkind IN ('v', 'm')"
        ),
        format!(
            "SELECT 'numbered', m.nspname || '.' || f.relname || '.' || a.attname, 'numbers its rows' FROM {CLASS} \
             JOIN LATERAL (SELECT d.refobjid, d.refobjsubid FROM {owned}) d ON true \
             JOIN pg_catalog.pg_class f ON f.oid = d.refobjid JOIN pg_catalog.pg_namespace m ON m.oid = f.relnamespace \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = f.oid AND a.attnum = d.refobjsubid WHERE {OURS} AND c.relkind = 'S'"
        )
        .replace("m.nspname || '.' || f.relname", &NAME.replace("n.nspname", "m.nspname").replace("c.relname", "f.relname")),
        format!(
            "SELECT 'other', '', 'a sequence of a column counts ' || pg_catalog.concat_ws(' ', q.seqincrement, q.seqmin, q.seqmax, q.seqcycle) \
             FROM {CLASS} JOIN pg_catalog.pg_sequence q ON q.seqrelid = c.oid WHERE {OURS} AND c.relkind = 'S' AND EXISTS (SELECT FROM {owned}) \
             AND ((q.seqincrement, q.seqmin, q.seqcycle) IS DISTINCT FROM (1::bigint, 1::bigint, false) OR q.seqmax <> CASE q.seqtypid::pg_catalog.regtype::text WHEN 'smallint' THEN 32767 WHEN 'integer' THEN 2147483647 \
             ELSE 9223372036854775807 END)"
        ),
        format!(
            "SELECT 'other', '', 'the sequence ' || {NAME} || pg_catalog.concat_ws(' ', '', q.seqstart, q.seqincrement, q.seqmin, \
             q.seqmax, q.seqcycle) FROM {CLASS} JOIN pg_catalog.pg_sequence q ON q.seqrelid = c.oid \
             WHERE {OURS} AND c.relkind = 'S' AND NOT EXISTS (SELECT FROM {owned})"
        ),
    ]
}

fn of_rules() -> Vec<String> {
    let constraint = |sort: &str, words: &str, condition: &str| {
        format!(
            "SELECT '{sort}', {NAME}, {words} FROM {CLASS} JOIN pg_catalog.pg_constraint o ON o.conrelid = c.oid \
             WHERE {OURS} AND {condition}"
        )
    };
    let actions = "CASE o.confupdtype WHEN 'c' THEN 'cascade' WHEN 'n' THEN 'set null' ELSE 'set default' END";
    vec![
        constraint(
            "reference",
            &format!("'(' || {COLUMNS} || ') on update ' || {actions}"),
            "o.contype = 'f' AND o.confupdtype NOT IN ('a', 'r')",
        ),
        constraint(
            "reference",
            &format!("'(' || {COLUMNS} || ') is matched in full'"),
            "o.contype = 'f' AND o.confmatchtype <> 's'",
        ),
        constraint(
            "reference",
            &format!("'(' || {COLUMNS} || ') sets some columns alone'"),
            "o.contype = 'f' AND pg_catalog.pg_get_constraintdef(o.oid) ~ 'ON DELETE SET (NULL|DEFAULT) \\('",
        ),
        constraint(
            "reference",
            &format!("'(' || {COLUMNS} || ') can be deferred' || CASE WHEN o.condeferred THEN ' and is' ELSE '' END"),
            "o.contype = 'f' AND o.condeferrable",
        ),
        constraint(
            "other",
            &format!("'(' || {COLUMNS} || ') can be deferred'"),
            "o.contype IN ('p', 'u') AND o.condeferrable",
        ),
        constraint("other", &format!("'(' || {COLUMNS} || ') is not validated'"), "NOT o.convalidated"),
        constraint("other", &format!("'(' || {COLUMNS} || ') is not inherited'"), "o.contype = 'c' AND o.connoinherit"),
        constraint("other", "pg_catalog.pg_get_constraintdef(o.oid)", "o.contype NOT IN ('p', 'u', 'f', 'c', 'n')"),
        format!(
            "SELECT 'other', {NAME}, 'takes NULL for a value that is unique' FROM {CLASS} \
             JOIN pg_catalog.pg_index i ON i.indrelid = c.oid \
             WHERE {OURS} AND pg_catalog.pg_get_indexdef(i.indexrelid) LIKE '%NULLS NOT DISTINCT%'"
        ),
        format!(
            "SELECT 'trigger', {NAME}, t.tgname || ': ' || pg_catalog.pg_get_triggerdef(t.oid) || ' ' || t.tgenabled::text \
             FROM {CLASS} JOIN pg_catalog.pg_trigger t ON t.tgrelid = c.oid WHERE {OURS} AND NOT t.tgisinternal"
        ),
        format!(
            "SELECT 'other', {NAME}, 'has references that are not enforced' FROM {CLASS} \
             JOIN pg_catalog.pg_trigger t ON t.tgrelid = c.oid WHERE {OURS} AND t.tgisinternal AND t.tgenabled <> 'O'"
        ),
        format!(
            "SELECT 'other', {NAME}, pg_catalog.pg_get_ruledef(w.oid) FROM {CLASS} \
             JOIN pg_catalog.pg_rewrite w ON w.ev_class = c.oid WHERE {OURS} AND w.rulename <> '_RETURN'"
        ),
        format!(
            "SELECT 'other', {NAME}, 'has a rule that is enabled as ' || w.ev_enabled::text FROM {CLASS} \
             JOIN pg_catalog.pg_rewrite w ON w.ev_class = c.oid WHERE {OURS} AND w.ev_enabled <> 'O'"
        ),
        format!(
            "SELECT 'other', {NAME}, 'has the policy ' || pg_catalog.concat_ws(' ', p.polname, p.polcmd, p.polpermissive, \
             pg_catalog.pg_get_expr(p.polqual, p.polrelid), pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid)) FROM {CLASS} \
             JOIN pg_catalog.pg_policy p ON p.polrelid = c.oid WHERE {OURS}"
        ),
    ]
}

fn of_schemas() -> Vec<String> {
    vec![
        format!(
            "SELECT 'other', '', 'the function ' || n.nspname || '.' || p.proname || '(' || \
             pg_catalog.pg_get_function_identity_arguments(p.oid) || ') ' || pg_catalog.md5(p.prosrc) \
             FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE {OURS}"
        ),
        format!(
            "SELECT 'other', '', 'the type ' || {type_name} || ' of the kind ' || t.typtype::text \
             FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace \
             LEFT JOIN pg_catalog.pg_class c ON c.oid = t.typrelid \
             WHERE {OURS} AND (t.typtype IN ('d', 'e', 'r', 'm', 'p') OR t.typtype = 'b' AND t.typelem = 0 OR c.relkind = 'c')",
            type_name = NAME.replace("c.relname", "t.typname")
        ),
        format!(
            "SELECT 'other', '', 'the schema ' || n.nspname FROM pg_catalog.pg_namespace n \
             WHERE {OURS} AND n.nspname <> 'public' AND n.nspname NOT LIKE 'pg\\_temp\\_%'"
        ),
    ]
}

/// The particulars, as the session's transaction sees them.
pub(super) async fn schema_details(session: &mut Session) -> Result<BTreeSet<SchemaDetail>, EngineError> {
    let questions = questions().join(" UNION ALL ");
    let question = format!(
        "SELECT pg_catalog.json_build_object('sort', sort, 'of', pg_catalog.lower(place), 'words', words) \
         FROM ({questions}) AS every (sort, place, words)"
    );
    let replies = session.look(&[&question]).await?;
    let rows = replies.into_iter().flat_map(|reply| reply.rows);
    rows.filter_map(|row| row.into_iter().next().flatten()).map(|text| read::<SchemaDetail>(&text)).collect()
}

//! Privileges revoked from everybody in a database of sessions, as data with a reason per line. Only a superuser can take it.

use super::wire::{Wire, WireError};

/// Functions of `pg_catalog` by the beginning of their names, and `xmltable`, which the grammar has and nobody can take away.
const FUNCTIONS: &[(&str, &str)] = &[
    ("pg_advisory", "locks that others wait for"),
    ("pg_try_advisory", "locks that others wait for"),
    ("lo_", "large objects live outside of tables, and come from and go to files"),
    ("loread", "large objects"),
    ("lowrite", "large objects"),
    ("pg_notify", "speaks to other connections"),
    ("set_config", "changes limits of the connection"),
    ("query_to_xml", "runs statements that nobody looked at"),
    ("table_to_xml", "runs statements that nobody looked at"),
    ("schema_to_xml", "runs statements that nobody looked at"),
    ("database_to_xml", "runs statements that nobody looked at"),
    ("cursor_to_xml", "runs statements that nobody looked at"),
    ("xpath", "libxml goes on whatever it is told, and keeps the server busy"),
    ("xmlexists", "libxml goes on whatever it is told, and keeps the server busy"),
    ("xmltable", "libxml goes on whatever it is told, and keeps the server busy"),
    ("ts_stat", "runs statements that nobody looked at"),
    ("ts_rewrite", "runs statements that nobody looked at"),
    ("pg_logical", "writes to the log of the cluster"),
    ("pg_export_snapshot", "leaves a file"),
    ("pg_cancel_backend", "acts on other connections"),
    ("pg_terminate_backend", "acts on other connections"),
    ("pg_log_backend", "acts on other connections"),
    ("pg_sleep", "waits by the machine's clock"),
    ("pg_stat_get_", "shows what others do"),
    ("pg_stat_reset", "acts on the cluster"),
    ("pg_lock_status", "shows what others do"),
    ("pg_ls_", "files"),
    ("pg_read_", "files"),
    ("pg_stat_file", "files"),
    ("pg_current_logfile", "files"),
    ("pg_relation_filepath", "files"),
    ("pg_tablespace_", "shows the cluster"),
    ("pg_show_all_settings", "shows the cluster"),
    ("pg_prepared_xact", "shows what others do"),
    ("pg_hba_file_rules", "shows the cluster"),
    ("pg_timezone_", "reads files, slowly"),
    ("pg_backend_pid", "differs from run to run"),
    ("pg_postmaster_start_time", "differs from run to run"),
    ("pg_conf_load_time", "differs from run to run"),
    ("inet_client_", "differs from run to run"),
    ("inet_server_", "differs from run to run"),
    ("now", "virtual time stands in"),
    ("clock_timestamp", "virtual time stands in"),
    ("statement_timestamp", "virtual time stands in"),
    ("transaction_timestamp", "virtual time stands in"),
    ("timeofday", "virtual time stands in"),
    ("gen_random_uuid", "seeded randomness stands in"),
    ("txid_", "differs from run to run"),
    ("pg_current_xact", "differs from run to run"),
    ("pg_current_snapshot", "differs from run to run"),
    ("pg_snapshot_", "differs from run to run"),
    ("pg_current_wal", "differs from run to run"),
    ("pg_switch_wal", "acts on the cluster"),
    ("pg_create_restore_point", "acts on the cluster"),
    ("pg_rotate_logfile", "acts on the cluster"),
    ("pg_reload_conf", "acts on the cluster"),
];

/// Catalogs and views of `pg_catalog` that show other sessions or the cluster, by the beginning of their names.
const RELATIONS: &[&str] = &[
    "pg_stat_",
    "pg_statio_",
    "pg_locks",
    "pg_database",
    "pg_authid",
    "pg_auth_members",
    "pg_roles",
    "pg_user",
    "pg_group",
    "pg_shadow",
    "pg_shdepend",
    "pg_shdescription",
    "pg_shseclabel",
    "pg_tablespace",
    "pg_settings",
    "pg_file_settings",
    "pg_hba_file_rules",
    "pg_prepared",
    "pg_replication",
    "pg_subscription",
    "pg_largeobject",
    "pg_db_role_setting",
    "pg_cursors",
    "pg_timezone_",
    "pg_shmem_allocations",
    "pg_backend_memory_contexts",
    "pg_config",
    "pg_user_mapping",
    "pg_parameter_acl",
    "pg_ident_file",
];

/// Functions that have a stand-in: a call of theirs is rewritten, not refused.
const REPLACED: [&str; 6] =
    ["now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday", "gen_random_uuid"];

/// Reason why statements of sessions may not call a function, if they may not.
pub(super) fn why_forbidden(function: &str) -> Option<&'static str> {
    let mut listed = FUNCTIONS.iter().filter(|(beginning, _)| !REPLACED.contains(beginning));
    listed.find(|(beginning, _)| function.starts_with(beginning)).map(|(_, why)| *why)
}

/// Takes all of it away in the database of this connection.
pub(super) async fn harden(wire: &mut Wire) -> Result<(), WireError> {
    let beginnings = |names: &mut dyn Iterator<Item = &'static str>| {
        names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
    };
    let functions = format!(
        "SELECT 'REVOKE EXECUTE ON FUNCTION ' || string_agg(p.oid::regprocedure::text, ', ') || ' FROM PUBLIC' \
         FROM pg_catalog.pg_proc p WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND EXISTS \
         (SELECT FROM unnest(ARRAY[{}]) b WHERE starts_with(p.proname, b))",
        beginnings(&mut FUNCTIONS.iter().map(|(beginning, _)| *beginning)),
    );
    let relations = format!(
        "SELECT 'REVOKE ALL ON ' || string_agg(c.oid::regclass::text, ', ') || ' FROM PUBLIC' \
         FROM pg_catalog.pg_class c WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v') AND EXISTS \
         (SELECT FROM unnest(ARRAY[{}]) b WHERE starts_with(c.relname, b))",
        beginnings(&mut RELATIONS.iter().copied()),
    );
    for generate in [functions, relations] {
        let rows = wire.rows(&generate).await?;
        if let Some(revoke) = rows.into_iter().next().and_then(|row| row.into_iter().next().flatten()) {
            wire.run(&[&revoke]).await?;
        }
    }
    wire.run(&["REVOKE USAGE ON LANGUAGE sql, plpgsql FROM PUBLIC"]).await
}

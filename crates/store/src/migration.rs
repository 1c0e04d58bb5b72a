//! The migrations of the schema, in order. A released migration never changes: a change is a new one.

use std::borrow::Cow;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

macro_rules! migrations {
    ($engine:literal: $($name:literal),+ $(,)?) => {
        migrator(&[$(($name, include_str!(concat!("../../../migrations/", $engine, "/", $name, ".sql")))),+])
    };
}

pub(super) fn sqlite() -> Migrator {
    migrations!(
        "sqlite": "0001_node", "0002_session", "0003_answer", "0004_run", "0005_key", "0006_definition", "0007_step_order",
        "0008_word_checks", "0009_snapshot_state", "0010_job", "0011_policy", "0012_content", "0013_file",
        "0014_report_number", "0015_episode_secret", "0016_job_kind", "0017_job_progress", "0018_policy_step",
        "0019_run_plan", "0020_withdrawn", "0021_blob", "0022_opening", "0023_upstream", "0024_model_call",
    )
}

pub(super) fn postgres() -> Migrator {
    migrations!(
        "postgres": "0001_node", "0002_session", "0003_answer", "0004_run", "0005_key", "0006_definition", "0007_step_order",
        "0008_word_checks", "0009_snapshot_state", "0010_job", "0011_policy", "0012_content", "0013_file",
        "0014_report_number", "0015_episode_secret", "0016_job_kind", "0017_job_progress", "0018_policy_step",
        "0019_run_plan", "0020_withdrawn", "0021_blob", "0022_opening", "0023_upstream", "0024_model_call",
    )
}

fn migrator(migrations: &[(&'static str, &'static str)]) -> Migrator {
    let migrations = (1..)
        .zip(migrations)
        .map(|(version, (name, sql))| {
            Migration::new(version, Cow::Borrowed(*name), MigrationType::Simple, sql.into_sql_str(), false)
        })
        .collect();
    Migrator::with_migrations(migrations)
}

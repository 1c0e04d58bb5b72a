//! Private clusters for tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use palestra_sql::engine::EngineError;
use palestra_sql::engine::postgres::{Cluster, PostgresEngine, Settings};

/// Bytes that have to be free in memory for clusters: tests run side by side, and a database has eight million bytes.
const FREE_MIN: u64 = 4 << 30;

/// A folder for a cluster: in memory where there is room for it, since most of the time of making a database goes into its three hundred
/// files; else among the temporary ones.
fn for_cluster() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let roomy = nix::sys::statvfs::statvfs(memory)
        .is_ok_and(|found| found.blocks_available() * found.fragment_size() >= FREE_MIN);
    let parent = if roomy { memory } else { Path::new("/tmp") };
    let folder = tempfile::Builder::new().prefix("palestra-pg-").tempdir_in(parent).expect("a folder");
    // The user that runs the server has to get through.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("our folder");
    folder
}

/// An engine on a cluster of its own with the folder that it needs as long as it runs; `None`, said aloud, where PostgreSQL is not
/// installed.
pub(crate) async fn postgres(
    settings: impl FnOnce(Cluster) -> Settings,
) -> Option<(PostgresEngine, tempfile::TempDir)> {
    let folder = for_cluster();
    let cluster = Cluster::Private { folder: folder.path().join("pg"), binaries: None };
    match PostgresEngine::connect(settings(cluster)).await {
        Err(EngineError::Missing(words)) if words.contains("not installed") => {
            palestra_test_support::not_tried("PostgreSQL");
            None
        }
        engine => Some((engine.expect("an engine"), folder)),
    }
}

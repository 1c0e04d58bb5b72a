//! What places outside this process are made of: sandboxes, and databases.

use palestra_workbench::work::Desk;

use crate::databases::Databases;

/// Everything that an environment can need beside its definition. Cheap to clone.
#[derive(Clone)]
pub struct Means {
    /// Where work in sandboxes is done.
    pub desk: Desk,
    /// Where SQL is run.
    pub databases: Databases,
}

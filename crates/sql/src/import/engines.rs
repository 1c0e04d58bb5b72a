//! The engines on which an import is proven.

use std::sync::Arc;

use crate::engine::Engine;

/// Engines that run references.
#[derive(Clone)]
pub struct Engines {
    /// SQLite.
    pub sqlite: Arc<dyn Engine>,
    /// PostgreSQL, where it is there: without it nothing is known of references in its dialect, and they are left out.
    pub postgres: Option<Arc<dyn Engine>>,
}

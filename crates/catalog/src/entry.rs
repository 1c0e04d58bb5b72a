//! Environments with compiled tools, and the sources of built-in ones.

use std::sync::Arc;

use palestra_protocol::environment::{Environment as Spec, Recovery};
use palestra_protocol::shared::Shared;
use serde_json::{Map, Value};
use tokio::sync::OnceCell;

use super::{CatalogError, blocking};
use crate::{sql, work};
use palestra_environment::surface::Surface;
use palestra_environment::tool::Toolbox;
use palestra_environment::{EnvironmentKind, Tasks};
use palestra_families::app::shipped::Shipped;
use palestra_families::backends::Backends;

/// The tools of a session.
pub struct Offer {
    /// OpenAI function tools.
    pub tools: Shared<Vec<Value>>,
    /// The same, compiled.
    pub toolbox: Toolbox,
}

/// An environment with its compiled tools.
pub struct Entry {
    /// The kind.
    pub kind: Arc<dyn EnvironmentKind>,
    /// The tools of each surface; never empty.
    offers: Vec<(Surface, Offer)>,
    /// Set once the kind is prepared.
    prepared: OnceCell<()>,
    /// `family/name`, shared by the rows of its sessions.
    pub name: Arc<str>,
    /// Digest of its definition, shared by the rows of its sessions.
    pub digest: Arc<str>,
    full_name: String,
}

impl Entry {
    pub(super) fn build(kind: Arc<dyn EnvironmentKind>) -> Result<Arc<Self>, CatalogError> {
        let offer = |surface: &Surface| {
            let tools = kind.tools(*surface);
            Toolbox::compile(&tools).map(|toolbox| (*surface, Offer { tools, toolbox }))
        };
        let offers = kind.surfaces().iter().map(offer).collect::<Result<_, _>>().map_err(CatalogError::Broken)?;
        let full_name = format!("{}@{}", kind.spec().name, kind.spec().version);
        let (name, digest) = (kind.spec().name.as_str().into(), kind.spec().digest.as_str().into());
        Ok(Arc::new(Self { kind, offers, prepared: OnceCell::new(), name, digest, full_name }))
    }

    /// The public description.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        self.kind.spec()
    }

    /// True if the tasks of a split can be chosen by difficulty.
    #[must_use]
    pub fn has_difficulty(&self, split: &str) -> bool {
        matches!(self.kind.tasks(), Tasks::Generated(generator) if !generator.has_own_ids(split))
    }

    /// The tools of sessions with these settings.
    #[must_use]
    pub fn offer(&self, config: &Map<String, Value>) -> &Offer {
        let surface = self.kind.surface(config);
        let found = self.offers.iter().find(|(offered, _)| *offered == surface);
        &found.unwrap_or(&self.offers[0]).1
    }

    /// Prepares the state that all sessions share, once.
    pub(super) async fn prepare(&self) -> Result<(), CatalogError> {
        if !self.kind.prepares() {
            return Ok(());
        }
        let prepare = || {
            let kind = Arc::clone(&self.kind);
            async move { blocking(move || kind.prepare().map_err(CatalogError::Broken)).await }
        };
        self.prepared.get_or_try_init(prepare).await.copied()
    }

    /// True when a session opens quickly and without resources outside this process, so that it may be cancelled at any moment.
    #[must_use]
    pub fn opens_at_once(&self) -> bool {
        !self.kind.heavy() && self.spec().capabilities.recovery == Recovery::Replay
    }

    /// `family/name@version`.
    #[must_use]
    pub fn full_name(&self) -> &str {
        &self.full_name
    }
}

/// A built-in environment, built on first use, since most servers use only a few.
pub(super) struct Builtin {
    pub(super) source: Source,
    entry: OnceCell<Arc<Entry>>,
}

/// The source of a built-in environment.
pub(super) enum Source {
    /// A kind that is already built.
    Kind(Arc<dyn EnvironmentKind>),
    /// An app, compiled on first use.
    App(Shipped, Backends),
    /// Work in sandboxes, whose rows are read on first use.
    Work(work::shipped::Shipped, Backends),
    /// SQL, whose templates are read on first use.
    Sql(sql::shipped::Shipped, Backends),
}

impl Builtin {
    pub(super) fn new(source: Source) -> Self {
        Self { source, entry: OnceCell::new() }
    }

    pub(super) async fn entry(&self) -> Result<&Arc<Entry>, CatalogError> {
        let build = || async {
            match &self.source {
                Source::Kind(kind) => Entry::build(Arc::clone(kind)),
                Source::App(app, backends) => {
                    let (app, browsers) = (*app, backends.browsers.clone());
                    blocking(move || Entry::build(app.kind(Some(browsers)).map_err(CatalogError::Broken)?)).await
                }
                Source::Work(work, backends) => {
                    let (work, backends) = (*work, backends.clone());
                    blocking(move || Entry::build(work.kind(&backends.desk).map_err(CatalogError::Broken)?)).await
                }
                Source::Sql(sql, backends) => {
                    let (sql, backends) = (*sql, backends.clone());
                    blocking(move || Entry::build(sql.kind(&backends.databases).map_err(CatalogError::Broken)?)).await
                }
            }
        };
        self.entry.get_or_try_init(build).await
    }

    pub(super) async fn spec(&self) -> Result<Spec, CatalogError> {
        match &self.source {
            Source::Kind(kind) => Ok(kind.spec().clone()),
            Source::App(..) | Source::Work(..) | Source::Sql(..) => Ok(self.entry().await?.spec().clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_families::registry::{BuiltinSettings, builtin};

    #[tokio::test]
    async fn the_tools_of_every_builtin_environment_can_be_compiled() {
        for kind in builtin(&BuiltinSettings { effects_folder: Some("effects".into()) }) {
            let name = kind.spec().name.clone();
            let builtin = Builtin::new(Source::Kind(kind));
            let first = builtin.entry().await.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(Arc::ptr_eq(first, builtin.entry().await.expect("it is kept")));
        }
    }
}

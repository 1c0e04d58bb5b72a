//! The catalog: every environment of a tenant, built in or published, and the choice of tasks.

mod entry;
mod inside;
mod publish;
mod tasks;

use std::collections::HashMap;
use std::sync::Arc;

use dashmap::DashMap;
use palestra_protocol::environment::Environment as Spec;
use palestra_protocol::problem::Fault;
use tokio::sync::{Mutex, Semaphore};

use entry::{Builtin, Source};
pub use entry::{Entry, Offer};
pub use inside::{ActionPage, InsideError};
use palestra_environment::EnvironmentKind;
use palestra_environment::task::TaskError;
use palestra_families::app::{self, Files, shipped};
use palestra_families::backends::Backends;
use palestra_families::definition::Definition;
use palestra_families::{registry, sql, web, work};
use palestra_store::row::DefinitionRow;
use palestra_store::{Store, StoreError};
pub use tasks::{TASKS_PER_PAGE_MAX, TaskOrStoreError, TaskPage};

/// Published definitions that are cached as built kinds; others are built again when used.
const PUBLISHED_KEPT_MAX: usize = 1_024;
/// Apps and web pages among these, which hold their initial databases and their files.
const LARGE_KEPT_MAX: usize = 64;
/// Definitions that are checked concurrently.
const CHECKED_AT_ONCE_MAX: usize = 2;

/// Characters of an unknown name that an error repeats.
const NAME_SHOWN_MAX: usize = 200;
/// Jaro-Winkler similarity above which a known name is probably meant.
const LIKENESS_MIN: f64 = 0.85;

/// An error of the catalog.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The tenant has no such environment: its name, and the one that is probably meant.
    #[error("there is no environment {0}: choose one that `GET /v1/environments` lists")]
    UnknownEnvironment(String),
    /// The environment has no such task.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The definition is invalid; all faults.
    #[error("the definition has {} faults: correct each of them", .0.len())]
    Faults(Vec<Fault>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A definition that was accepted cannot be built.
    #[error("a definition is broken: {0}")]
    Broken(String),
}

/// All environments. Cheap to clone.
#[derive(Clone)]
pub struct Catalog(Arc<Inner>);

struct Inner {
    store: Arc<Store>,
    builtin: HashMap<String, Builtin>,
    /// Earlier versions of built-in environments, by name.
    former: HashMap<String, Vec<Builtin>>,
    /// Handles of sandboxes and databases.
    backends: Backends,
    /// By tenant, name and version.
    published: DashMap<(String, String, u32), Arc<Entry>>,
    /// Permits of checks.
    checking: Arc<Semaphore>,
    /// Held by the one proof at a time: its sandbox or database is named by the task.
    proving: Mutex<()>,
}

impl Catalog {
    /// A catalog of built-in kinds, of the apps that are shipped, and of what the store holds.
    #[must_use]
    pub fn new(store: Arc<Store>, kinds: Vec<Arc<dyn EnvironmentKind>>, backends: Backends) -> Self {
        let kinds = kinds.into_iter().map(|kind| (kind.spec().name.clone(), Source::Kind(kind)));
        let apps = shipped::all().into_iter().map(|app| (app.name(), Source::App(app, backends.clone())));
        let work = work::shipped::all().into_iter();
        let work = work.map(|work| (work.name(), Source::Work(work, backends.clone())));
        let sql = sql::shipped::all().into_iter();
        let sql = sql.map(|sql| (sql.name(), Source::Sql(sql, backends.clone())));
        let builtin =
            apps.chain(work).chain(sql).chain(kinds).map(|(name, source)| (name, Builtin::new(source))).collect();
        let mut former: HashMap<String, Vec<Builtin>> = HashMap::new();
        let kinds = registry::former().into_iter().map(|kind| (kind.spec().name.clone(), Source::Kind(kind)));
        let sql = sql::shipped::former().into_iter();
        let sql = sql.map(|sql| (sql.name(), Source::Sql(sql, backends.clone())));
        let apps = shipped::former().into_iter().map(|app| (app.name(), Source::App(app, backends.clone())));
        for (name, source) in apps.chain(kinds).chain(sql) {
            former.entry(name).or_default().push(Builtin::new(source));
        }
        let checking = Arc::new(Semaphore::new(CHECKED_AT_ONCE_MAX));
        Self(Arc::new(Inner {
            store,
            builtin,
            former,
            backends,
            published: DashMap::new(),
            checking,
            proving: Mutex::default(),
        }))
    }

    /// The environment of a name, `family/name` or `family/name@version`.
    ///
    /// # Errors
    /// When the tenant has none of this name and version.
    pub async fn resolve(&self, tenant: &str, name: &str) -> Result<Arc<Entry>, CatalogError> {
        let entry = self.find(tenant, name).await?;
        entry.prepare().await?;
        Ok(entry)
    }

    /// A name that no environment has, with the name that it is nearest to.
    fn describe_unknown(&self, tenant: &str, name: &str) -> String {
        let shown: String = name.chars().take(NAME_SHOWN_MAX).collect();
        let plain = shown.split('@').next().unwrap_or_default();
        let of_tenant =
            self.0.published.iter().filter(|entry| entry.key().0 == tenant).map(|entry| entry.key().1.clone());
        let names = self.0.builtin.keys().map(ToString::to_string).chain(of_tenant).filter(|known| known != plain);
        let scored = names.map(|known| (strsim::jaro_winkler(plain, &known), known));
        match scored.max_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((likeness, known)) if likeness > LIKENESS_MIN => format!("{shown:?} (did you mean {known:?}?)"),
            _ => format!("{shown:?}"),
        }
    }

    /// The same, not ready to be played.
    async fn find(&self, tenant: &str, name: &str) -> Result<Arc<Entry>, CatalogError> {
        let unknown = || CatalogError::UnknownEnvironment(self.describe_unknown(tenant, name));
        let (plain, version) = match name.split_once('@') {
            None => (name, None),
            Some((plain, version)) => (plain, Some(version.parse::<u32>().map_err(|_| unknown())?)),
        };
        if let Some(builtin) = self.0.builtin.get(plain) {
            let former = self.0.former.get(plain).into_iter().flatten();
            let mut versions = Vec::new();
            for builtin in std::iter::once(builtin).chain(former) {
                let entry = builtin.entry().await?;
                versions.insert(0, entry.spec().version);
                if version.is_none_or(|version| version == entry.spec().version) {
                    return Ok(Arc::clone(entry));
                }
            }
            return Err(unknown_version(name, &versions));
        }
        if let Some(version) = version
            && let Some(entry) = self.0.published.get(&(tenant.to_owned(), plain.to_owned(), version))
        {
            return Ok(Arc::clone(&entry));
        }
        // A NUL cannot be stored, so no environment has such a name.
        if plain.contains('\0') {
            return Err(unknown());
        }
        match self.0.store.definition(tenant, plain, version).await? {
            Some(row) => self.built(row).await,
            None => Err(match self.0.store.last_version(tenant, plain).await? {
                Some(last) => unknown_version(name, &(1..=last).collect::<Vec<_>>()),
                None => unknown(),
            }),
        }
    }

    async fn built(&self, row: DefinitionRow) -> Result<Arc<Entry>, CatalogError> {
        let key = (row.tenant.clone(), row.name.clone(), row.version);
        if let Some(entry) = self.0.published.get(&key) {
            return Ok(Arc::clone(&entry));
        }
        let entry = self.build(&row).await?;
        if self.0.published.len() >= PUBLISHED_KEPT_MAX {
            self.0.published.clear();
        }
        let is_large = |entry: &Entry| [app::FAMILY, web::FAMILY].contains(&&*entry.spec().family);
        if is_large(&entry) && self.0.published.iter().filter(|cached| is_large(cached)).count() >= LARGE_KEPT_MAX {
            self.0.published.retain(|_, kept| !is_large(kept));
        }
        self.0.published.insert(key, Arc::clone(&entry));
        Ok(entry)
    }

    /// Builds the environment of a definition, which need not be stored.
    async fn build(&self, row: &DefinitionRow) -> Result<Arc<Entry>, CatalogError> {
        let (row, backends) = (row.clone(), self.0.backends.clone());
        let heavy = definition(&row).is_heavy();
        let build = move || Entry::build(definition(&row).kind(&backends).map_err(CatalogError::Broken)?);
        if heavy { blocking(build).await } else { build() }
    }

    /// Every environment that the tenant can name, by name, in its newest version.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, tenant: &str) -> Result<Vec<Spec>, CatalogError> {
        let mut specs: Vec<Spec> = Vec::with_capacity(self.0.builtin.len());
        for builtin in self.0.builtin.values() {
            specs.push(builtin.spec().await?);
        }
        for row in self.0.store.definitions(tenant).await? {
            specs.push(self.built(row).await?.spec().clone());
        }
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(specs)
    }

    /// The public description of one environment.
    ///
    /// # Errors
    /// As [`Catalog::resolve`].
    pub async fn get(&self, tenant: &str, name: &str) -> Result<Spec, CatalogError> {
        Ok(self.find(tenant, name).await?.spec().clone())
    }

    /// True if the tasks of a split of an environment can be chosen by difficulty.
    ///
    /// # Errors
    /// When there is no such environment.
    pub async fn has_difficulty(&self, tenant: &str, name: &str, split: &str) -> Result<bool, CatalogError> {
        Ok(self.find(tenant, name).await?.has_difficulty(split))
    }

    /// The files of an app; none for other environments.
    ///
    /// # Errors
    /// When there is no such environment.
    pub async fn files(&self, tenant: &str, name: &str) -> Result<Option<Files>, CatalogError> {
        let entry = self.find(tenant, name).await?;
        let spec = entry.spec();
        if let Some(builtin) = self.0.builtin.get(&spec.name) {
            let Source::App(app, _) = &builtin.source else { return Ok(None) };
            return Ok(Some(app.files()));
        }
        let row = self.0.store.definition(tenant, &spec.name, Some(spec.version)).await?;
        let row = row.filter(|row| definition(row).is_app());
        row.map(|row| app::files_of(&row.definition).map_err(CatalogError::Broken)).transpose()
    }
}

/// An environment that is there, but not in this version, or withdrawn where no version is named.
fn unknown_version(name: &str, versions: &[u32]) -> CatalogError {
    let shown: String = name.chars().take(NAME_SHOWN_MAX).collect();
    let mut versions = versions.to_vec();
    versions.sort_unstable();
    let has = match versions.as_slice() {
        [one] => format!("version {one} alone"),
        [first, .., last] if versions.windows(2).all(|pair| pair[1] == pair[0] + 1) => {
            format!("the versions {first} to {last}")
        }
        several => format!("the versions {}", several.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    };
    let withdrawn = if shown.contains('@') { "" } else { ", withdrawn: name one" };
    CatalogError::UnknownEnvironment(format!("{shown:?} (it has {has}{withdrawn})"))
}

/// A stored definition as plain data.
fn definition(row: &DefinitionRow) -> Definition<'_> {
    Definition {
        name: &row.name,
        version: row.version,
        digest: &row.digest,
        definition: &row.definition,
        splits: &row.splits,
    }
}

/// Runs long work on a thread for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CatalogError> + Send + 'static,
) -> Result<T, CatalogError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| CatalogError::Broken(error.to_string()))?
}

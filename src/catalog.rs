//! The catalog: every environment that a tenant can name, built in or published, and the choice of a task in it.

mod inside;

use std::collections::HashMap;
use std::sync::Arc;

use dashmap::DashMap;
use futures::future::join_all;
use palestra_protocol::environment::{Environment as Spec, Published, Recovery, Task as PublicTask};
use palestra_protocol::list::List;
use palestra_protocol::problem::Fault;
use palestra_protocol::session::TaskChoice;
use palestra_protocol::shared::Shared;
use palestra_protocol::time::Timestamp;
use rand::RngExt;
use serde_json::{Map, Value};
use tokio::sync::{Mutex, OnceCell, Semaphore, oneshot};

use crate::environment::app::shipped::{self, Shipped};
use crate::environment::app::{self, Files};
use crate::environment::published::{Definition, Parsed, Submission};
use crate::environment::surface::Surface;
use crate::environment::task::{SEED_MAX, Task, TaskError, TaskId, permute, pick};
use crate::environment::tool::Toolbox;
use crate::environment::{EnvironmentKind, Tasks};
use crate::environment::{sql, work};
use crate::means::Means;
use crate::store::row::DefinitionRow;
use crate::store::{Store, StoreError};
pub use inside::{ActionPage, InsideError};

/// Published definitions that are kept built; beyond that, they are built again when touched.
const PUBLISHED_KEPT_MAX: usize = 1_024;
/// Of these, apps, which keep their initial databases too.
const APPS_KEPT_MAX: usize = 64;
/// Definitions that are checked at the same time.
const CHECKED_AT_ONCE_MAX: usize = 2;
/// Rows of a publication that are proven at the same time.
const ADMITTED_AT_ONCE_MAX: usize = 4;
/// Rows that were refused and are told.
const FAULTS_TOLD_MAX: usize = 100;
/// Tasks in one page of a listing.
pub const TASKS_PER_PAGE_MAX: u64 = 1_000;

/// The tools that a session is offered.
pub struct Offer {
    /// As OpenAI function tools.
    pub tools: Shared<List<Value>>,
    /// The same compiled.
    pub toolbox: Toolbox,
}

/// An environment that can be played, with its tools compiled.
pub struct Entry {
    /// The kind.
    pub kind: Arc<dyn EnvironmentKind>,
    /// What sessions of each surface are offered; never empty.
    offers: Vec<(Surface, Offer)>,
    /// Done once the kind is prepared.
    prepared: OnceCell<()>,
    /// `family/name`, which the rows of its sessions share.
    pub name: Arc<str>,
    /// Digest of its definition, shared likewise.
    pub digest: Arc<str>,
    full_name: String,
}

impl Entry {
    fn build(kind: Arc<dyn EnvironmentKind>) -> Result<Arc<Self>, CatalogError> {
        let offer = |surface: &Surface| {
            let tools = kind.tools(*surface);
            Toolbox::compile(&tools.data).map(|toolbox| (*surface, Offer { tools, toolbox }))
        };
        let offers = kind.surfaces().iter().map(offer).collect::<Result<_, _>>().map_err(CatalogError::Broken)?;
        let full_name = format!("{}@{}", kind.spec().name, kind.spec().version);
        let (name, digest) = (kind.spec().name.as_str().into(), kind.spec().digest.as_str().into());
        Ok(Arc::new(Self { kind, offers, prepared: OnceCell::new(), name, digest, full_name }))
    }

    /// What the API shows.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        self.kind.spec()
    }

    /// What sessions with these settings are offered.
    #[must_use]
    pub fn offer(&self, config: &Map<String, Value>) -> &Offer {
        let surface = self.kind.surface(config);
        let found = self.offers.iter().find(|(offered, _)| *offered == surface);
        &found.unwrap_or(&self.offers[0]).1
    }

    /// Makes what all sessions share, once.
    async fn prepare(&self) -> Result<(), CatalogError> {
        if !self.kind.prepares() {
            return Ok(());
        }
        let prepare = || {
            let kind = Arc::clone(&self.kind);
            async move { blocking(move || kind.prepare().map_err(CatalogError::Broken)).await }
        };
        self.prepared.get_or_try_init(prepare).await.copied()
    }

    /// Whether opening a place takes little time and nothing outside, so that it may be given up at any moment.
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

/// A built-in environment. Its tools are compiled when it is first played, since most servers play a few of all.
struct Builtin {
    source: Source,
    entry: OnceCell<Arc<Entry>>,
}

/// Where a built-in environment comes from.
enum Source {
    /// It is there.
    Kind(Arc<dyn EnvironmentKind>),
    /// It is compiled when it is first asked for.
    App(Shipped),
    /// Its rows are read when it is first asked for.
    Work(work::shipped::Shipped, Means),
    /// Its templates are read when it is first asked for.
    Sql(sql::shipped::Shipped, Means),
}

impl Builtin {
    fn new(source: Source) -> Self {
        Self { source, entry: OnceCell::new() }
    }

    async fn entry(&self) -> Result<&Arc<Entry>, CatalogError> {
        let build = || async {
            match &self.source {
                Source::Kind(kind) => Entry::build(Arc::clone(kind)),
                Source::App(app) => {
                    let app = *app;
                    blocking(move || Entry::build(app.kind().map_err(CatalogError::Broken)?)).await
                }
                Source::Work(work, means) => {
                    let (work, means) = (*work, means.clone());
                    blocking(move || Entry::build(work.kind(&means.desk).map_err(CatalogError::Broken)?)).await
                }
                Source::Sql(sql, means) => {
                    let (sql, means) = (*sql, means.clone());
                    blocking(move || Entry::build(sql.kind(&means.databases).map_err(CatalogError::Broken)?)).await
                }
            }
        };
        self.entry.get_or_try_init(build).await
    }

    async fn spec(&self) -> Result<Spec, CatalogError> {
        match &self.source {
            Source::Kind(kind) => Ok(kind.spec().clone()),
            Source::App(_) | Source::Work(..) | Source::Sql(..) => Ok(self.entry().await?.spec().clone()),
        }
    }
}

/// Why the catalog refused.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The tenant has no such environment.
    #[error("there is no environment {0:?}")]
    UnknownEnvironment(String),
    /// The environment has no such task.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The definition is wrong; every fault that was found.
    #[error("the definition has {} faults", .0.len())]
    Faults(Vec<Fault>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A definition that was accepted cannot be built.
    #[error("a definition is broken: {0}")]
    Broken(String),
}

/// Which tasks of a split are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPage {
    /// The split.
    pub split: String,
    /// Names a fixed permutation of the split; the natural order where left out.
    pub shuffle: Option<u64>,
    /// The first place.
    pub offset: u64,
    /// Most rows.
    pub limit: u64,
}

/// Every environment that can be named.
#[derive(Clone)]
pub struct Catalog(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    builtin: HashMap<String, Builtin>,
    /// What places are made of.
    means: Means,
    /// By tenant, name and version.
    published: DashMap<(String, String, u32), Arc<Entry>>,
    /// Room for definitions that are checked.
    checking: Arc<Semaphore>,
    /// Held by the one task that is proven: what it is done in is named by it.
    proving: Mutex<()>,
}

impl Catalog {
    /// A catalog of built-in kinds, of the apps that are shipped, and of what the store holds.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, kinds: Vec<Arc<dyn EnvironmentKind>>, means: Means) -> Self {
        let kinds = kinds.into_iter().map(|kind| (kind.spec().name.clone(), Source::Kind(kind)));
        let apps = shipped::all().into_iter().map(|app| (app.name(), Source::App(app)));
        let work = work::shipped::all().into_iter();
        let work = work.map(|work| (work.name().to_owned(), Source::Work(work, means.clone())));
        let sql = sql::shipped::all().into_iter();
        let sql = sql.map(|sql| (sql.name().to_owned(), Source::Sql(sql, means.clone())));
        let builtin =
            apps.chain(work).chain(sql).chain(kinds).map(|(name, source)| (name, Builtin::new(source))).collect();
        let checking = Arc::new(Semaphore::new(CHECKED_AT_ONCE_MAX));
        Self(Arc::new(Inner { store, builtin, means, published: DashMap::new(), checking, proving: Mutex::default() }))
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

    /// The same, not ready to be played.
    async fn find(&self, tenant: &str, name: &str) -> Result<Arc<Entry>, CatalogError> {
        let unknown = || CatalogError::UnknownEnvironment(name.chars().take(200).collect());
        let (plain, version) = match name.split_once('@') {
            None => (name, None),
            Some((plain, version)) => (plain, Some(version.parse::<u32>().map_err(|_| unknown())?)),
        };
        if let Some(builtin) = self.0.builtin.get(plain) {
            let entry = builtin.entry().await?;
            let fits = version.is_none_or(|version| version == entry.spec().version);
            return if fits { Ok(Arc::clone(entry)) } else { Err(unknown()) };
        }
        if let Some(version) = version
            && let Some(entry) = self.0.published.get(&(tenant.to_owned(), plain.to_owned(), version))
        {
            return Ok(Arc::clone(&entry));
        }
        // A NUL cannot be stored, so nothing has such a name.
        if plain.contains('\0') {
            return Err(unknown());
        }
        let row = self.0.store.definition(tenant, plain, version).await?.ok_or_else(unknown)?;
        self.built(row).await
    }

    async fn built(&self, row: DefinitionRow) -> Result<Arc<Entry>, CatalogError> {
        let key = (row.tenant.clone(), row.name.clone(), row.version);
        if let Some(entry) = self.0.published.get(&key) {
            return Ok(Arc::clone(&entry));
        }
        let heavy = definition(&row).is_heavy();
        let means = self.0.means.clone();
        let build = move || Entry::build(definition(&row).kind(&means).map_err(CatalogError::Broken)?);
        let entry = if heavy { blocking(build).await? } else { build()? };
        if self.0.published.len() >= PUBLISHED_KEPT_MAX {
            self.0.published.clear();
        }
        let is_app = |entry: &Entry| entry.spec().family == app::FAMILY;
        if is_app(&entry) && self.0.published.iter().filter(|kept| is_app(kept)).count() >= APPS_KEPT_MAX {
            self.0.published.retain(|_, kept| !is_app(kept));
        }
        self.0.published.insert(key, Arc::clone(&entry));
        Ok(entry)
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

    /// What the API shows of one environment.
    ///
    /// # Errors
    /// As [`Catalog::resolve`].
    pub async fn get(&self, tenant: &str, name: &str) -> Result<Spec, CatalogError> {
        Ok(self.find(tenant, name).await?.spec().clone())
    }

    /// The files of an app; none for other environments.
    ///
    /// # Errors
    /// When there is no such environment.
    pub async fn files(&self, tenant: &str, name: &str) -> Result<Option<Files>, CatalogError> {
        let entry = self.find(tenant, name).await?;
        let spec = entry.spec();
        if let Some(builtin) = self.0.builtin.get(&spec.name) {
            let Source::App(app) = &builtin.source else { return Ok(None) };
            return Ok(Some(app.files()));
        }
        let row = self.0.store.definition(tenant, &spec.name, Some(spec.version)).await?;
        let row = row.filter(|row| definition(row).is_app());
        row.map(|row| app::files_of(&row.definition).map_err(CatalogError::Broken)).transpose()
    }

    /// A page of a split. Pages with disjoint offsets never share a task, shuffled or not.
    ///
    /// # Errors
    /// When there is no such environment or split.
    pub async fn tasks(&self, tenant: &str, name: &str, page: &TaskPage) -> Result<Vec<PublicTask>, CatalogError> {
        let entry = self.resolve(tenant, name).await?;
        let length = split_length(entry.spec(), &page.split)?;
        let end = page.offset.saturating_add(page.limit.min(TASKS_PER_PAGE_MAX)).min(length);
        let mut tasks = Vec::new();
        for position in page.offset..end {
            let index = page.shuffle.map_or(position, |key| permute(position, length, key));
            tasks.push(self.task_at(&entry, &page.split, index).await?.public.clone());
        }
        Ok(tasks)
    }

    /// The task that a choice names; a random one of the `train` split without a choice.
    ///
    /// # Errors
    /// When the choice contradicts itself or names nothing.
    pub async fn choose(&self, entry: &Arc<Entry>, choice: Option<&TaskChoice>) -> Result<Arc<Task>, TaskOrStoreError> {
        let nothing = TaskChoice::default();
        let choice = choice.unwrap_or(&nothing);
        if let Some(id) = &choice.id {
            if choice.split.is_some() || choice.index.is_some() || choice.seed.is_some() || choice.difficulty.is_some()
            {
                return Err(bad("a task id excludes split, index, seed and difficulty"));
            }
            return self.task_of_id(entry, id).await;
        }
        let split = choice.split.as_deref().unwrap_or("train");
        let length = split_length(entry.spec(), split)?;
        if choice.index.is_some() && (choice.seed.is_some() || choice.difficulty.is_some()) {
            return Err(bad("an index excludes seed and difficulty"));
        }
        if let Some(index) = choice.index {
            return self.task_at(entry, split, index).await;
        }
        let seed = choice.seed.unwrap_or_else(|| rand::rng().random_range(0..=SEED_MAX));
        if seed > SEED_MAX {
            return Err(bad("a seed is at most 2^53 - 1"));
        }
        match entry.kind.tasks() {
            Tasks::Stored(_) if choice.difficulty.is_some() => Err(bad("tasks of this environment have no difficulty")),
            Tasks::Stored(_) if length == 0 => {
                Err(TaskError::OutOfRange { split: split.to_owned(), length, index: 0 }.into())
            }
            Tasks::Stored(_) => {
                let index = pick(&[b"task by seed", &seed.to_le_bytes()], length);
                self.task_at(entry, split, index).await
            }
            Tasks::Generated(_) => {
                let difficulty_thousandths = choice.difficulty.map(thousandths).transpose()?;
                let id = TaskId { split: split.to_owned(), number: seed, difficulty_thousandths };
                self.task_of_id(entry, &id.to_string()).await
            }
        }
    }

    /// The task that an id recreates.
    ///
    /// # Errors
    /// When the id names nothing here.
    pub async fn task_of_id(&self, entry: &Arc<Entry>, id: &str) -> Result<Arc<Task>, TaskOrStoreError> {
        let parsed: TaskId = id.parse()?;
        let length = split_length(entry.spec(), &parsed.split)?;
        match entry.kind.tasks() {
            Tasks::Stored(_) if parsed.difficulty_thousandths.is_some() => Err(TaskError::BadId(id.to_owned()).into()),
            Tasks::Stored(_) => self.task_at(entry, &parsed.split, parsed.number).await,
            Tasks::Generated(_) => {
                let index = parsed.difficulty_thousandths.is_none().then_some(parsed.number).filter(|n| *n < length);
                self.generate(entry, &parsed, index).await
            }
        }
    }

    async fn task_at(&self, entry: &Arc<Entry>, split: &str, index: u64) -> Result<Arc<Task>, TaskOrStoreError> {
        let length = split_length(entry.spec(), split)?;
        let out_of_range = || TaskError::OutOfRange { split: split.to_owned(), length, index };
        if index >= length {
            return Err(out_of_range().into());
        }
        match entry.kind.tasks() {
            Tasks::Generated(_) => self.generate(entry, &TaskId::plain(split, index), Some(index)).await,
            Tasks::Stored(rows) => {
                let row = self.0.store.task_row(rows.digest(), split, index).await?.ok_or_else(out_of_range)?;
                Ok(Arc::new(rows.task(split, index, row)?))
            }
        }
    }

    async fn generate(
        &self,
        entry: &Arc<Entry>,
        id: &TaskId,
        index: Option<u64>,
    ) -> Result<Arc<Task>, TaskOrStoreError> {
        let make = {
            let (entry, id) = (Arc::clone(entry), id.clone());
            move || match entry.kind.tasks() {
                Tasks::Generated(generator) => generator.generate(&id.split, id.number, id.difficulty()),
                Tasks::Stored(_) => Err(TaskError::Broken("its tasks are stored".to_owned())),
            }
        };
        let mut task = if entry.kind.heavy() {
            tokio::task::spawn_blocking(make).await.map_err(|error| TaskError::Broken(error.to_string()))??
        } else {
            make()?
        };
        task.public.id = id.to_string();
        task.public.index = index;
        Ok(Arc::new(task))
    }

    /// Publishes a definition as the next version of its name; the same content again is the version that exists.
    ///
    /// # Errors
    /// With every fault of the definition; nothing is stored then.
    pub async fn publish(
        &self,
        tenant: &str,
        submission: Submission,
        now: Timestamp,
    ) -> Result<Published, CatalogError> {
        let room = Arc::clone(&self.0.checking).acquire_owned().await;
        let means = self.0.means.clone();
        // Dropped together with the request.
        let (_waiting, left) = oneshot::channel();
        let parse = move || {
            // Held until the work is done, also where nobody waits for it any more.
            let _room = room;
            submission.parse(&means, left).map_err(CatalogError::Faults)
        };
        let parsed = blocking(parse).await?;
        if self.0.builtin.contains_key(&parsed.name) {
            let detail = format!("{} is an environment that is shipped: choose another name", parsed.name);
            return Err(CatalogError::Faults(vec![Fault { detail, ..Fault::default() }]));
        }
        self.admit(&parsed).await?;
        let definition = DefinitionRow {
            tenant: tenant.to_owned(),
            name: parsed.name,
            version: 0,
            digest: parsed.digest,
            definition: parsed.definition,
            splits: parsed.splits,
            created_at: now,
        };
        let (row, created) = self.0.store.publish(&definition, &parsed.rows).await?;
        Ok(Published { environment: self.built(row).await?.spec().clone(), created, notes: parsed.notes })
    }
}

impl Catalog {
    /// Proves by execution that rows of work can be played and judged.
    async fn admit(&self, parsed: &Parsed) -> Result<(), CatalogError> {
        let Some(work) = work::family(&parsed.name) else { return Ok(()) };
        let _room = self.0.checking.acquire().await;
        let rows = parsed.rows.iter().flat_map(|(split, rows)| rows.iter().enumerate().map(move |row| (split, row)));
        let rows: Vec<(&String, (usize, &Value))> = rows.collect();
        let mut faults = Vec::new();
        for part in rows.chunks(ADMITTED_AT_ONCE_MAX) {
            let admitted = join_all(part.iter().map(|(_, (_, row))| work.admit(row, &self.0.means.desk))).await;
            for ((split, (index, _)), refused) in part.iter().zip(admitted) {
                let Err(detail) = refused else { continue };
                faults.push(Fault { field: Some(format!("{split}-{index}")), detail, ..Fault::default() });
            }
            if faults.len() >= FAULTS_TOLD_MAX {
                break;
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(CatalogError::Faults(faults)) }
    }
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

/// Runs work that may take long where it holds nobody up.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CatalogError> + Send + 'static,
) -> Result<T, CatalogError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| CatalogError::Broken(error.to_string()))?
}

/// A task was not found, or could not be looked for.
#[derive(Debug, thiserror::Error)]
pub enum TaskOrStoreError {
    /// There is no such task.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<TaskOrStoreError> for CatalogError {
    fn from(error: TaskOrStoreError) -> Self {
        match error {
            TaskOrStoreError::Task(error) => Self::Task(error),
            TaskOrStoreError::Store(error) => Self::Store(error),
        }
    }
}

fn bad(words: &str) -> TaskOrStoreError {
    TaskError::BadChoice(words.to_owned()).into()
}

fn split_length(spec: &Spec, split: &str) -> Result<u64, TaskError> {
    spec.splits.get(split).copied().ok_or_else(|| TaskError::UnknownSplit(split.chars().take(100).collect()))
}

/// A difficulty in thousandths, the resolution of task ids.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
fn thousandths(difficulty: f64) -> Result<u16, TaskError> {
    if (0.0..=1.0).contains(&difficulty) {
        Ok((difficulty * 1000.0).round() as u16)
    } else {
        Err(TaskError::BadChoice("a difficulty is between 0 and 1".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::registry::{BuiltinSettings, builtin};

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

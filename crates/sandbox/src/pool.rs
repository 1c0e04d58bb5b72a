//! Pool of sandboxes: back ends, images and profiles together, and the warm ones that wait to be used.
//!
//! A sandbox is handed out once and never comes back. There is a pool of warm ones per kind, which a task of its own fills up to a floor
//! after each use: taking one never waits for that. All of them together, warm ones included, stay under a ceiling.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dashmap::DashMap;
use deadpool::unmanaged::Pool;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::allowance::{Allowance, Demand};
use crate::backend::{Backend, Start};
use crate::error::SandboxError;
use crate::image::Images;
use crate::profile::Profile;
use crate::sandbox::Sandbox;

/// Time for which warm sandboxes of a kind are kept after its last use.
const UNUSED_MAX: Duration = Duration::from_secs(600);
/// Interval at which unused warm sandboxes are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// When to come back if no sandbox is free.
const RETRY_AFTER_MS: u64 = 1_000;
/// Starts at the same time; more would only take longer each.
const STARTS_AT_ONCE_MAX: usize = 16;

/// Number of sandboxes that this process has started: names are unique among all its pools.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// Kind of sandbox.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SandboxSpec {
    /// The back end; the server's first where left out.
    pub backend: Option<String>,
    /// The image's name.
    pub image: String,
    /// The profile's name.
    pub profile: String,
    /// Demand beyond the profile.
    pub demand: Demand,
}

impl SandboxSpec {
    /// An image under a profile, with nothing beyond it.
    #[must_use]
    pub fn new(backend: Option<String>, image: impl Into<String>, profile: impl Into<String>) -> Self {
        Self { backend, image: image.into(), profile: profile.into(), demand: Demand::default() }
    }
}

/// Bounds on the number of sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// At once, warm ones included.
    pub sandboxes_max: usize,
    /// Kept warm of each kind in use.
    pub warm_min: usize,
}

/// Hands out sandboxes.
#[derive(Clone)]
pub struct Sandboxes(Arc<Inner>);

struct Inner {
    backends: Vec<Arc<dyn Backend>>,
    images: Images,
    profiles: BTreeMap<String, Arc<Profile>>,
    bounds: Bounds,
    allowance: Allowance,
    room: Arc<Semaphore>,
    starts: Semaphore,
    kinds: DashMap<SandboxSpec, Arc<WarmSandboxes>>,
    /// Ends the filling.
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// Warm sandboxes of one kind.
struct WarmSandboxes {
    idle: Pool<Sandbox>,
    /// True if a task is filling it.
    filling: AtomicBool,
    used: Mutex<Instant>,
}

impl Sandboxes {
    /// Sandboxes of these back ends, the first of which serves where none is named.
    #[must_use]
    pub fn new(
        backends: Vec<Arc<dyn Backend>>,
        images: Images,
        profiles: BTreeMap<String, Arc<Profile>>,
        bounds: Bounds,
    ) -> Self {
        Self::allowing(backends, images, profiles, bounds, Allowance::default())
    }

    /// The same where the operator allows tasks more than their profiles.
    #[must_use]
    pub fn allowing(
        backends: Vec<Arc<dyn Backend>>,
        images: Images,
        profiles: BTreeMap<String, Arc<Profile>>,
        bounds: Bounds,
        allowance: Allowance,
    ) -> Self {
        Self(Arc::new(Inner {
            profiles: profiles.into_iter().map(|(name, profile)| (name, allowance.adapted(profile))).collect(),
            allowance,
            backends,
            images,
            bounds,
            room: Arc::new(Semaphore::new(bounds.sandboxes_max.min(Semaphore::MAX_PERMITS))),
            starts: Semaphore::new(STARTS_AT_ONCE_MAX),
            kinds: DashMap::new(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }))
    }

    /// A pool without sandboxes, for readers of tasks.
    #[must_use]
    pub fn none(images: Images) -> Self {
        Self::new(Vec::new(), images, BTreeMap::new(), Bounds { sandboxes_max: 0, warm_min: 0 })
    }

    /// A fresh sandbox, a warm one if there is.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] where back end, image or profile are not there; [`SandboxError::Exhausted`].
    pub async fn take(&self, want: &SandboxSpec) -> Result<Sandbox, SandboxError> {
        self.backend(want.backend.as_deref())?;
        let warm = self.warm(want);
        *warm.used.lock() = Instant::now();
        let digest = self.0.images.resolve(&want.image)?.digest.clone();
        while let Ok(sandbox) = warm.idle.try_remove() {
            if sandbox.lost().is_none() && sandbox.image().digest == digest {
                self.fill(want, &warm);
                return Ok(sandbox);
            }
            sandbox.destroy(true).await;
        }
        let sandbox = self.start(want, None).await?;
        self.fill(want, &warm);
        Ok(sandbox)
    }

    /// A fresh sandbox whose disk is called `disk` and outlives it and the server, where the back end can do that.
    ///
    /// # Errors
    /// As [`Sandboxes::take`].
    pub async fn take_named(&self, want: &SandboxSpec, disk: &str) -> Result<Sandbox, SandboxError> {
        let sandbox = self.take(want).await?;
        match sandbox.keep_disk(disk).await {
            Ok(()) | Err(SandboxError::Unavailable(_)) => Ok(sandbox),
            Err(error) => {
                sandbox.destroy(true).await;
                Err(error)
            }
        }
    }

    /// A sandbox on the disk of this name that an earlier one left.
    ///
    /// # Errors
    /// As [`Sandboxes::take`], and [`SandboxError::Lost`] where the disk is not there, or disks of the back end cannot outlive their
    /// sandbox: nothing that ran on it can bring that about.
    pub async fn on_disk(&self, want: &SandboxSpec, disk: &str) -> Result<Sandbox, SandboxError> {
        let backend = self.backend(want.backend.as_deref())?;
        if !backend.keeps_disks() {
            return Err(SandboxError::Lost("disks of this back end do not outlive the server".to_owned()));
        }
        if !backend.disks().iter().any(|there| there == disk) {
            return Err(SandboxError::Lost("its disk did not outlive the server".to_owned()));
        }
        self.start(want, Some(disk.to_owned())).await
    }

    /// The images.
    #[must_use]
    pub fn images(&self) -> &Images {
        &self.0.images
    }

    /// Allowance of the operator.
    #[must_use]
    pub fn allowance(&self) -> &Allowance {
        &self.0.allowance
    }

    /// A profile.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when there is none of this name.
    pub fn profile(&self, name: &str) -> Result<&Arc<Profile>, SandboxError> {
        let missing = || {
            SandboxError::Unavailable(format!(
                "there is no sandbox profile {name:?}: choose one of the folders of sandboxes/"
            ))
        };
        self.0.profiles.get(name).ok_or_else(missing)
    }

    /// Every back end; the first serves where none is named.
    #[must_use]
    pub fn backends(&self) -> &[Arc<dyn Backend>] {
        &self.0.backends
    }

    /// A back end by name, or the first.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when there is none.
    pub fn backend(&self, name: Option<&str>) -> Result<&Arc<dyn Backend>, SandboxError> {
        let found = self.0.backends.iter().find(|backend| name.is_none_or(|name| backend.name() == name));
        found.ok_or_else(|| {
            let words = name.map_or_else(|| "no sandbox back end".to_owned(), |name| format!("no back end {name:?}"));
            SandboxError::Unavailable(format!("{words} is there: see `palestra doctor`"))
        })
    }

    /// Removes a kept disk of this name, wherever it is, once no sandbox uses it.
    pub fn forget_disk(&self, disk: &str) {
        for backend in &self.0.backends {
            backend.forget_disk(disk);
        }
    }

    /// Number of sandboxes that are in use or warm.
    #[must_use]
    pub fn open(&self) -> usize {
        self.0.bounds.sandboxes_max.saturating_sub(self.0.room.available_permits())
    }

    /// Frees warm sandboxes of kinds that nobody uses, until [`Sandboxes::close`].
    pub async fn tend(&self) {
        let mut every = tokio::time::interval(LOOK_EVERY);
        loop {
            tokio::select! {
                () = self.0.stop.cancelled() => return,
                _ = every.tick() => {}
            }
            let unused = |warm: &Arc<WarmSandboxes>| warm.used.lock().elapsed() > UNUSED_MAX;
            let old: Vec<_> =
                self.0.kinds.iter().filter(|entry| unused(entry)).map(|entry| entry.key().clone()).collect();
            for want in old {
                if let Some((_, warm)) = self.0.kinds.remove_if(&want, |_, warm| unused(warm)) {
                    warm.empty().await;
                }
            }
        }
    }

    /// Ends the filling and frees every warm sandbox.
    pub async fn close(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
        let kinds: Vec<Arc<WarmSandboxes>> = self.0.kinds.iter().map(|entry| Arc::clone(entry.value())).collect();
        self.0.kinds.clear();
        for warm in kinds {
            warm.empty().await;
        }
    }

    fn warm(&self, want: &SandboxSpec) -> Arc<WarmSandboxes> {
        let fresh = || {
            Arc::new(WarmSandboxes {
                idle: Pool::new(self.0.bounds.warm_min.max(1)),
                filling: AtomicBool::new(false),
                used: Mutex::new(Instant::now()),
            })
        };
        Arc::clone(&self.0.kinds.entry(want.clone()).or_insert_with(fresh))
    }

    /// Fills the pool of a kind up to its floor, on a task of its own. What cannot be started is started when it is asked for, which tells why.
    fn fill(&self, want: &SandboxSpec, warm: &Arc<WarmSandboxes>) {
        let full = |warm: &WarmSandboxes, floor| warm.idle.status().available >= floor;
        let floor = self.0.bounds.warm_min;
        if full(warm, floor) || self.0.stop.is_cancelled() || warm.filling.swap(true, Ordering::AcqRel) {
            return;
        }
        let (sandboxes, want, warm) = (self.clone(), want.clone(), Arc::clone(warm));
        self.0.tasks.spawn(async move {
            while !full(&warm, floor) && !sandboxes.0.stop.is_cancelled() {
                match sandboxes.start(&want, None).await {
                    Ok(sandbox) => {
                        if let Err((sandbox, _)) = warm.idle.try_add(sandbox) {
                            sandbox.destroy(true).await;
                            break;
                        }
                    }
                    Err(error) => {
                        tracing::debug!(?want, %error, "warm sandboxes could not be started");
                        break;
                    }
                }
            }
            warm.filling.store(false, Ordering::Release);
        });
    }

    async fn start(&self, want: &SandboxSpec, disk: Option<String>) -> Result<Sandbox, SandboxError> {
        let backend = self.backend(want.backend.as_deref())?;
        let mut profile = Arc::clone(self.profile(&want.profile)?);
        if !want.demand.is_empty() {
            let adapted = self.0.allowance.profile(&profile, &want.demand);
            profile = Arc::new(adapted.map_err(SandboxError::Unavailable)?);
        }
        let image = self.0.images.resolve(&want.image)?;
        let permit = match self.permit(want).await {
            Err(SandboxError::Exhausted { .. }) if profile.wait_ms.value > 0 => self.patient(&profile).await?,
            permit => permit?,
        };
        let turn = self.0.starts.acquire().await.map_err(|error| SandboxError::Start(error.to_string()))?;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{number}", std::process::id());
        let sandbox = backend.start(Start { id, image, profile, disk }).await;
        drop(turn);
        sandbox.map(|sandbox| sandbox.holding(permit))
    }

    /// Room for one more, as soon as another sandbox ends.
    async fn patient(&self, profile: &Profile) -> Result<OwnedSemaphorePermit, SandboxError> {
        let room = Arc::clone(&self.0.room).acquire_owned();
        let waited = tokio::time::timeout(Duration::from_millis(profile.wait_ms.value), room).await;
        waited.ok().and_then(Result::ok).ok_or(SandboxError::Exhausted { retry_after_ms: RETRY_AFTER_MS })
    }

    /// Room for one more. Where there is none, a warm sandbox of another kind makes way.
    async fn permit(&self, want: &SandboxSpec) -> Result<OwnedSemaphorePermit, SandboxError> {
        loop {
            if let Ok(permit) = Arc::clone(&self.0.room).try_acquire_owned() {
                return Ok(permit);
            }
            let others = self.0.kinds.iter().filter(|entry| entry.key() != want);
            let spare = others.map(|entry| Arc::clone(entry.value())).find_map(|warm| warm.idle.try_remove().ok());
            match spare {
                Some(sandbox) => sandbox.destroy(true).await,
                None => return Err(SandboxError::Exhausted { retry_after_ms: RETRY_AFTER_MS }),
            }
        }
    }
}

impl WarmSandboxes {
    async fn empty(&self) {
        while let Ok(sandbox) = self.idle.try_remove() {
            sandbox.destroy(true).await;
        }
    }
}

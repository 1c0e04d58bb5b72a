//! Files of policies and checkpoints, between the server and the folder in which an attempt works.

use std::path::{Path, PathBuf};

use palestra_client::Client;
use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{Artifact, JobState};
use palestra_protocol::spec::play::PolicyFrom;
use tokio::io::AsyncWriteExt as _;
use tokio::runtime::Handle;

use crate::failure::TrainerError;

/// Brings files, with the credential of a job.
pub struct Files {
    /// Holds the job's token.
    pub client: Client,
    /// Where asynchronous work runs.
    pub runtime: Handle,
    /// Where an attempt works.
    pub folder: PathBuf,
    /// From where `file:` policies may be loaded.
    pub models: Vec<PathBuf>,
}

/// Where a policy lies, and which it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// A folder, or a GGUF file.
    pub path: PathBuf,
    /// The registered policy, where it is one.
    pub policy: Option<PolicyId>,
}

impl Files {
    /// Brings a policy that is not made from scratch.
    ///
    /// # Errors
    /// When there is none, it may not be read, or it cannot be brought.
    pub fn policy(&self, from: &PolicyFrom) -> Result<Located, TrainerError> {
        match from {
            PolicyFrom::Registered(id) => self.registered(*id),
            PolicyFrom::Job(job) => self.registered(self.policy_of(*job)?),
            PolicyFrom::File(path) => Ok(Located { path: self.offered(path)?, policy: None }),
            _ => Err(TrainerError::BadSpec(format!("{from} has no files"))),
        }
    }

    /// The policy that a job left.
    fn policy_of(&self, job: JobId) -> Result<PolicyId, TrainerError> {
        let job = self.runtime.block_on(self.client.job(job))?;
        if job.state != JobState::Succeeded {
            return Err(TrainerError::BadSpec(format!("{} has not succeeded: it is {}", job.id, job.state.as_str())));
        }
        let named = job.result.as_ref().and_then(|result| result.get("policy")?.as_str()?.parse().ok());
        named.ok_or_else(|| TrainerError::BadSpec(format!("{} left no policy", job.id)))
    }

    fn registered(&self, id: PolicyId) -> Result<Located, TrainerError> {
        let policy = self.runtime.block_on(self.client.policy(id))?;
        let folder = self.folder.join(id.to_string());
        std::fs::create_dir_all(&folder).map_err(TrainerError::io(folder.display().to_string()))?;
        for file in &policy.files {
            // A server that is not trusted must not choose where files are written.
            let plain = Path::new(&file.name).file_name().filter(|plain| *plain == file.name.as_str());
            let Some(plain) = plain else {
                return Err(TrainerError::BadCheckpoint(format!("{} is no name of a file", file.name)));
            };
            let path = folder.join(plain);
            self.write(&path, async |into| {
                self.client.download_policy_file(id, &file.name, into).await.map(|downloaded| downloaded.digest)
            })
            .and_then(|digest| same(&file.name, &digest, &file.digest))?;
        }
        Ok(Located { path: folder, policy: Some(id) })
    }

    /// Brings artefacts of a job into a folder, each under the last part of its name.
    ///
    /// # Errors
    /// When one cannot be brought whole.
    pub fn artifacts(&self, job: JobId, artifacts: &[Artifact], folder: &Path) -> Result<(), TrainerError> {
        std::fs::create_dir_all(folder).map_err(TrainerError::io(folder.display().to_string()))?;
        for artifact in artifacts {
            let Some(name) = Path::new(&artifact.name).file_name() else { continue };
            let path = folder.join(name);
            self.write(&path, async |into| {
                self.client.download_artifact(job, &artifact.name, into).await.map(|downloaded| downloaded.digest)
            })
            .and_then(|digest| same(&artifact.name, &digest, &artifact.digest))?;
        }
        Ok(())
    }

    /// The lines of an artefact.
    ///
    /// # Errors
    /// When it cannot be brought.
    pub fn text(&self, job: JobId, name: &str) -> Result<String, TrainerError> {
        let mut bytes = Vec::new();
        self.runtime.block_on(self.client.download_artifact(job, name, &mut bytes))?;
        String::from_utf8(bytes)
            .map_err(|_| TrainerError::BadData { faults: vec![(0, "the file is no UTF-8".to_owned())] })
    }

    fn write(
        &self,
        path: &Path,
        bring: impl AsyncFnOnce(&mut tokio::fs::File) -> Result<String, palestra_client::ClientError>,
    ) -> Result<String, TrainerError> {
        self.runtime.block_on(async {
            let fail = |source| TrainerError::Io { what: path.display().to_string(), source };
            let mut file = tokio::fs::File::create(path).await.map_err(fail)?;
            let digest = bring(&mut file).await?;
            file.flush().await.map_err(fail)?;
            Ok(digest)
        })
    }

    /// A path below one of the offered folders.
    fn offered(&self, path: &str) -> Result<PathBuf, TrainerError> {
        let refused = || {
            TrainerError::BadSpec(format!(
                "file:{path} is not below a folder that this worker offers: start it with --models FOLDER"
            ))
        };
        let found = self.models.iter().find_map(|folder| {
            let folder = folder.canonicalize().ok()?;
            // Links count as where they lead.
            let full = folder.join(path).canonicalize().ok()?;
            full.starts_with(&folder).then_some(full)
        });
        found.ok_or_else(refused)
    }
}

fn same(name: &str, found: &str, expected: &str) -> Result<(), TrainerError> {
    if found == expected {
        return Ok(());
    }
    Err(TrainerError::BadCheckpoint(format!("{name} arrived with another digest than it was kept with")))
}

//! Files of policies and checkpoints, between the server and the folder in which an attempt works.

use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};
use std::time::Instant;

use palestra_client::{Client, ClientError};
use palestra_protocol::id::{FileId, JobId, PolicyId};
use palestra_protocol::job::{Artifact, Checkpoint, JobState};
use palestra_protocol::spec::play::PolicyFrom;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;

use crate::failure::TrainerError;
use crate::reporter::Reporter;

/// Number of times that a file may come broken, or not be readable for the server, before it is given up.
const BROKEN_MAX: u32 = 2;

/// Brings files, with the credential of a job.
pub struct Files {
    /// Holds the job's token.
    pub client: Client,
    /// Knows whether the lease is held, and asks again while it is.
    pub reporter: Reporter,
    /// Where an attempt works.
    pub folder: PathBuf,
    /// Folder from which `file:` policies may be loaded.
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
        let job = self.reporter.ask(|| self.client.job(job))?;
        if job.state != JobState::Succeeded {
            return Err(TrainerError::BadSpec(format!("{} has not succeeded: it is {}", job.id, job.state.as_str())));
        }
        let named = job.result.as_ref().and_then(|result| result.get("policy")?.as_str()?.parse().ok());
        named.ok_or_else(|| TrainerError::BadSpec(format!("{} left no policy", job.id)))
    }

    fn registered(&self, id: PolicyId) -> Result<Located, TrainerError> {
        let policy = self.reporter.ask(|| self.client.policy(id))?;
        let folder = self.folder.join(id.to_string());
        std::fs::create_dir_all(&folder).map_err(TrainerError::io(folder.display().to_string()))?;
        for file in &policy.files {
            // A server that is not trusted must not choose where files are written.
            let plain = Path::new(&file.name).file_name().filter(|plain| *plain == file.name.as_str());
            let Some(plain) = plain else {
                return Err(TrainerError::BadCheckpoint(format!("{} is no name of a file", file.name)));
            };
            let path = folder.join(plain);
            self.known(&path, file, &async |into| {
                self.client.download_policy_file(id, &file.name, into).await.map(|downloaded| downloaded.digest)
            })?;
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
            self.known(&path, artifact, &async |into| {
                self.client.download_artifact(job, &artifact.name, into).await.map(|downloaded| downloaded.digest)
            })?;
        }
        Ok(())
    }

    /// Complete checkpoints of a job, oldest first.
    ///
    /// # Errors
    /// When they cannot be asked for.
    pub fn checkpoints(&self, job: JobId) -> Result<Vec<Checkpoint>, TrainerError> {
        self.reporter.ask(|| self.client.checkpoints(job))
    }

    /// The bytes of an artefact.
    ///
    /// # Errors
    /// When it cannot be brought whole.
    pub fn artifact(&self, job: JobId, name: &str) -> Result<Vec<u8>, TrainerError> {
        self.bytes(&async |into| {
            self.client.download_artifact(job, name, into).await.map(|downloaded| downloaded.digest)
        })
    }

    /// The bytes of a file that was uploaded.
    ///
    /// # Errors
    /// When it cannot be brought whole.
    pub fn uploaded(&self, file: FileId) -> Result<Vec<u8>, TrainerError> {
        self.bytes(&async |into| self.client.download_file(file, into).await.map(|downloaded| downloaded.digest))
    }

    fn bytes(&self, bring: &impl AsyncFn(&mut File) -> Result<String, ClientError>) -> Result<Vec<u8>, TrainerError> {
        let path = self.folder.join("download");
        self.write(&path, bring)?;
        let read = std::fs::read(&path).and_then(|bytes| std::fs::remove_file(&path).map(|()| bytes));
        read.map_err(TrainerError::io(path.display().to_string()))
    }

    /// Brings a file whose digest is known.
    fn known(
        &self,
        path: &Path,
        expected: &Artifact,
        bring: &impl AsyncFn(&mut File) -> Result<String, ClientError>,
    ) -> Result<(), TrainerError> {
        let digest = match self.write(path, bring) {
            // All of it came: what the server has is not what it was given.
            Err(TrainerError::Client(ClientError::Unreachable(_))) if length(path) == expected.size_bytes => None,
            written => Some(written?),
        };
        if digest.as_ref() == Some(&expected.digest) {
            return Ok(());
        }
        let name = &expected.name;
        Err(TrainerError::BadCheckpoint(format!("{name} arrived with another digest than it was kept with")))
    }

    /// Writes what `bring` brings; answers its digest. While the server is away it is asked again; what comes broken is asked for once
    /// more.
    fn write(
        &self,
        path: &Path,
        bring: &impl AsyncFn(&mut File) -> Result<String, ClientError>,
    ) -> Result<String, TrainerError> {
        let (broken, began) = (Cell::new(0), OnceCell::new());
        let again = |error: &ClientError| {
            // A server that was away for longer would have ended the lease.
            let recent = began.get_or_init(Instant::now).elapsed() < self.reporter.lease().duration();
            if recent && is_away(error, length(path)) {
                return true;
            }
            broken.set(broken.get() + 1);
            error.may_pass() && broken.get() < BROKEN_MAX
        };
        let written = self.reporter.ask_while(
            || async {
                let fail = |source| TrainerError::Io { what: path.display().to_string(), source };
                let mut file = match File::create(path).await {
                    Ok(file) => file,
                    Err(error) => return Ok(Err(fail(error))),
                };
                let brought = bring(&mut file).await;
                // Also what broke off, whose length counts.
                let flushed = file.flush().await.map_err(fail);
                brought.map(|digest| flushed.map(|()| digest))
            },
            again,
        );
        written?
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

/// Bytes of a file; 0 where there is none.
fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

/// True if a download failed because the server is away, and not because of what it sends.
fn is_away(error: &ClientError, arrived_bytes: u64) -> bool {
    let unreadable = matches!(error, ClientError::Problem(problem) if problem.status == 500);
    error.may_pass() && !unreadable && arrived_bytes == 0
}

#[cfg(test)]
mod tests {
    use palestra_protocol::problem::{Code, Problem};

    use super::*;

    #[test]
    fn a_server_is_away_where_nothing_came_from_it() {
        let gone = ClientError::Unreachable("connection refused".to_owned());
        assert!(is_away(&gone, 0));
        assert!(!is_away(&gone, 1), "it sent something");
        let refusal = |code| ClientError::from(Problem::new(code, ".."));
        assert!(is_away(&refusal(Code::Draining), 0));
        assert!(is_away(&refusal(Code::TooManyRequests), 0));
        assert!(!is_away(&refusal(Code::Internal), 0), "it is there and cannot read the file");
        assert!(!is_away(&refusal(Code::NotFound), 0));
        assert!(!is_away(&ClientError::File("no room".to_owned()), 0));
    }
}

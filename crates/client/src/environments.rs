//! Environments and their tasks.

use std::collections::BTreeMap;

use palestra_protocol::action::Action;
use palestra_protocol::environment::{
    Definition, Environment, EnvironmentSummary, ProveTask, ProvenTask, Published, Task,
};
use palestra_protocol::list::{List, Page};
use reqwest::Method;
use serde::Serialize;

use crate::error::ClientError;
use crate::transport::{Client, content_type, read, succeed};

/// A query for tasks of a split.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TaskQuery {
    /// The split; `train` where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// A fixed permutation of the split, so that disjoint offsets sample without replacement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shuffle: Option<u64>,
    /// Number of tasks to skip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Most tasks in the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// A query for actions of a built-in policy.
#[derive(Debug, Clone, Serialize)]
pub struct ActionQuery {
    /// `builtin:oracle`, `builtin:random` or `builtin:null`.
    pub policy: String,
    /// The task's id.
    pub task: String,
    /// Randomness of the random policy.
    pub seed: u64,
    /// Number of actions to skip.
    pub offset: u64,
    /// Most actions in the answer.
    pub limit: u64,
}

/// Settings for reading a published file; those left out stand in the file itself.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Submission {
    /// `dataset/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the verifier, or its options as a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verifier: Option<String>,
    /// System text of every task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The instructions of the acting side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Work of sandboxes: tasks that are refused are left out, rather than refusing all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keep_going: bool,
    /// Work of sandboxes: tasks without a solution can be trained on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trust_unproven: bool,
    /// Work of sandboxes: most that doing nothing scores in tasks that declare nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// Everything is read, checked and proven, and nothing is published.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// `family/name` or `family/name@version`, in the two parts of its address.
fn parts(name: &str) -> Result<(&str, &str), ClientError> {
    name.split_once('/')
        .filter(|(family, rest)| !family.is_empty() && !rest.is_empty())
        .ok_or_else(|| ClientError::Unsendable(format!("{name:?} is no environment name: write family/name")))
}

impl Client {
    /// Every environment that this credential sees.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn environments(&self) -> Result<Vec<EnvironmentSummary>, ClientError> {
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let page: Page<EnvironmentSummary> = self.get(&["environments"], &[("cursor", &cursor)]).await?;
            all.extend(page.data);
            match page.next_cursor {
                Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
                _ => return Ok(all),
            }
        }
    }

    /// The environment `family/name`, optionally `@version`.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn environment(&self, name: &str) -> Result<Environment, ClientError> {
        let (family, rest) = parts(name)?;
        self.get(&["environments", family, rest], &()).await
    }

    /// Withdraws the newest version of `family/name`, or that of `@version`.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn withdraw(&self, name: &str) -> Result<(), ClientError> {
        let (family, rest) = parts(name)?;
        succeed(self.request(Method::DELETE, &["environments", family, rest]).send().await?).await.map(drop)
    }

    /// Tasks of `family/name`, optionally `@version`.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn tasks(&self, name: &str, query: &TaskQuery) -> Result<Page<Task>, ClientError> {
        let (family, rest) = parts(name)?;
        self.get(&["environments", family, rest, "tasks"], query).await
    }

    /// The actions of a built-in policy in a task of `family/name`, optionally `@version`; fewer than were asked for where it gives up.
    /// This needs the scope that publishes, or a lease whose job plays so.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn actions(&self, name: &str, query: &ActionQuery) -> Result<Vec<Action>, ClientError> {
        let (family, rest) = parts(name)?;
        let list: List<Action> = self.get(&["environments", family, rest, "actions"], query).await?;
        Ok(list.data)
    }

    /// Proves a task by doing it, which may take minutes. This needs the scope that publishes, or the lease of a check.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or lacks what the task is done with.
    pub async fn prove_task(&self, name: &str, task: &ProveTask) -> Result<ProvenTask, ClientError> {
        let (family, rest) = parts(name)?;
        self.post(&["environments", family, rest, "proof"], task, None).await
    }

    /// The files of an app, by name. They hold the solutions of its tasks, so this needs the scope that publishes, or the lease of a
    /// check.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn definition(&self, name: &str) -> Result<Definition, ClientError> {
        let (family, rest) = parts(name)?;
        self.get(&["environments", family, rest, "definition"], &()).await
    }

    /// Publishes JSON Lines as an environment.
    ///
    /// # Errors
    /// [`ClientError::Problem`] with every broken line, or when the server cannot be reached.
    pub async fn publish(&self, submission: &Submission, lines: Vec<u8>) -> Result<Published, ClientError> {
        let request = self.request(Method::POST, &["environments"]).query(submission).body(lines);
        read(content_type(request, "application/jsonl").send().await?).await
    }

    /// Publishes work that is done in sandboxes: `body` is JSON Lines (`application/jsonl`), one YAML file (`application/yaml`) or a
    /// tar archive (`application/x-tar`), and `submission` says its name, description and nothing else.
    ///
    /// # Errors
    /// [`ClientError::Problem`] with every task that was refused, or when the server cannot be reached.
    pub async fn publish_work(
        &self,
        submission: &Submission,
        media_type: &'static str,
        body: Vec<u8>,
    ) -> Result<Published, ClientError> {
        let request = self.request(Method::POST, &["environments"]).query(submission).body(body);
        read(content_type(request, media_type).send().await?).await
    }

    /// Publishes an app from the text of its files, by name. The same content again is the version that exists. A `dry_run` publishes
    /// nothing.
    ///
    /// # Errors
    /// When the server finds faults, or cannot be reached.
    pub async fn publish_app(&self, files: &BTreeMap<String, String>, dry_run: bool) -> Result<Published, ClientError> {
        let definition = serde_json::json!({"kind": "app", "files": files});
        let query = Submission { dry_run, ..Submission::default() };
        read(self.request(Method::POST, &["environments"]).query(&query).json(&definition).send().await?).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_family_and_maybe_a_version() {
        assert_eq!(parts("puzzle/countdown").unwrap(), ("puzzle", "countdown"));
        assert_eq!(parts("puzzle/countdown@3").unwrap(), ("puzzle", "countdown@3"));
        for wrong in ["countdown", "/countdown", "puzzle/", ""] {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
    }
}

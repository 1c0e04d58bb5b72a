//! Files of JSON Lines that a job leaves: written as episodes end, and read again as a baseline.

use std::path::Path;

use palestra_protocol::id::EpisodeId;
use serde::{Deserialize, Serialize};
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, BufWriter};

use super::failure::WorkError;
use crate::stats::outcome::{Outcome, Scored};

/// Bytes of a line that is read.
const LINE_BYTES_MAX: usize = 64 << 10;

/// A file that is being written.
pub(super) struct Lines {
    name: String,
    file: BufWriter<File>,
}

impl Lines {
    /// An empty file at `path`, which will be called `name`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) async fn create(path: &Path, name: &str) -> std::io::Result<Self> {
        Ok(Self { name: name.to_owned(), file: BufWriter::new(File::create(path).await?) })
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) async fn add(&mut self, line: &impl Serialize) -> Result<(), WorkError> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.file.write_all(&text).await?;
        Ok(())
    }

    /// Completes the file and answers its name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) async fn finish(mut self) -> std::io::Result<String> {
        self.file.flush().await?;
        Ok(self.name)
    }
}

/// An episode of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct EpisodeLine {
    /// `family/name@version`.
    pub(super) environment: String,
    /// The task's id.
    pub(super) task: String,
    /// Number of the episode among those of its task, from 0.
    pub(super) sample: u32,
    /// Randomness of the session.
    pub(super) seed: u64,
    /// The episode; null where none began.
    pub(super) episode: Option<EpisodeId>,
    /// `scored`, or why it is no sample.
    pub(super) status: String,
    /// Null unless scored.
    pub(super) score: Option<f64>,
    /// Null unless scored.
    pub(super) strict: Option<u8>,
    /// True where the task counts as solved.
    pub(super) passed: bool,
    /// Turns that were taken.
    pub(super) steps: u64,
    /// Tokens that the policy read.
    pub(super) prompt_tokens: u64,
    /// Tokens that the policy wrote.
    pub(super) completion_tokens: u64,
    /// Answers that ended because their tokens were used up.
    #[serde(default)]
    pub(super) cut_answers: u64,
}

impl EpisodeLine {
    /// As statistics take it.
    pub(super) fn outcome(&self) -> Outcome {
        let result = match self.score {
            Some(score) => Ok(Scored { score, strict: self.strict == Some(1), passed: self.passed }),
            None => Err(self.status.as_str().into()),
        };
        let (environment, task) = (self.environment.as_str().into(), self.task.as_str().into());
        Outcome { environment, task, seed: self.seed, result }
    }
}

/// The episodes of an evaluation, as its file has them.
///
/// # Errors
/// When a line is none, with its number.
pub(super) async fn read_outcomes(path: &Path) -> Result<Vec<Outcome>, WorkError> {
    let mut reader = BufReader::new(File::open(path).await?).lines();
    let mut outcomes = Vec::new();
    while let Some(line) = reader.next_line().await? {
        let number = outcomes.len() + 1;
        if line.len() > LINE_BYTES_MAX {
            return Err(WorkError::bad_data(format!(
                "line {number} of the baseline must be at most {LINE_BYTES_MAX} bytes"
            )));
        }
        let line: EpisodeLine = serde_json::from_str(&line).map_err(|error| {
            WorkError::bad_data(format!("line {number} of the baseline cannot be read, name another baseline: {error}"))
        })?;
        outcomes.push(line.outcome());
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(score: Option<f64>) -> EpisodeLine {
        EpisodeLine {
            environment: "puzzle/a@1".to_owned(),
            task: "test-1".to_owned(),
            sample: 0,
            seed: 3,
            episode: None,
            status: if score.is_some() { "scored" } else { "timeout" }.to_owned(),
            score,
            strict: score.map(|score| u8::from(score >= 1.0)),
            passed: score == Some(1.0),
            steps: 2,
            prompt_tokens: 0,
            completion_tokens: 0,
            cut_answers: 0,
        }
    }

    #[tokio::test]
    async fn what_was_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("episodes.jsonl");
        let mut lines = Lines::create(&path, "episodes.jsonl").await.unwrap();
        for score in [Some(1.0), Some(0.25), None] {
            lines.add(&line(score)).await.unwrap();
        }
        assert_eq!(lines.finish().await.unwrap(), "episodes.jsonl");
        let expected: Vec<Outcome> = [Some(1.0), Some(0.25), None].map(|score| line(score).outcome()).into();
        assert_eq!(read_outcomes(&path).await.unwrap(), expected);
        assert_eq!(expected[2].result, Err("timeout".into()));
    }

    #[tokio::test]
    async fn a_broken_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("episodes.jsonl");
        let good = serde_json::to_string(&line(None)).unwrap();
        std::fs::write(&path, format!("{good}\n{{\"task\": 1}}\n")).unwrap();
        assert!(read_outcomes(&path).await.unwrap_err().to_string().contains("line 2"));
    }
}

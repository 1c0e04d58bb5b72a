//! Forks of a session with a megabyte of state, and the hash of that state after a small edit.

use std::path::Path;
use std::time::Instant;

use anyhow::ensure;
use palestra_protocol::id::SessionId;
use serde_json::{Value, json};

use super::{KILOBYTE, Series, Sizes, Values, documents, microseconds};
use crate::http::{Connection, head};
use crate::subject::{Palestra, SESSIONS_PER_REQUEST};
use crate::targets::Once;

pub(super) const ROWS: [Once; 4] = [Once::ForkCpu, Once::ForkMemory, Once::ForkRequest, Once::Hash];

/// Bytes of state.
const STATE_BYTES: usize = 1_000_000;

pub(super) async fn measure(program: &Path, sizes: Sizes) -> anyhow::Result<Values> {
    let palestra = Palestra::start(program, None).await?;
    let mut parent = Editing::open(&palestra).await?;
    // An edited document, so that the forks copy what is this session's own.
    parent.edit(false).await?;
    let path = format!("/v1/sessions/{}/fork", parent.session);
    let request = json!({"count": SESSIONS_PER_REQUEST});
    // The first forks make the allocator grow and the store's caches fill.
    palestra.post(&path, &request).await?;
    let (mut cpu, mut wall) = (Series::default(), Series::default());
    let resident = palestra.server().resident_bytes()?;
    for _ in 0..sizes.forks {
        let before = palestra.server().cpu()?;
        let began = Instant::now();
        let forked = palestra.post(&path, &request).await?;
        wall.push(began.elapsed().as_secs_f64() * 1e3);
        ensure!(forked["data"].as_array().map(Vec::len) == Some(SESSIONS_PER_REQUEST), "forks are missing");
        cpu.push(microseconds(palestra.server().cpu()?.saturating_sub(before)) / SESSIONS_PER_REQUEST as f64);
    }
    // Over all of them: from one request to the next the allocator keeps and gives back what the answers needed.
    let grown = palestra.server().resident_bytes()?.saturating_sub(resident);
    let memory = [grown as f64 / (SESSIONS_PER_REQUEST * sizes.forks) as f64 / KILOBYTE].into_iter().collect();
    let hash = hash(&palestra, sizes).await?;
    Ok(vec![(Once::ForkCpu, cpu), (Once::ForkMemory, memory), (Once::ForkRequest, wall), (Once::Hash, hash)])
}

/// Additional cost of a step with a hash, in turns.
async fn hash(palestra: &Palestra, sizes: Sizes) -> anyhow::Result<Series> {
    let mut editing = Editing::open(palestra).await?;
    editing.edit(true).await?;
    let mut series = Series::default();
    for _ in 0..sizes.rounds {
        let mut sums = [0.0; 2];
        // In turns, so that what else the server and the machine do meets both alike.
        for _ in 0..sizes.edits {
            for (with_hash, sum) in [false, true].into_iter().zip(&mut sums) {
                let before = palestra.server().cpu()?;
                editing.edit(with_hash).await?;
                *sum += microseconds(palestra.server().cpu()?.saturating_sub(before));
            }
        }
        series.push((sums[1] - sums[0]) / sizes.edits as f64);
    }
    Ok(series)
}

/// A session whose document is edited.
struct Editing {
    connection: Connection,
    session: SessionId,
    head: String,
    seq: u64,
}

impl Editing {
    async fn open(palestra: &Palestra) -> anyhow::Result<Self> {
        let sessions = palestra.open(&documents(STATE_BYTES), 1).await?;
        let session = *sessions.first().ok_or_else(|| anyhow::anyhow!("no session"))?;
        let head = head("POST", &format!("/v1/sessions/{session}/step"), Some(palestra.key()));
        Ok(Self { connection: Connection::open(palestra.address()).await?, session, head, seq: 0 })
    }

    /// One small edit, each time in another section.
    async fn edit(&mut self, with_hash: bool) -> anyhow::Result<()> {
        self.seq += 1;
        let path = format!("/sections/{}/records/5/count", self.seq % 32);
        let body = json!({
            "seq": self.seq,
            "action": {"tool": "set", "arguments": {"path": path, "value": self.seq}},
            "observe": {"state_hash": with_hash},
        });
        let answer = self.connection.call(&self.head, &body.to_string()).await?;
        let answer: Value = serde_json::from_slice(answer.ok()?)?;
        ensure!(
            answer["info"]["state_hash"].is_string() == with_hash,
            "a hash where none is wanted, or none: {answer}"
        );
        ensure!(answer["observation"]["data"]["value"] == self.seq, "the edit did not happen: {answer}");
        Ok(())
    }
}

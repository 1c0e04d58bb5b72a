//! One commit: records of many sessions, sorted into one statement per kind.
//!
//! Kinds are written in an order in which each finds the rows that it refers to: sessions, episodes, steps, ends, states, verdicts,
//! closings. Records that change a row keep their order among each other; where several change the same row in one
//! commit, the one is kept that would have won had they been run one by one.

use std::collections::HashMap;
use std::hash::Hash;

use palestra_protocol::id::{EpisodeId, SessionId};

use super::cell::{Kind, flag, id, json, number, real, text, time, word};
use super::row::{EpisodeRow, Record, VerdictRow};
use super::statement::{Bulk, BulkRow};
use super::{Groups, StoreError, answer, blob, episode, model_call, session, snapshot, step, verdict};

const INSERT_SESSIONS: Bulk = session::SESSIONS.insert("", "session");
const INSERT_EPISODES: Bulk = episode::EPISODES.insert("", "episode");
const INSERT_INTENTS: Bulk = step::INTENTS.insert("", "intent");
const INSERT_STEPS: Bulk = step::STEPS.insert("", "step");
const INSERT_BLOBS: Bulk = blob::BLOBS.insert("ON CONFLICT DO NOTHING", "blob");
const INSERT_OPENINGS: Bulk = blob::OPENINGS.insert("ON CONFLICT DO NOTHING", "opening");
const INSERT_STATES: Bulk = verdict::STATES.insert("ON CONFLICT DO NOTHING", "state");
const INSERT_VERDICTS: Bulk = verdict::VERDICTS.insert("ON CONFLICT DO NOTHING", "verdict");
const INSERT_SNAPSHOTS: Bulk = snapshot::SNAPSHOTS.insert("", "snapshot");
const INSERT_MODEL_CALLS: Bulk = model_call::MODEL_CALLS.insert("", "model call");

/// Makes an episode the current one of its session.
const UPDATE_CURRENT_EPISODES: Bulk = Bulk::change(
    "UPDATE sessions SET episode = r.episode, task = r.task, seed = r.seed, episodes = r.episodes FROM ",
    &[
        ("session", Kind::Text),
        ("episode", Kind::Text),
        ("task", Kind::Text),
        ("seed", Kind::Integer),
        ("episodes", Kind::Integer),
    ],
    " WHERE sessions.id = r.session",
);

const DELETE_INTENTS: Bulk = Bulk::change(
    "DELETE FROM intents WHERE (episode, seq) IN (SELECT r.episode, r.seq FROM ",
    &[("episode", Kind::Text), ("seq", Kind::Integer)],
    ")",
);

const END_EPISODES: Bulk = Bulk::change(
    "UPDATE episodes SET state = 'ended', seq = r.seq, terminated = r.terminated, truncated = r.truncated, \
         stop_reason = r.stop_reason, ended_at = r.ended_at FROM ",
    &[
        ("episode", Kind::Text),
        ("seq", Kind::Integer),
        ("terminated", Kind::Boolean),
        ("truncated", Kind::Boolean),
        ("stop_reason", Kind::Text),
        ("ended_at", Kind::Integer),
    ],
    " WHERE episodes.id = r.episode",
);

const JUDGE_EPISODES: Bulk = Bulk::change(
    "UPDATE episodes SET status = r.status, score = r.score, verdict = r.verdict FROM ",
    &[("episode", Kind::Text), ("status", Kind::Text), ("score", Kind::Real), ("verdict", Kind::Text)],
    " WHERE episodes.id = r.episode AND episodes.verdict IS NULL",
);

const CLOSE_SESSIONS: Bulk = Bulk::change(
    "UPDATE sessions SET state = 'closed', closed_reason = r.reason, closed_at = r.closed_at FROM ",
    &[("session", Kind::Text), ("reason", Kind::Text), ("closed_at", Kind::Integer)],
    " WHERE sessions.id = r.session AND sessions.state = 'open'",
);

/// Updates of stored rows in order, at most one for each row.
struct Updates<'a, K> {
    positions: HashMap<K, usize>,
    rows: Vec<BulkRow<'a>>,
}

impl<K> Default for Updates<'_, K> {
    fn default() -> Self {
        Self { positions: HashMap::new(), rows: Vec::new() }
    }
}

impl<'a, K: Eq + Hash> Updates<'a, K> {
    fn keep_last(&mut self, key: K, row: BulkRow<'a>) {
        match self.positions.get(&key) {
            Some(position) => self.rows[*position] = row,
            None => self.keep_first(key, row),
        }
    }

    fn keep_first(&mut self, key: K, row: BulkRow<'a>) {
        if !self.positions.contains_key(&key) {
            self.positions.insert(key, self.rows.len());
            self.rows.push(row);
        }
    }
}

/// Everything that one commit writes. It is complete before the transaction begins, so that a value that cannot be stored is found
/// while no lock is held.
#[derive(Default)]
pub(super) struct Batch<'a> {
    sessions: Vec<BulkRow<'a>>,
    episodes: Vec<BulkRow<'a>>,
    current_episodes: Updates<'a, SessionId>,
    intents: Vec<BulkRow<'a>>,
    steps: Vec<BulkRow<'a>>,
    blobs: Vec<BulkRow<'a>>,
    openings: Vec<BulkRow<'a>>,
    settled: Vec<BulkRow<'a>>,
    ends: Updates<'a, EpisodeId>,
    states: Vec<BulkRow<'a>>,
    verdicts: Vec<BulkRow<'a>>,
    judged: Updates<'a, EpisodeId>,
    snapshots: Vec<BulkRow<'a>>,
    closed: Updates<'a, SessionId>,
    answers: Vec<BulkRow<'a>>,
    model_calls: Vec<BulkRow<'a>>,
}

impl<'a> Batch<'a> {
    /// Sorts records by kind.
    ///
    /// # Errors
    /// [`StoreError::Broken`] when a value does not fit its column.
    pub(super) fn sort(groups: &'a Groups) -> Result<Self, StoreError> {
        let mut batch = Self::default();
        for record in groups.iter().flatten() {
            batch.add(record)?;
        }
        Ok(batch)
    }

    fn add(&mut self, record: &'a Record) -> Result<(), StoreError> {
        match record {
            Record::Session(row) => self.sessions.push(session::encode(row)?),
            Record::Episode(row) => self.add_episode(row)?,
            Record::Intent { episode, seq, action, at } => {
                self.intents.push(step::encode_intent(*episode, *seq, action, *at)?);
            }
            Record::Step(row) => self.steps.push(step::encode(row)?),
            Record::Blob(row) => self.blobs.push(blob::encode(row)),
            Record::Opening { episode, observation } => {
                self.openings.push(blob::encode_opening(*episode, observation)?);
            }
            Record::IntentSettled { episode, seq } => self.settled.push(vec![id(episode), number(*seq)?]),
            Record::EpisodeEnd { episode, seq, terminated, truncated, reason, at } => {
                let row = vec![
                    id(episode),
                    number(*seq)?,
                    flag(*terminated),
                    flag(*truncated),
                    word(reason.as_str()),
                    time(*at),
                ];
                self.ends.keep_last(*episode, row);
            }
            Record::Verdict(row) => self.add_verdict(row)?,
            Record::State { digest, state } => self.states.push(verdict::encode_state(digest, state)?),
            Record::Snapshot(row) => self.snapshots.push(snapshot::encode(row)?),
            Record::SessionClosed { session, reason, at } => {
                self.closed.keep_first(*session, vec![id(session), word(reason.as_str()), time(*at)]);
            }
            Record::Answer(row) => self.answers.push(answer::encode(row)),
            Record::ModelCall(row) => self.model_calls.push(model_call::encode(row)?),
        }
        Ok(())
    }

    fn add_episode(&mut self, row: &'a EpisodeRow) -> Result<(), StoreError> {
        self.episodes.push(episode::encode(row)?);
        // A session is stored with its first episode.
        if row.ordinal == 1 {
            return Ok(());
        }
        let current = vec![id(row.session), id(row.id), text(&row.task), number(row.seed)?, number(row.ordinal)?];
        self.current_episodes.keep_last(row.session, current);
        Ok(())
    }

    fn add_verdict(&mut self, row: &'a VerdictRow) -> Result<(), StoreError> {
        self.verdicts.push(verdict::encode(row)?);
        let found = &row.verdict;
        let judged = vec![id(found.episode), word(found.status.as_str()), real(found.score), json(found)?];
        self.judged.keep_first(found.episode, judged);
        Ok(())
    }

    /// Every statement that has rows, with them, in an order in which each finds the rows that it refers to.
    pub(super) fn statements(&self) -> impl Iterator<Item = (&Bulk, &[BulkRow<'a>])> {
        let all: [(&Bulk, &[BulkRow<'a>]); 16] = [
            (&INSERT_SESSIONS, &self.sessions),
            (&INSERT_EPISODES, &self.episodes),
            (&UPDATE_CURRENT_EPISODES, &self.current_episodes.rows),
            (&INSERT_INTENTS, &self.intents),
            (&INSERT_STEPS, &self.steps),
            (&INSERT_BLOBS, &self.blobs),
            (&INSERT_OPENINGS, &self.openings),
            (&DELETE_INTENTS, &self.settled),
            (&END_EPISODES, &self.ends.rows),
            (&INSERT_STATES, &self.states),
            (&INSERT_VERDICTS, &self.verdicts),
            (&JUDGE_EPISODES, &self.judged.rows),
            (&INSERT_SNAPSHOTS, &self.snapshots),
            (&CLOSE_SESSIONS, &self.closed.rows),
            (&answer::INSERT_ANSWERS, &self.answers),
            (&INSERT_MODEL_CALLS, &self.model_calls),
        ];
        all.into_iter().filter(|(_, rows)| !rows.is_empty())
    }
}

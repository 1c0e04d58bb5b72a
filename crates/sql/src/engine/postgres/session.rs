//! A session: one outer transaction that does not end, with a savepoint after every step that changed something.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use super::aliases::Aliases;
use super::clock::{self, NOW_SETTING};
use super::non_transactional::{NonTransactionalState, SEQUENCES, SORTS};
use super::rules::Act;
use super::server::lost;
use super::slot::Slot;
use super::transaction::{Savepoint, Savepoints, Transaction};
use super::values::Types;
use super::watch::{Watch, watched};
use super::wire::{Answer, BatchStatement, Bounds, Reply, ServerError, WireError};
use crate::engine::{Access, CutReason, EngineError, Opening, SqlError, StatementResult};
use crate::script::Statement;
use crate::script::quoted;

pub(super) const SAVE: &str = "SAVEPOINT palestra_statement";
pub(super) const RELEASE: &str = "RELEASE SAVEPOINT palestra_statement";
const UNDO: &str = "ROLLBACK TO SAVEPOINT palestra_statement";
/// Savepoints after which the outer transaction is committed as soon as it may be: each costs the server memory and time.
const POINTS_MAX: usize = 1_000;
/// Number of times that a session may fill its room and be rolled back: the server gives the space back only when the database is
/// removed.
const OVERFLOWS_MAX: u64 = 4;

/// Bytes of a look at the schema, by each of its parts.
const LOOK_BYTES_MAX: usize = 4 << 20;

/// A database of a session.
pub(super) struct Session {
    pub(super) slot: Slot,
    pub(super) opening: Opening,
    pub(super) transaction: Transaction,
    pub(super) standing: Savepoints,
    pub(super) marks: Vec<Mark>,
    pub(super) types: Types,
    pub(super) aliases: Aliases,
    /// Statements to send before the next one.
    pub(super) pending: Vec<String>,
    /// State beyond savepoints.
    pub(super) non_transactional: NonTransactionalState,
    /// The schema may have changed since that was looked up.
    pub(super) stale: bool,
    /// Bytes that the database may have now.
    pub(super) size_max: u64,
    overflows: u64,
    /// Statements that defined something since the outer transaction began.
    pub(super) defined: usize,
    /// A call is under way. If its caller stopped waiting, nobody knows where it stands.
    pub(super) busy: bool,
}

/// Where a step left the session.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub(super) seq: u64,
    pub(super) point: Savepoint,
    pub(super) transaction: Transaction,
    /// With where the sequences were.
    pub(super) non_transactional: Arc<NonTransactionalState>,
}

impl Session {
    /// Begins in a fresh database.
    pub(super) async fn begin(slot: Slot, opening: Opening) -> Result<Self, EngineError> {
        let mut session = Self {
            size_max: slot.size.saturating_add(opening.limits.growth_max),
            // Whoever only reads changes none of it, and has no right to put it back.
            non_transactional: if opening.access > Access::Read {
                slot.non_transactional.clone()
            } else {
                NonTransactionalState::default()
            },
            stale: false,
            aliases: Aliases::new(&slot.server(), &slot.name),
            slot,
            opening,
            transaction: Transaction::default(),
            standing: Savepoints::default(),
            marks: Vec::new(),
            types: Types::default(),
            pending: Vec::new(),
            overflows: 0,
            defined: 0,
            busy: false,
        };
        let limits = opening.limits;
        let work = (limits.memory_max >> 12).clamp(64, 1 << 20);
        session.pending = vec![
            format!("SET statement_timeout = {}", limits.statement_ms.clamp(1, i32::MAX as u64)),
            format!("SET work_mem = {work}"),
            format!("SET maintenance_work_mem = {}", (work * 2).max(1024)),
            format!("SET {NOW_SETTING} = '{}'", clock::moment(0)),
            "BEGIN".to_owned(),
        ];
        let point = session.point();
        session.run_simple(&[]).await?;
        let (transaction, non_transactional) = (Transaction::default(), session.non_transactional.clone());
        session.marks.push(Mark { seq: 0, point, transaction, non_transactional: Arc::new(non_transactional) });
        Ok(session)
    }

    /// Says what is pending and then these statements, in one round trip. The answer is about these alone.
    pub(super) async fn run_batch(
        &mut self,
        batch: &[BatchStatement<'_>],
        watch: Watch,
    ) -> Result<(Answer, Option<CutReason>), EngineError> {
        let pending = std::mem::take(&mut self.pending);
        let mut all: Vec<BatchStatement<'_>> = pending.iter().map(|sql| BatchStatement::plain(sql)).collect();
        all.extend(batch.iter().cloned());
        let (mut answer, cut) = watched(&mut self.slot, &all, watch, &self.opening.limits, self.size_max).await?;
        if answer.replies.len() < pending.len() {
            let error = answer.error.map_or_else(String::new, |error| error.to_string());
            return Err(EngineError::Lost(format!("PostgreSQL refuses what it never refuses: {error}")));
        }
        answer.replies.drain(..pending.len());
        Ok((answer, cut))
    }

    /// As [`Session::run_batch`], for statements of our own that never fail.
    pub(super) async fn run_simple(&mut self, statements: &[&str]) -> Result<Answer, EngineError> {
        let batch: Vec<BatchStatement<'_>> = statements.iter().map(|sql| BatchStatement::plain(sql)).collect();
        let (answer, _) = self.run_batch(&batch, Watch::Time).await?;
        match answer.error {
            Some(error) => Err(lost(WireError::Server(error))),
            None => Ok(answer),
        }
    }

    /// As [`Session::run_simple`], for what may take more than the session may: the acting side decides how much there is to see.
    pub(super) async fn look(&mut self, statements: &[&str]) -> Result<Vec<Reply>, EngineError> {
        let bounds = Bounds { bytes_max: LOOK_BYTES_MAX, ..Bounds::default() };
        let batch = statements.iter().map(|sql| BatchStatement { bounds, ..BatchStatement::plain(sql) });
        let batch: Vec<BatchStatement<'_>> = std::iter::once(BatchStatement::plain(SAVE)).chain(batch).collect();
        let (answer, cut) = self.run_batch(&batch, Watch::Time).await?;
        self.undo();
        if let Some(error) = answer.error {
            // What is asked never fails but for what the acting side has defined, such as a view that is too deep to be written down.
            let words = self.words(&error, cut);
            return Err(EngineError::Cut(Box::new(SqlError { cut: words.cut.or(Some(CutReason::Size)), ..words })));
        }
        if answer.replies.iter().any(|reply| reply.truncated) {
            let message = format!("the schema is larger than the {LOOK_BYTES_MAX} bytes that are looked at");
            let error = SqlError { code: "54000".to_owned(), ..refusal(message, 0, None) };
            return Err(EngineError::Cut(Box::new(error)));
        }
        Ok(answer.replies.into_iter().skip(1).collect())
    }

    /// Goes back to before the last [`SAVE`].
    pub(super) fn undo(&mut self) {
        self.pending.extend([UNDO.to_owned(), RELEASE.to_owned()]);
    }

    /// An error in the server's words, or in ours where a limit ended it.
    pub(super) fn words(&self, error: &ServerError, cut: Option<CutReason>) -> SqlError {
        let cut = cut.or_else(|| cut_of(&error.code, self.opening.access));
        let put = |text: &String| self.aliases.put(text.clone());
        let message = match (cut, &*error.code) {
            (Some(CutReason::Time), "57014") => {
                format!("the statement was ended after its {} ms", self.opening.limits.statement_ms)
            }
            _ => put(&error.message),
        };
        let (detail, hint) = (error.detail.as_ref().map(put), error.hint.as_ref().map(put));
        SqlError { code: error.code.clone(), message, detail, hint, cut, ..SqlError::default() }
    }

    /// Sets a savepoint that stands until somebody goes back behind it.
    pub(super) fn point(&mut self) -> Savepoint {
        let point = self.standing.next();
        self.pending.push(format!("SAVEPOINT p{point}"));
        self.standing.set(point);
        point
    }

    /// Goes back to a savepoint that stands.
    pub(super) fn go_back(&mut self, point: Savepoint) {
        self.pending.push(format!("ROLLBACK TO SAVEPOINT p{point}"));
        self.standing.went_back(point);
    }

    /// Looks up what the schema has that savepoints do not cover.
    pub(super) async fn refresh(&mut self) -> Result<(), EngineError> {
        if !std::mem::take(&mut self.stale) {
            return Ok(());
        }
        self.types.forget();
        let before = self.non_transactional.clone();
        let answer = self.run_simple(&[SORTS]).await?;
        self.non_transactional.read(answer.replies.into_iter().next().map(|reply| reply.rows).unwrap_or_default());
        // Checks have set all of them to immediate, those to come as well. A block may have set those that it knew itself.
        let in_block = self.transaction.block.is_some();
        self.pending.extend(if in_block {
            self.non_transactional.defer_new(&before)
        } else {
            self.non_transactional.defer()
        });
        Ok(())
    }

    /// Sets the mark after a step that may have changed something.
    pub(super) async fn mark(&mut self, seq: u64) -> Result<(), EngineError> {
        self.refresh().await?;
        if self.standing.count() > POINTS_MAX && self.transaction.block.is_none() {
            self.commit();
        }
        let point = self.point();
        let sequences: &[&str] = if self.non_transactional.counts { &[SEQUENCES] } else { &[] };
        let answer = self.run_simple(sequences).await?;
        self.non_transactional.learn(answer.replies.into_iter().next().map(|reply| reply.rows).unwrap_or_default());
        let (transaction, non_transactional) = (self.transaction.clone(), Arc::new(self.non_transactional.clone()));
        self.marks.push(Mark { seq, point, transaction, non_transactional });
        Ok(())
    }

    /// Commits the outer transaction and begins another: no mark from before can be returned to.
    pub(super) fn commit(&mut self) {
        self.pending.extend(["COMMIT".to_owned(), "BEGIN".to_owned()]);
        self.standing.clear();
        self.defined = 0;
    }

    /// In [-1, 1), from the session's seed and the step.
    pub(super) fn seed(&self, seq: u64) -> f64 {
        let mut hash = Sha256::new();
        hash.update(self.opening.seed.to_le_bytes());
        hash.update(seq.to_le_bytes());
        let mut rng = ChaCha8Rng::from_seed(hash.finalize().into());
        f64::from(rng.next_u32() >> 1) / f64::from(1_u32 << 30) - 1.0
    }

    /// After a statement that filled the database: what it wrote is rolled back, and the files keep the space. The session may go on
    /// from the larger size, but not without end.
    pub(super) fn overflow(&mut self, size: u64) {
        self.overflows += 1;
        if self.overflows <= OVERFLOWS_MAX {
            self.size_max = self.size_max.max(size.saturating_add(self.opening.limits.growth_max / 4));
        }
    }
}

/// A statement that is to be run.
pub(super) struct PendingStatement<'a> {
    pub(super) statement: &'a Statement<'a>,
    pub(super) act: Act,
    /// Sets the virtual now.
    pub(super) now: &'a str,
    pub(super) now_ms: i64,
    /// Strings that others stand in for, by their tokens.
    pub(super) literals: &'a BTreeMap<usize, String>,
    pub(super) parameters: &'a [Option<String>],
    pub(super) bytes_left: usize,
}

/// Result of a statement and the bytes of its values, or its error.
pub(super) type StatementOutcome = Result<(StatementResult, usize), SqlError>;

/// The error of what may not be done here.
pub(super) fn refusal(message: String, statement: usize, position: Option<usize>) -> SqlError {
    SqlError {
        code: "42501".to_owned(),
        message,
        statement,
        position,
        cut: Some(CutReason::Refused),
        ..SqlError::default()
    }
}

/// PostgreSQL's error for a savepoint that is not there.
pub(super) fn savepoint_missing(name: &str) -> SqlError {
    let message = format!("savepoint {} does not exist", quoted(name));
    SqlError { code: "3B001".to_owned(), message, ..SqlError::default() }
}

/// Limit behind an error of the server.
fn cut_of(code: &str, access: Access) -> Option<CutReason> {
    match code {
        "57014" => Some(CutReason::Time),
        "53200" | "53400" => Some(CutReason::Memory),
        "53100" => Some(CutReason::Growth),
        "42501" => Some(CutReason::Refused),
        "25006" if access == Access::Read => Some(CutReason::Refused),
        _ => None,
    }
}

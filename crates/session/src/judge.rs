//! Judging: reaches verdicts of episodes. Whatever keeps a judge from a score is a status, never a zero.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use palestra_protocol::environment::{Recovery, ScoreRange};
use palestra_protocol::id::{EpisodeId, SessionId};
use palestra_protocol::session::Verify;
use palestra_protocol::step::StopReason;
use palestra_protocol::time::Timestamp;
use palestra_protocol::verdict::{Rescaled, Status, Usage, Verdict, VerifierName};
use tokio::sync::watch;

use super::cell::{Live, Slot};
use super::error::fault;
use super::recorder::{Ledger, Permit, Ticket};
use super::{Answer, LiveTurn, SessionError, Sessions, turn};
use palestra_catalog::Entry;
use palestra_environment::remains::Remains;
use palestra_environment::state::State;
use palestra_environment::task::Task;
use palestra_environment::verifier::{AnyVerifier, Case, Judgement, LiveVerifier, Turn, Unjudged, bound};
use palestra_environment::{Place, Secrets};
use palestra_store::Durability;
use palestra_store::Tenant;
use palestra_store::row::{Record, VerdictRow};

/// Milliseconds that `verify` waits for a verdict where the caller does not say.
const VERDICT_WAIT_MS_DEFAULT: u64 = 60_000;
/// Longest wait of `verify` in milliseconds.
pub(super) const VERDICT_WAIT_MS_MAX: u64 = 600_000;

/// Longest judging in places of the judge's own, which bound themselves by their tasks: an hour for each of two runs of a judge that
/// fails and of the control after each, so that no acting side makes its own judging run out of time.
const LIVE_JUDGING_MAX: Duration = Duration::from_secs(4 * 3_600 + 600);

/// Everything that a judge needs, captured at one step.
pub(super) struct Docket {
    pub entry: Arc<Entry>,
    pub task: Arc<Task>,
    pub episode: EpisodeId,
    /// The episode's seed.
    pub seed: u64,
    /// The episode's secrets.
    pub secrets: Secrets,
    pub seq: u64,
    pub usage: Usage,
    pub evidence: Result<Evidence, (Status, String)>,
}

/// The input of a judge.
pub(super) struct Evidence {
    pub state: State,
    pub trajectory: Vec<Turn>,
}

/// A verdict and what to record of it.
pub(super) struct Reached {
    pub verdict: Verdict,
    pub records: Vec<Record>,
}

impl Sessions {
    pub(super) async fn verify(&self, tenant: &Tenant, id: SessionId, verify: Verify) -> Result<Answer, SessionError> {
        if verify.wait_ms.is_some_and(|wait_ms| wait_ms > VERDICT_WAIT_MS_MAX) {
            return Err(fault("wait_ms", &format!("a wait must be at most {VERDICT_WAIT_MS_MAX} ms")));
        }
        let turn = match self.turn(tenant, id).await {
            Err(closed) if closed.is_closed() => {
                let row = self.0.store.session(tenant, id).await?.ok_or(SessionError::NotFound("session"))?;
                let episode = self.0.store.episode(tenant, row.episode).await?;
                let stored = episode.and_then(|episode| episode.verdict);
                return stored.map(Answer::Verdict).ok_or(closed);
            }
            turn => turn?,
        };
        let permit = self.0.recorder.reserve().await?;
        let sessions = self.clone();
        let probe = verify.probe.unwrap_or(false);
        let work =
            async move { if probe { sessions.probe_in(turn).await } else { sessions.verify_in(turn, permit).await } };
        match self.to_end(work).await? {
            Judging::Done(verdict, ticket) => {
                if let Some(ticket) = ticket {
                    ticket.committed().await?;
                }
                Ok(Answer::Verdict(verdict))
            }
            Judging::Running(episode, mut verdict, ended) => {
                ended.committed().await?;
                let wait = Duration::from_millis(verify.wait_ms.unwrap_or(VERDICT_WAIT_MS_DEFAULT));
                match tokio::time::timeout(wait, verdict.wait_for(Option::is_some)).await {
                    Err(_) => Ok(Answer::Pending { episode }),
                    Ok(Ok(verdict)) => verdict
                        .clone()
                        .map(|verdict| Answer::Verdict(Box::new(verdict)))
                        .ok_or_else(|| SessionError::Internal("a verdict vanished".to_owned())),
                    Ok(Err(_)) => Err(SessionError::NotRecorded),
                }
            }
        }
    }

    async fn probe_in(&self, mut turn: LiveTurn) -> Result<Judging, SessionError> {
        let live = turn.live()?;
        let replayed = live.entry.spec().capabilities.recovery == Recovery::Replay;
        if matches!(live.place, Some(Place::Live(_))) && !replayed {
            let detail = "this environment cannot be probed, since taking its state changes it: verify instead";
            return Err(SessionError::NotSupported(detail.to_owned()));
        }
        let docket = self.docket(live, None).await;
        drop(turn);
        let verdict = self.judge(docket).await;
        Ok(Judging::Done(Box::new(verdict), None))
    }

    async fn verify_in(&self, mut turn: LiveTurn, permit: Permit) -> Result<Judging, SessionError> {
        let live = turn.live()?;
        if let Some(verdict) = &live.verdict {
            return Ok(Judging::Done(verdict.clone(), Some(live.ledger.latest())));
        }
        if let Some(judging) = live.judging() {
            return Ok(Judging::Running(live.episode.id, judging.clone(), live.ledger.latest()));
        }
        let now = self.0.clock.now();
        let mut records = Vec::new();
        if live.running() {
            live.end(false, true, StopReason::Verified, now);
            records.push(end_record(live, now));
        }
        if !live.entry.kind.heavy() && matches!(live.entry.kind.verifier(), AnyVerifier::Pure(_)) {
            let reached = self.judge_now(live, None, None).await;
            records.extend(reached.records);
            let verdict = Box::new(reached.verdict);
            live.verdict = Some(verdict.clone());
            let ticket = self.0.recorder.submit(&live.ledger, permit, Durability::Disk, records);
            return Ok(Judging::Done(verdict, Some(ticket)));
        }
        if !records.is_empty() {
            self.0.recorder.submit(&live.ledger, permit, Durability::Disk, records);
        }
        let docket = self.docket(live, None).await;
        let (sender, receiver) = watch::channel(None);
        live.judging = Some(receiver.clone());
        let episode = live.episode.id;
        let ended = live.ledger.latest();
        let beside = Beside { tenant: live.row.tenant.clone(), session: live.row.id, ended: ended.clone() };
        let sessions = self.clone();
        self.0.tracker.spawn(async move { sessions.judge_beside(docket, beside, sender).await });
        Ok(Judging::Running(episode, receiver, ended))
    }

    /// Judges beside later commands, and records the verdict.
    async fn judge_beside(&self, docket: Docket, beside: Beside, sender: watch::Sender<Option<Verdict>>) {
        let version = docket.entry.kind.verifier().version().to_owned();
        let _alone = self.lock_judging(docket.episode, &version).await;
        let mut records = docket.state_record();
        let verdict = match self.judged_before(docket.episode, &version).await {
            Ok(Some(verdict)) => verdict,
            Ok(None) | Err(_) => self.judge(docket).await,
        };
        records.push(verdict_record(&beside.tenant, beside.session, &verdict, self.0.clock.now()));
        let id = beside.session;
        match self.hand_over(beside, &verdict, records).await {
            // Those who wait see a verdict only once it cannot be lost.
            Ok(()) => sender.send_modify(|slot| *slot = Some(verdict)),
            Err(error) => tracing::warn!(session = %id, %error, "a verdict could not be recorded"),
        }
    }

    /// The verdict that this verifier version reached on the episode.
    pub(super) async fn judged_before(
        &self,
        episode: EpisodeId,
        version: &str,
    ) -> Result<Option<Verdict>, SessionError> {
        let stored = self.0.store.verdicts(episode).await?.into_iter().map(|row| row.verdict);
        Ok(stored.into_iter().find(|verdict| verdict.verifier.version == version))
    }

    /// Records a verdict and hands it to its session. That may be in another episode by now, out of memory or closed: the
    /// verdict is the episode's, and is kept all the same.
    async fn hand_over(&self, beside: Beside, verdict: &Verdict, records: Vec<Record>) -> Result<(), SessionError> {
        // An end that was not recorded did not happen, so there is nothing that this verdict could be about.
        beside.ended.committed().await?;
        let permit = self.0.recorder.reserve().await?;
        let cell = self.0.table.get(&beside.session).map(|cell| Arc::clone(&cell));
        let mut turn = match &cell {
            Some(cell) => Some(cell.own_turn().await),
            None => None,
        };
        let ticket = match turn.as_deref_mut() {
            Some(Slot::Live(live)) if !live.ledger.failed() => {
                if live.episode.id == verdict.episode {
                    live.verdict = Some(Box::new(verdict.clone()));
                    live.judging = None;
                }
                self.0.recorder.submit(&live.ledger, permit, Durability::Disk, records)
            }
            _ => self.0.recorder.submit(&Ledger::new(beside.session), permit, Durability::Disk, records),
        };
        drop(turn);
        ticket.committed().await
    }

    /// Judges within the session's turn. `closing` is the turn that is being taken, which is not recorded yet.
    pub(super) async fn judge_now(
        &self,
        live: &mut Live,
        forced: Option<(Status, String)>,
        closing: Option<Turn>,
    ) -> Reached {
        let mut docket = self.docket(live, forced).await;
        if let (Ok(evidence), Some(closing)) = (&mut docket.evidence, closing) {
            evidence.trajectory.push(closing);
        }
        let mut records = docket.state_record();
        let verdict = self.judge(docket).await;
        records.push(verdict_record(&live.row.tenant, live.row.id, &verdict, self.0.clock.now()));
        Reached { verdict, records }
    }

    /// Captures what a judge needs. `forced` is a status that no judge can change.
    async fn docket(&self, live: &mut Live, forced: Option<(Status, String)>) -> Docket {
        let failed = live.episode.stop_reason == Some(StopReason::InfraError);
        let forced = forced.or_else(|| failed.then(|| (Status::InfraError, "the environment failed".to_owned())));
        let evidence = match forced {
            Some(forced) => Err(forced),
            None => self.evidence(live).await,
        };
        if let Ok(Evidence { state, .. }) = &evidence
            && !live.running()
            && live.recorded()
            && matches!(live.place, Some(Place::Live(_)))
        {
            // All that can still be asked of the episode is in its evidence.
            let remains = Place::Pure(Box::new(Remains(state.clone())));
            if let Some(place) = live.place.replace(remains) {
                self.0.tracker.spawn(turn::close(place));
            }
        }
        Docket::new(live, evidence)
    }

    async fn evidence(&self, live: &mut Live) -> Result<Evidence, (Status, String)> {
        let Some(place) = &mut live.place else {
            return Err((Status::InfraError, "the environment was lost".to_owned()));
        };
        let state = turn::state(place).await.map_err(|error| (Status::InfraError, error.detail))?;
        let trajectory = if live.entry.kind.verifier().needs_trajectory() {
            self.turns_of(live).await.map_err(|error| (Status::InfraError, error.to_string()))?
        } else {
            Vec::new()
        };
        Ok(Evidence { state, trajectory })
    }

    /// Judges, on the blocking pool where the environment is heavy.
    pub(super) async fn judge(&self, docket: Docket) -> Verdict {
        let entry = Arc::clone(&docket.entry);
        if let AnyVerifier::Live(verifier) = entry.kind.verifier() {
            return docket.judge_live(verifier).await;
        }
        if !docket.entry.kind.heavy() {
            return docket.judge();
        }
        let skeleton = docket.skeleton();
        let without = |status, detail| Verdict { status, detail: Some(bound::detail(detail)), ..skeleton.clone() };
        let limit = Duration::from_millis(self.0.settings.judge_ms_max);
        // Waiting for a permit is the server's fault, not the judge's, and is not counted as its time.
        let permit = match tokio::time::timeout(limit, self.blocking_permit()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(detail)) => return without(Status::InfraError, detail),
            Err(_) => {
                let detail = format!("no judge was free within {} ms", limit.as_millis());
                return without(Status::InfraError, detail);
            }
        };
        match tokio::time::timeout(limit, permit.run(move || docket.judge())).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(detail)) => without(Status::VerifierError, detail),
            Err(_) => without(Status::Timeout, format!("judging took longer than {} ms", limit.as_millis())),
        }
    }
}

/// The owner of an episode that is judged beside later commands.
struct Beside {
    tenant: Tenant,
    session: SessionId,
    /// Everything up to the end of the episode.
    ended: Ticket,
}

/// The way in which `verify` comes to its verdict.
enum Judging {
    Done(Box<Verdict>, Option<Ticket>),
    /// With the record of the episode's end, before which nobody is told of it.
    Running(EpisodeId, watch::Receiver<Option<Verdict>>, Ticket),
}

impl Docket {
    pub(super) fn new(live: &Live, evidence: Result<Evidence, (Status, String)>) -> Self {
        Self {
            entry: Arc::clone(&live.entry),
            task: Arc::clone(&live.task),
            episode: live.episode.id,
            seed: live.episode.seed,
            secrets: live.episode.secrets,
            seq: live.seq,
            usage: Usage { steps: live.seq, calls: live.calls, env_ms: live.env_us / 1_000, ..Usage::default() },
            evidence,
        }
    }

    /// A verdict without a score.
    fn skeleton(&self) -> Verdict {
        let verifier = self.entry.kind.verifier();
        Verdict {
            episode: self.episode,
            status: Status::VerifierError,
            score: None,
            rescaled: None,
            strict: None,
            passed: false,
            trainable: false,
            checks: Vec::new(),
            judge: verifier.judge(),
            verifier: VerifierName { name: verifier.name().to_owned(), version: verifier.version().to_owned() },
            state: self.evidence.as_ref().ok().map(|evidence| evidence.state.digest().to_string()),
            seq: self.seq,
            usage: self.usage,
            detail: None,
        }
    }

    /// The record that keeps the judged state, where the actions cannot be run again to get it.
    fn state_record(&self) -> Vec<Record> {
        match &self.evidence {
            Ok(Evidence { state, .. }) if self.entry.spec().capabilities.recovery != Recovery::Replay => {
                vec![Record::State { digest: state.digest().to_string(), state: state.to_value() }]
            }
            _ => Vec::new(),
        }
    }

    /// Judges; a panic or a fault of the verifier is a status.
    pub(super) fn judge(self) -> Verdict {
        let (skeleton, range) = (self.skeleton(), self.task.public.score_range);
        let evidence = match self.evidence {
            Ok(evidence) => evidence,
            Err((status, detail)) => return Verdict { status, detail: Some(bound::detail(detail)), ..skeleton },
        };
        let case = Case { task: &self.task, state: &evidence.state, trajectory: &evidence.trajectory };
        let verifier = self.entry.kind.verifier();
        let began = Instant::now();
        let judged = turn::guard("verifier", || verifier.pure()?.verify(&case));
        let judge_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let usage = Usage { judge_ms, ..skeleton.usage };
        let judged = judged.map_err(|error| error.detail).and_then(|judged| judged.map_err(|error| error.0));
        match judged {
            Err(detail) => Verdict { detail: Some(bound::detail(detail)), usage, ..skeleton },
            Ok(judgement) => scored(judgement, range, Verdict { usage, ..skeleton }),
        }
    }

    /// Judges in places of the judge's own.
    async fn judge_live(self, verifier: &dyn LiveVerifier) -> Verdict {
        let (skeleton, range) = (self.skeleton(), self.task.public.score_range);
        let evidence = match self.evidence {
            Ok(evidence) => evidence,
            Err((status, detail)) => return Verdict { status, detail: Some(bound::detail(detail)), ..skeleton },
        };
        let began = Instant::now();
        let judging =
            AssertUnwindSafe(verifier.judge(&self.task, self.seed, self.secrets, &evidence.state)).catch_unwind();
        let judged = tokio::time::timeout(LIVE_JUDGING_MAX, judging).await;
        let judge_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let skeleton = Verdict { usage: Usage { judge_ms, ..skeleton.usage }, ..skeleton };
        let without = |status, detail| Verdict { status, detail: Some(bound::detail(detail)), ..skeleton.clone() };
        match judged {
            Err(_) => without(Status::Timeout, format!("judging took longer than {} s", LIVE_JUDGING_MAX.as_secs())),
            Ok(Err(panic)) => {
                let words = panic_message::panic_message(&panic);
                without(Status::VerifierError, format!("the verifier panicked, report it: {words}"))
            }
            Ok(Ok(Err(Unjudged { status, detail }))) => without(status, detail),
            Ok(Ok(Ok((judgement, judge)))) => scored(judgement, range, Verdict { judge, ..skeleton }),
        }
    }
}

/// The verdict of a judgement; one whose score is none is a fault of the verifier.
fn scored(judgement: Judgement, range: Option<ScoreRange>, skeleton: Verdict) -> Verdict {
    match judgement.score() {
        Err(error) => Verdict { detail: Some(error.0), ..skeleton },
        Ok(score) => {
            let passed = judgement.checks.iter().all(|check| check.passed);
            Verdict {
                status: Status::Scored,
                score: Some(score),
                rescaled: range.map(|range| Rescaled {
                    score: range.rescaled(score),
                    floor: range.floor,
                    ceiling: range.ceiling,
                }),
                strict: Some(u8::from(passed)),
                passed,
                trainable: judgement.trainable,
                checks: bound::checks(judgement.checks),
                ..skeleton
            }
        }
    }
}

/// The record of an episode's end, as the episode says.
pub(super) fn end_record(live: &Live, at: Timestamp) -> Record {
    Record::EpisodeEnd {
        episode: live.episode.id,
        seq: live.seq,
        terminated: live.episode.terminated,
        truncated: live.episode.truncated,
        reason: live.episode.stop_reason.unwrap_or(StopReason::Left),
        at,
    }
}

pub(super) fn verdict_record(tenant: &str, session: SessionId, verdict: &Verdict, at: Timestamp) -> Record {
    Record::Verdict(Box::new(VerdictRow { tenant: tenant.to_owned(), session, verdict: verdict.clone(), at }))
}

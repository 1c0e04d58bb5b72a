//! The queue against a simple specification, under random interleavings of what tenants, two misbehaving workers, the sweep, a
//! clock that jumps and restarts do.

use std::collections::HashMap;

use palestra_protocol::id::JobId;
use palestra_protocol::job::JobEventKind;
use palestra_protocol::worker::{Heartbeat, Report, ReportedEvent};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use proptest::{collection, prop_assert, prop_assert_eq};

use super::*;

const LEASE_MS: i64 = 60_000;
const GRACE_MS: i64 = 30_000;
const BACKOFF_MS: i64 = 5_000;
const BACKOFF_MS_MAX: i64 = 600_000;
const TENANTS: [&str; 3] = ["a", "b", "c"];
/// Runs of the whole, and operations of one.
const CASES: u32 = 24;
const OPERATIONS: usize = 60;

#[derive(Debug, Clone)]
enum Operation {
    Create {
        tenant: usize,
        priority: i32,
        attempts_max: u32,
        after: Option<usize>,
    },
    Lease {
        worker: usize,
    },
    /// Of any lease that was ever given.
    Heartbeat {
        lease: usize,
    },
    /// The same, with a number or with none, also one that was sent before.
    Report {
        lease: usize,
        number: Option<u64>,
    },
    Finish {
        lease: usize,
        how: How,
    },
    Cancel {
        job: usize,
    },
    Retry {
        job: usize,
    },
    Sweep,
    Jump {
        milliseconds: i64,
    },
    Restart,
}

/// A message of a worker while it works.
#[derive(Debug, Clone, Copy)]
enum Written {
    Heartbeat,
    /// With its number, where it has one.
    Report(Option<u64>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Succeeded,
    Failed,
    FailedForGood,
    Cancelled,
    Released,
}

impl How {
    fn outcome(self) -> Outcome {
        match self {
            Self::Succeeded => succeeded(),
            Self::Failed => failed(true),
            Self::FailedForGood => failed(false),
            Self::Cancelled => Outcome::Cancelled,
            Self::Released => Outcome::Released,
        }
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    let how = prop_oneof![
        3 => Just(How::Succeeded), 3 => Just(How::Failed), 1 => Just(How::FailedForGood), 1 => Just(How::Cancelled),
        2 => Just(How::Released),
    ];
    prop_oneof![
        4 => (0..3_usize, -1..=1, 1..=3_u32, proptest::option::weighted(0.3, any::<usize>()))
            .prop_map(|(tenant, priority, attempts_max, after)| Operation::Create { tenant, priority, attempts_max, after }),
        6 => (0..2_usize).prop_map(|worker| Operation::Lease { worker }),
        2 => any::<usize>().prop_map(|lease| Operation::Heartbeat { lease }),
        4 => (any::<usize>(), proptest::option::weighted(0.8, 1..=4_u64))
            .prop_map(|(lease, number)| Operation::Report { lease, number }),
        5 => (any::<usize>(), how).prop_map(|(lease, how)| Operation::Finish { lease, how }),
        1 => any::<usize>().prop_map(|job| Operation::Cancel { job }),
        2 => any::<usize>().prop_map(|job| Operation::Retry { job }),
        3 => Just(Operation::Sweep),
        3 => prop_oneof![
            Just(-3_600_000_i64), Just(-45_000), Just(-1), Just(1_000), Just(5_000), Just(30_000), Just(60_000), Just(900_000)
        ].prop_map(|milliseconds| Operation::Jump { milliseconds }),
        1 => Just(Operation::Restart),
    ]
}

/// A job as the specification has it.
#[derive(Debug, Clone)]
struct Specified {
    id: JobId,
    tenant: &'static str,
    state: JobState,
    priority: i32,
    created_at: i64,
    attempts: u32,
    attempts_max: u32,
    fence: u64,
    not_before: Option<i64>,
    ends_at: i64,
    asked_at: Option<i64>,
    ended_by: Option<How>,
    needs: Option<usize>,
    /// The largest number of a report under the last lease.
    reports: u64,
    /// Lines that were written under all leases.
    lines: usize,
}

/// The whole queue as the specification has it: everything in one list, every rule written out.
struct Specification {
    now: i64,
    jobs: Vec<Specified>,
    /// In which order tenants were served last.
    served: HashMap<&'static str, u64>,
    turns: u64,
    /// Every lease that was ever given: job and fence.
    leases: Vec<(usize, u64)>,
}

impl Specification {
    fn begins(&self, job: &Specified) -> bool {
        let ready = job.needs.is_none_or(|needed| self.jobs[needed].state == JobState::Succeeded);
        job.state == JobState::Queued && ready && job.not_before.is_none_or(|next| next <= self.now)
    }

    fn next(&self) -> Option<usize> {
        let running =
            |tenant| self.jobs.iter().filter(|job| job.tenant == tenant && job.state == JobState::Running).count();
        let mut able: Vec<usize> = (0..self.jobs.len()).filter(|index| self.begins(&self.jobs[*index])).collect();
        able.sort_by_key(|index| {
            let job = &self.jobs[*index];
            let served = self.served.get(job.tenant).copied().unwrap_or_default();
            (running(job.tenant), served, job.tenant, -job.priority, job.created_at, job.id)
        });
        able.first().copied()
    }

    fn lease(&mut self) -> Option<usize> {
        let index = self.next()?;
        self.turns += 1;
        self.served.insert(self.jobs[index].tenant, self.turns);
        let now = self.now;
        let job = &mut self.jobs[index];
        job.state = JobState::Running;
        job.attempts += 1;
        job.fence += 1;
        job.ends_at = now + LEASE_MS;
        (job.not_before, job.asked_at, job.ended_by, job.reports) = (None, None, None, 0);
        self.leases.push((index, job.fence));
        Some(index)
    }

    fn is_held(&self, (job, fence): (usize, u64)) -> bool {
        self.jobs[job].state == JobState::Running && self.jobs[job].fence == fence
    }

    fn renew(&mut self, job: usize) {
        self.jobs[job].ends_at = self.now + LEASE_MS;
    }

    /// A report of one line that comes in time.
    fn report(&mut self, job: usize, number: Option<u64>) {
        let job = &mut self.jobs[job];
        if number.is_none_or(|number| number > job.reports) {
            job.lines += 1;
            job.reports = number.unwrap_or(job.reports);
        }
    }

    /// Fails everything that waits for a job which did not succeed.
    fn over(&mut self, index: usize, state: JobState) {
        self.jobs[index].state = state;
        if state == JobState::Succeeded {
            return;
        }
        for dependent in 0..self.jobs.len() {
            if self.jobs[dependent].needs == Some(index) && self.jobs[dependent].state == JobState::Queued {
                self.jobs[dependent].not_before = None;
                self.over(dependent, JobState::Failed);
            }
        }
    }

    fn fail(&mut self, index: usize, retry: bool) {
        let now = self.now;
        let job = &mut self.jobs[index];
        if job.asked_at.is_some() {
            self.over(index, JobState::Cancelled);
        } else if !retry || job.attempts >= job.attempts_max {
            self.over(index, JobState::Failed);
        } else {
            job.state = JobState::Queued;
            job.not_before = Some(now + (BACKOFF_MS << (job.attempts - 1)).min(BACKOFF_MS_MAX));
        }
    }

    /// Ends a lease; true when the queue accepts that.
    fn finish(&mut self, lease: (usize, u64), how: How) -> bool {
        let (index, fence) = lease;
        let job = &mut self.jobs[index];
        if job.state != JobState::Running && job.fence == fence && job.ended_by == Some(how) {
            return true;
        }
        if !self.is_held(lease) || (how == How::Cancelled && self.jobs[index].asked_at.is_none()) {
            return false;
        }
        self.jobs[index].ended_by = Some(how);
        match how {
            How::Succeeded => self.over(index, JobState::Succeeded),
            How::Failed => self.fail(index, true),
            How::FailedForGood => self.fail(index, false),
            How::Cancelled => self.over(index, JobState::Cancelled),
            How::Released if self.jobs[index].asked_at.is_some() => self.over(index, JobState::Cancelled),
            How::Released => {
                self.jobs[index].state = JobState::Queued;
                self.jobs[index].attempts -= 1;
            }
        }
        true
    }

    fn cancel(&mut self, index: usize) {
        match self.jobs[index].state {
            JobState::Queued => {
                self.jobs[index].not_before = None;
                self.over(index, JobState::Cancelled);
            }
            JobState::Running => self.jobs[index].asked_at = self.jobs[index].asked_at.or(Some(self.now)),
            _ => {}
        }
    }

    /// Retries a job; true when it is queued again.
    fn retry(&mut self, index: usize) -> bool {
        let stopped = |state| matches!(state, JobState::Failed | JobState::Cancelled);
        let needed_stopped = self.jobs[index].needs.is_some_and(|needed| stopped(self.jobs[needed].state));
        let job = &mut self.jobs[index];
        if !stopped(job.state) || needed_stopped {
            return false;
        }
        job.state = JobState::Queued;
        job.attempts = 0;
        (job.not_before, job.asked_at, job.ended_by) = (None, None, None);
        true
    }

    fn sweep(&mut self) {
        for index in 0..self.jobs.len() {
            let now = self.now;
            let job = &mut self.jobs[index];
            if job.state == JobState::Queued {
                job.not_before = job.not_before.map(|next| next.min(now + BACKOFF_MS_MAX));
            } else if job.state == JobState::Running {
                job.asked_at = job.asked_at.map(|asked| asked.min(now));
                job.ends_at = job.ends_at.min(now + LEASE_MS);
                if job.asked_at.is_some_and(|asked| asked <= now - GRACE_MS) {
                    self.over(index, JobState::Cancelled);
                } else if job.ends_at <= now {
                    self.fail(index, true);
                }
            }
        }
    }
}

/// The queue and the specification side by side.
struct Pair {
    fixture: Fixture,
    specification: Specification,
}

type Checked = Result<(), TestCaseError>;

fn pick<T>(all: &[T], number: usize) -> Option<usize> {
    (!all.is_empty()).then(|| number % all.len())
}

impl Pair {
    async fn new() -> Self {
        let fixture = Fixture::sqlite(settings()).await;
        let now = fixture.clock.now().milliseconds();
        let (jobs, served, leases) = (Vec::new(), HashMap::new(), Vec::new());
        Self { fixture, specification: Specification { now, jobs, served, turns: 0, leases } }
    }

    async fn perform(&mut self, operation: &Operation) -> Checked {
        match *operation {
            Operation::Create { tenant, priority, attempts_max, after } => {
                self.create(TENANTS[tenant], priority, attempts_max, after).await?;
            }
            Operation::Lease { worker: number } => {
                let leased = self.fixture.jobs.lease(&EVERYBODY, worker(&format!("w{number}"))).await.unwrap();
                let expected = self.specification.lease();
                prop_assert_eq!(
                    leased.map(|lease| (lease.job.id, lease.fence)),
                    expected.map(|index| (self.specification.jobs[index].id, self.specification.jobs[index].fence))
                );
            }
            Operation::Heartbeat { lease } => self.write(lease, Written::Heartbeat).await?,
            Operation::Report { lease, number } => self.write(lease, Written::Report(number)).await?,
            Operation::Finish { lease, how } => {
                let Some(place) = pick(&self.specification.leases, lease) else { return Ok(()) };
                let (index, fence) = self.specification.leases[place];
                let id = self.specification.jobs[index].id;
                let done = self.fixture.jobs.finish(&EVERYBODY, id, Finish { fence, outcome: how.outcome() }).await;
                let expected = self.specification.finish((index, fence), how);
                prop_assert_eq!(done.is_ok(), expected, "{:?}", done);
            }
            Operation::Cancel { job } => {
                let Some(index) = pick(&self.specification.jobs, job) else { return Ok(()) };
                let (owner, id) = (self.specification.jobs[index].tenant, self.specification.jobs[index].id);
                self.fixture.jobs.cancel(&tenant(owner), id).await.unwrap();
                self.specification.cancel(index);
            }
            Operation::Retry { job } => {
                let Some(index) = pick(&self.specification.jobs, job) else { return Ok(()) };
                let (owner, id) = (self.specification.jobs[index].tenant, self.specification.jobs[index].id);
                let done = self.fixture.jobs.retry(&tenant(owner), id).await;
                prop_assert_eq!(done.is_ok(), self.specification.retry(index), "{:?}", done);
            }
            Operation::Sweep => {
                self.fixture.jobs.sweep().await.unwrap();
                self.specification.sweep();
            }
            Operation::Jump { milliseconds } => {
                self.fixture.clock.advance_ms(milliseconds);
                self.specification.now += milliseconds;
            }
            Operation::Restart => self.fixture.restart().await,
        }
        self.compare().await
    }

    async fn create(&mut self, owner: &'static str, priority: i32, attempts_max: u32, after: Option<usize>) -> Checked {
        let own: Vec<usize> = (0..self.specification.jobs.len())
            .filter(|index| self.specification.jobs[*index].tenant == owner)
            .collect();
        let needs = after.and_then(|number| pick(&own, number)).map(|place| own[place]);
        let named = needs.map(|index| self.specification.jobs[index].id);
        let request =
            CreateJob { priority, attempts_max: Some(attempts_max), after: named.into_iter().collect(), ..check() };
        let created = self.fixture.jobs.create(&tenant(owner), request, None).await;
        let stopped = |state| matches!(state, JobState::Failed | JobState::Cancelled);
        if needs.is_some_and(|index| stopped(self.specification.jobs[index].state)) {
            prop_assert!(matches!(created, Err(JobsError::Invalid(_))), "{:?}", created);
            return Ok(());
        }
        self.specification.jobs.push(Specified {
            id: created.unwrap().id,
            tenant: owner,
            state: JobState::Queued,
            priority,
            created_at: self.specification.now,
            attempts: 0,
            attempts_max,
            fence: 0,
            not_before: None,
            ends_at: 0,
            asked_at: None,
            ended_by: None,
            needs,
            reports: 0,
            lines: 0,
        });
        Ok(())
    }

    /// Sends a message under any lease that was ever given.
    async fn write(&mut self, lease: usize, written: Written) -> Checked {
        let Some(place) = pick(&self.specification.leases, lease) else { return Ok(()) };
        let (index, fence) = self.specification.leases[place];
        let id = self.specification.jobs[index].id;
        let held = match written {
            Written::Heartbeat => {
                self.fixture.jobs.heartbeat(&EVERYBODY, id, Heartbeat { fence, progress: None }).await
            }
            Written::Report(number) => {
                let event = ReportedEvent { kind: JobEventKind::Log, data: json!({"level": "info", "message": "m"}) };
                self.fixture.jobs.report(&EVERYBODY, id, Report { fence, number, events: vec![event] }).await
            }
        };
        let expected = self.specification.is_held((index, fence));
        prop_assert_eq!(held.is_ok(), expected, "{:?}", held);
        if expected {
            self.specification.renew(index);
            if let Written::Report(number) = written {
                self.specification.report(index, number);
            }
            let asked = self.specification.jobs[index].asked_at.is_some();
            prop_assert_eq!(held.map(|held| held.cancel).ok(), Some(asked));
        }
        Ok(())
    }

    /// No job is lost, and each stands as the specification says.
    async fn compare(&self) -> Checked {
        for job in &self.specification.jobs {
            let row = self.fixture.store.job(job.id).await.unwrap().expect("no job is lost");
            let ends_at = row.lease_expires_at.map(|end| end.milliseconds());
            prop_assert_eq!((row.state, row.attempts, row.fence), (job.state, job.attempts, job.fence));
            prop_assert_eq!(row.reports, job.reports);
            prop_assert_eq!(ends_at, (job.state == JobState::Running).then_some(job.ends_at));
            if job.state == JobState::Queued {
                prop_assert_eq!(row.not_before.map(|next| next.milliseconds()), job.not_before);
            }
            let asked = row.cancel_requested_at.map(|asked| asked.milliseconds());
            prop_assert_eq!(asked, job.asked_at);
            let valid = self.specification.leases.iter().filter(|lease| {
                let (index, fence) = **lease;
                self.specification.jobs[index].id == job.id && row.is_held(fence)
            });
            prop_assert!(valid.count() <= 1, "two leases of one job are valid");
        }
        Ok(())
    }

    /// Events have no holes, every line that was taken is among them once, and the last state that they tell of is the one in which
    /// the job is.
    async fn check_events(&self) -> Checked {
        for job in &self.specification.jobs {
            let events = self.fixture.events(job.tenant, job.id).await;
            let numbers: Vec<u64> = events.iter().map(|event| event.number).collect();
            prop_assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
            prop_assert_eq!(events.iter().filter(|event| event.kind == JobEventKind::Log).count(), job.lines);
            let last = events.iter().rev().find(|event| event.kind == JobEventKind::State).expect("a state");
            prop_assert_eq!(&last.data["state"], job.state.as_str());
        }
        Ok(())
    }
}

#[test]
fn the_queue_does_what_the_specification_says() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: CASES, max_shrink_iters: 200, ..Config::default() });
    let operations = collection::vec(operation(), 1..OPERATIONS);
    let tried = runner.run(&operations, |operations| {
        runtime.block_on(async {
            let mut pair = Pair::new().await;
            for operation in &operations {
                pair.perform(operation).await?;
            }
            pair.check_events().await?;
            pair.fixture.end().await;
            Ok(())
        })
    });
    if let Err(error) = tried {
        panic!("{error}");
    }
}

//! Rows and their targets, in two tables: rows that are compared round by round, and rows that are measured by
//! themselves.

use crate::figures::{Holds, Series};

/// A row whose server CPU per operation is compared with that of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Case {
    BareHttp,
    BareSocket,
    FastApiHttp,
    FastApiSocket,
    OpenEnvHttp,
    OpenEnvSocket,
    OpenEnvReset,
    HttpNone,
    HttpGroup,
    HttpTool,
    HttpPostgres,
    StreamNone,
    StreamGroup,
    StreamPostgres,
    StreamBatchNone,
    StreamBatchGroup,
    StreamBatchPostgres,
    HttpBatchNone,
    HttpBatchGroup,
    CreateReset,
    Reset,
    MountStep,
}

/// Where a case runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Host {
    Bare,
    FastApi,
    OpenEnv,
    /// Palestra on its embedded store.
    Embedded,
    /// Palestra on PostgreSQL.
    Postgres,
}

/// Target of a compared row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Target {
    /// At most so many times the CPU of the bare server.
    TimesBare(f64),
    /// The other row takes at least so many times the CPU.
    TimesLessThan(Case, f64),
    /// At most so many microseconds of CPU.
    Microseconds(f64),
}

/// A compared row.
pub(crate) struct Row {
    pub(crate) case: Case,
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) host: Host,
    /// The bare server's row that it is divided by.
    pub(crate) bare: Case,
    pub(crate) targets: &'static [Target],
}

const fn row(
    case: Case,
    host: Host,
    bare: Case,
    id: &'static str,
    title: &'static str,
    targets: &'static [Target],
) -> Row {
    Row { case, id, title, host, bare, targets }
}

use Case::{
    BareHttp, BareSocket, CreateReset, FastApiHttp, FastApiSocket, HttpBatchGroup, HttpBatchNone, HttpGroup, HttpNone,
    HttpPostgres, HttpTool, MountStep, OpenEnvHttp, OpenEnvReset, OpenEnvSocket, Reset, StreamBatchGroup,
    StreamBatchNone, StreamBatchPostgres, StreamGroup, StreamNone, StreamPostgres,
};
use Host::{Bare, Embedded, FastApi, OpenEnv, Postgres};
use Target::{Microseconds, TimesBare, TimesLessThan};

/// Every compared row, in the order in which a round measures them. The references come first.
#[rustfmt::skip]
pub(crate) const COMPARED: &[Row] = &[
    row(BareHttp, Bare, BareHttp, "bare-http", "bare axum, `POST /echo`", &[]),
    row(HttpNone, Embedded, BareHttp, "http-none", "HTTP step, `record: none`",
        &[TimesBare(2.5), TimesLessThan(OpenEnvHttp, 15.0)]),
    row(HttpGroup, Embedded, BareHttp, "http-group", "HTTP step, `record: group`, SQLite",
        &[TimesBare(3.5), TimesLessThan(OpenEnvHttp, 10.0)]),
    row(HttpTool, Embedded, BareHttp, "http-tool", "HTTP step that is a checked tool call, `record: none`", &[]),
    row(HttpPostgres, Postgres, BareHttp, "http-postgres", "HTTP step, `record: group`, PostgreSQL", &[]),
    row(HttpBatchNone, Embedded, BareHttp, "http-batch-none", "HTTP batch of 256 steps, `record: none`, each", &[]),
    row(HttpBatchGroup, Embedded, BareHttp, "http-batch-group", "HTTP batch of 256 steps, `record: group`, each", &[]),
    row(CreateReset, Embedded, BareHttp, "create-reset", "create a session, up to the first observation of its first episode",
        &[Microseconds(40.0), TimesLessThan(OpenEnvReset, 25.0)]),
    row(Reset, Embedded, BareHttp, "reset", "another reset of a live session", &[]),
    row(FastApiHttp, FastApi, BareHttp, "fastapi-http", "FastAPI, HTTP step", &[]),
    row(OpenEnvHttp, OpenEnv, BareHttp, "openenv-http", "OpenEnv 0.10, HTTP step", &[]),
    row(OpenEnvReset, OpenEnv, BareHttp, "openenv-reset", "OpenEnv 0.10, connect and reset", &[]),
    row(BareSocket, Bare, BareSocket, "bare-ws", "bare axum, WebSocket echo", &[]),
    row(StreamNone, Embedded, BareSocket, "stream-none", "stream, one step per frame, `record: none`",
        &[TimesBare(2.0), TimesLessThan(OpenEnvSocket, 4.0)]),
    row(StreamGroup, Embedded, BareSocket, "stream-group", "stream, one step per frame, `record: group`, SQLite",
        &[TimesBare(3.0), TimesLessThan(OpenEnvSocket, 4.0)]),
    row(StreamPostgres, Postgres, BareSocket, "stream-postgres", "stream, one step per frame, `record: group`, PostgreSQL", &[]),
    row(StreamBatchNone, Embedded, BareSocket, "batch-none", "stream, 256 steps per frame, `record: none`, each",
        &[Microseconds(2.0)]),
    row(StreamBatchGroup, Embedded, BareSocket, "batch-group", "stream, 256 steps per frame, `record: group`, SQLite, each",
        &[Microseconds(8.0)]),
    row(StreamBatchPostgres, Postgres, BareSocket, "batch-postgres", "stream, 256 steps per frame, `record: group`, PostgreSQL, each", &[]),
    row(MountStep, Embedded, BareSocket, "mount", "OpenEnv's frames at `/openenv/bench/counter`",
        &[TimesLessThan(OpenEnvSocket, 5.0)]),
    row(FastApiSocket, FastApi, BareSocket, "fastapi-ws", "FastAPI, WebSocket step", &[]),
    row(OpenEnvSocket, OpenEnv, BareSocket, "openenv-ws", "OpenEnv 0.10, WebSocket step", &[]),
];

impl Target {
    pub(crate) fn words(self) -> String {
        match self {
            Self::TimesBare(most) => format!("<= {most} × bare"),
            Self::TimesLessThan(_, least) => format!(">= {least} × less than OpenEnv"),
            Self::Microseconds(most) => format!("<= {most} us"),
        }
    }

    /// Verdict on the CPU of a row, given those of the others.
    pub(crate) fn holds(self, cpu: &Series, bare: Option<&Series>, of: impl Fn(Case) -> Option<Series>) -> Holds {
        match self {
            Self::TimesBare(most) => Holds::at_most(bare.and_then(|bare| cpu.over(bare).median()), most),
            Self::TimesLessThan(other, least) => {
                Holds::at_least(of(other).and_then(|other| other.over(cpu).median()), least)
            }
            Self::Microseconds(most) => Holds::at_most(cpu.median(), most),
        }
    }
}

/// A row that is measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Once {
    StartNew,
    StartAgain,
    AtRest,
    PerSession,
    PerSocket,
    ManyDocuments,
    ForkCpu,
    ForkMemory,
    ForkRequest,
    Hash,
    FewSessions,
    ThousandSessions,
    ManySessions,
    SessionsGrowth,
    EmptyStore,
    FullStore,
    StoreGrowth,
}

/// Target of a row that is measured by itself.
pub(crate) struct OnceRow {
    pub(crate) what: Once,
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: &'static str,
    /// The most that it may be.
    pub(crate) most: Option<f64>,
}

const fn once(what: Once, id: &'static str, title: &'static str, unit: &'static str, most: Option<f64>) -> OnceRow {
    OnceRow { what, id, title, unit, most }
}

/// Every row that is measured by itself.
#[rustfmt::skip]
pub(crate) const ONCE: &[OnceRow] = &[
    once(Once::StartNew, "start-new", "start to ready, new data folder", "ms", Some(150.0)),
    once(Once::StartAgain, "start-again", "start to ready, data folder of before", "ms", Some(150.0)),
    once(Once::AtRest, "rest", "memory at rest", "MB", Some(30.0)),
    once(Once::PerSession, "session", "memory per idle session of `bench/counter`", "KB", Some(6.0)),
    once(Once::PerSocket, "socket", "memory per idle socket", "KB", Some(8.0)),
    once(Once::ManyDocuments, "documents", "memory of live `bench/document` sessions of 10 KB, each edited once, per 100,000", "GB", Some(3.0)),
    once(Once::ForkCpu, "fork", "fork of a session with 1 MB of state, CPU", "us", Some(10.0)),
    once(Once::ForkMemory, "fork-memory", "fork of a session with 1 MB of state, memory", "KB", Some(32.0)),
    once(Once::ForkRequest, "fork-request", "1,000 such forks in one request", "ms", Some(20.0)),
    once(Once::Hash, "hash", "state hash after a small edit of 1 MB of state, CPU", "us", Some(200.0)),
    once(Once::FewSessions, "live-few", "HTTP step among 10 live sessions, CPU", "us", None),
    once(Once::ThousandSessions, "live-thousand", "HTTP step among 1,000 live sessions, CPU", "us", None),
    once(Once::ManySessions, "live-many", "HTTP step among 100,000 live sessions, CPU", "us", None),
    once(Once::SessionsGrowth, "live-growth", "the last divided by the first", "×", Some(1.2)),
    once(Once::EmptyStore, "stored-none", "recorded HTTP step with an empty store, CPU", "us", None),
    once(Once::FullStore, "stored-many", "recorded HTTP step after 1,000,000 stored steps, CPU", "us", None),
    once(Once::StoreGrowth, "stored-growth", "the last divided by the first", "×", Some(1.2)),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_has_a_name_of_its_own_and_stands_behind_its_reference() {
        let ids: BTreeSet<&str> = COMPARED.iter().map(|row| row.id).chain(ONCE.iter().map(|row| row.id)).collect();
        assert_eq!(ids.len(), COMPARED.len() + ONCE.len());
        for (place, row) in COMPARED.iter().enumerate() {
            let reference = COMPARED.iter().position(|other| other.case == row.bare).expect("a reference");
            assert!(reference <= place, "{}", row.id);
        }
    }

    #[test]
    fn a_target_is_held_against_the_right_figures() {
        let series = |value: f64| [value].into_iter().collect::<Series>();
        let of = |case| (case == OpenEnvHttp).then(|| series(300.0));
        assert_eq!(TimesBare(2.5).holds(&series(25.0), Some(&series(10.0)), of), Holds::Yes);
        assert_eq!(TimesBare(2.5).holds(&series(26.0), Some(&series(10.0)), of), Holds::No);
        assert_eq!(TimesLessThan(OpenEnvHttp, 15.0).holds(&series(20.0), None, of), Holds::Yes);
        assert_eq!(TimesLessThan(OpenEnvHttp, 16.0).holds(&series(20.0), None, of), Holds::No);
        assert_eq!(TimesLessThan(OpenEnvSocket, 1.0).holds(&series(20.0), None, of), Holds::Unknown);
        assert_eq!(Microseconds(8.0).holds(&series(9.0), None, of), Holds::No);
    }
}

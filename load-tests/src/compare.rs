//! The comparison: every case in every round, each beside the references of the same round.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::figures::{Holds, Series};
use crate::hosts::Hosts;
use crate::load::Load;
use crate::targets::{COMPARED, Case, Row, Target};
use crate::terminal::tell;

/// Extent of the measurements.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Effort {
    pub(crate) rounds: usize,
    /// For how long a case is measured in a round.
    pub(crate) window_ms: u64,
}

/// Result of a row.
pub(crate) struct Compared {
    pub(crate) row: &'static Row,
    /// Microseconds of server CPU per operation.
    pub(crate) cpu_us: Series,
    /// Microseconds of the database's CPU per operation; empty where there is none.
    pub(crate) database_us: Series,
    pub(crate) per_second: Series,
}

/// A case with its load.
struct Running {
    compared: Compared,
    load: Box<dyn Load>,
}

/// Measures the rows that are wanted, and the references that they need; answers them and what was missing.
///
/// # Errors
/// When a server fails or refuses something.
pub(crate) async fn run(
    program: &Path,
    effort: Effort,
    wanted: impl Fn(&Row) -> bool,
) -> anyhow::Result<(Vec<Compared>, Vec<String>)> {
    let mut hosts = Hosts::start(program).await?;
    let mut running = Vec::new();
    for row in COMPARED.iter().filter(|row| needed(row, &wanted)) {
        if let Some(load) = hosts.load(row.case, row.host).await? {
            let compared = Compared {
                row,
                cpu_us: Series::default(),
                database_us: Series::default(),
                per_second: Series::default(),
            };
            running.push(Running { compared, load });
        }
    }
    let window = Duration::from_millis(effort.window_ms);
    for case in &mut running {
        // Caches fill and connections settle before anything counts.
        case.load.connect().await?;
        case.load.run(window / 4).await?;
        case.load.settle().await?;
    }
    for round in 1..=effort.rounds {
        tell(&format!("round {round} of {}", effort.rounds));
        for case in &mut running {
            case.measure(&hosts, window).await?;
        }
    }
    Ok((running.into_iter().map(|case| case.compared).collect(), hosts.missing))
}

/// True if a row is wanted, or one that is wanted is compared with it.
fn needed(row: &Row, wanted: &impl Fn(&Row) -> bool) -> bool {
    let compares = |other: &Row| {
        let with = |target: &Target| matches!(target, Target::TimesLessThan(case, _) if *case == row.case);
        other.bare == row.case || other.targets.iter().any(with)
    };
    wanted(row) || COMPARED.iter().any(|other| wanted(other) && compares(other))
}

impl Running {
    async fn measure(&mut self, hosts: &Hosts, window: Duration) -> anyhow::Result<()> {
        let host = self.compared.row.host;
        self.load.connect().await?;
        let Some(before) = hosts.clock(host)? else { return Ok(()) };
        let done = self.load.run(window).await?;
        let Some(after) = hosts.clock(host)? else { return Ok(()) };
        let used = after.since(&before);
        let each = |time: Duration| time.as_secs_f64() * 1e6 / done.operations as f64;
        self.compared.cpu_us.push(each(used.server));
        if let Some(database) = used.database {
            self.compared.database_us.push(each(database));
        }
        self.compared.per_second.push(done.operations as f64 / done.elapsed.as_secs_f64());
        self.load.settle().await
    }
}

/// The CPU of a case, if it was measured.
pub(crate) fn cpu_of(all: &[Compared], case: Case) -> Option<Series> {
    all.iter().find(|compared| compared.row.case == case).map(|compared| compared.cpu_us.clone())
}

impl Compared {
    /// Times the CPU of the bare server, round by round.
    pub(crate) fn times_bare(&self, all: &[Self]) -> Option<Series> {
        cpu_of(all, self.row.bare).map(|bare| self.cpu_us.over(&bare))
    }

    /// Quotient of the CPU of the peer that a target names and its own.
    pub(crate) fn times_less(&self, all: &[Self]) -> Option<Series> {
        self.row.targets.iter().find_map(|target| match target {
            Target::TimesLessThan(peer, _) => cpu_of(all, *peer).map(|peer| peer.over(&self.cpu_us)),
            Target::TimesBare(_) | Target::Microseconds(_) => None,
        })
    }

    /// Verdict on all its targets; `None` where it has none.
    pub(crate) fn holds(&self, all: &[Self]) -> Option<Holds> {
        let bare = cpu_of(all, self.row.bare);
        let each = |target: &Target| target.holds(&self.cpu_us, bare.as_ref(), |case| cpu_of(all, case));
        Holds::all(self.row.targets.iter().map(each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wanted_row_brings_what_it_is_compared_with() {
        let ids = |id: &'static str| -> Vec<&str> {
            COMPARED.iter().filter(|row| needed(row, &|row: &Row| row.id == id)).map(|row| row.id).collect()
        };
        assert_eq!(ids("http-none"), ["bare-http", "http-none", "openenv-http"]);
        assert_eq!(ids("batch-none"), ["bare-ws", "batch-none"]);
    }
}

//! Memory of live episodes.

use nix::unistd::Pid;
use palestra_apps::task::episode::Episode;

use super::rows::Row;
use super::subject::Subject;
use super::wrote;
use crate::figures::Series;
use crate::process::resident_bytes_of;

/// One in so many episodes is forked instead of begun.
const FORKED_OF: usize = 10;
/// Bytes in a kilobyte.
const KILOBYTE: f64 = 1e3;

/// Values by row.
type Values = Vec<(Row, Series)>;

/// Kilobytes that live episodes take, each; and the episodes, since memory that is free again would hide what comes later.
pub(super) fn memory(subject: &Subject, live: usize) -> anyhow::Result<(Values, Vec<Episode>)> {
    let moments = &subject.moments;
    for moment in moments {
        let _warm = moment.instance.data.document().digest();
        let _warm = moment.ready.document().digest();
    }
    let resident = || Ok::<f64, anyhow::Error>(resident_bytes_of(Pid::this())? as f64 / KILOBYTE);
    let each = |after: f64, before: f64, count: usize| {
        [(after - before).max(0.0) / count as f64].into_iter().collect::<Series>()
    };
    let forked = live.div_ceil(FORKED_OF);
    let mut episodes = Vec::with_capacity(live + forked);
    let before_forks = resident()?;
    for moment in moments.iter().cycle().take(forked) {
        episodes.push(wrote(moment)?);
    }
    let before = resident()?;
    for moment in moments.iter().cycle().take(live) {
        episodes.push(Episode::begin(&moment.instance, 1)?);
    }
    let idle = resident()?;
    for (moment, episode) in moments.iter().cycle().zip(&mut episodes[forked..]) {
        episode.call(&moment.write.0, &moment.write.1).map_err(anyhow::Error::msg)?;
    }
    let edited = resident()?;
    for episode in &episodes[forked..] {
        let _hashed = episode.document().digest();
    }
    let hashed = resident()?;
    let values = vec![
        (Row::ForkMemory, each(before, before_forks, forked)),
        (Row::IdleMemory, each(idle, before, live)),
        (Row::EditedMemory, each(edited, before, live)),
        (Row::HashedMemory, each(hashed, before, live)),
    ];
    Ok((values, episodes))
}

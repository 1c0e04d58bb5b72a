//! Growth of a step's cost with many sessions, or much that is stored.

use std::path::Path;
use std::time::Duration;

use super::{Series, Sizes, Values, counters, microseconds};
use crate::body;
use crate::callers::{HttpSteps, StreamSteps};
use crate::hosts::{CALLERS, http_steps};
use crate::load::{Caller, Load};
use crate::subject::Palestra;
use crate::targets::Once;

pub(super) const ROWS: [Once; 7] = [
    Once::FewSessions,
    Once::ThousandSessions,
    Once::ManySessions,
    Once::SessionsGrowth,
    Once::EmptyStore,
    Once::FullStore,
    Once::StoreGrowth,
];

/// Steps of a frame that fills the store.
const STEPS_PER_FRAME: usize = 256;

/// A server with the callers that step on it.
struct Place {
    palestra: Palestra,
    callers: Vec<HttpSteps>,
    cpu_us: Series,
}

pub(super) async fn measure(program: &Path, sizes: Sizes) -> anyhow::Result<Values> {
    let mut places = Vec::new();
    for count in sizes.live {
        let palestra = Palestra::start(program, None).await?;
        let sessions = palestra.open(&counters("none"), count).await?;
        let callers = http_steps(&palestra, &sessions, body::step).await?;
        places.push(Place { palestra, callers, cpu_us: Series::default() });
    }
    for stored in [0, sizes.stored_steps] {
        let palestra = Palestra::start(program, None).await?;
        fill(&palestra, stored).await?;
        let sessions = palestra.open(&counters("group"), CALLERS).await?;
        let callers = http_steps(&palestra, &sessions, body::step).await?;
        places.push(Place { palestra, callers, cpu_us: Series::default() });
    }
    // All servers in every round, so that what else the machine does meets them alike. The first round warms up.
    for round in 0..=sizes.rounds {
        for place in &mut places {
            place.measure(sizes.window, round > 0).await?;
        }
    }
    let mut series = places.into_iter().map(|place| place.cpu_us);
    let mut next = || series.next().unwrap_or_default();
    let [few, thousand, many, empty, full] = [next(), next(), next(), next(), next()];
    Ok(vec![
        (Once::SessionsGrowth, many.over(&few)),
        (Once::FewSessions, few),
        (Once::ThousandSessions, thousand),
        (Once::ManySessions, many),
        (Once::StoreGrowth, full.over(&empty)),
        (Once::EmptyStore, empty),
        (Once::FullStore, full),
    ])
}

impl Place {
    async fn measure(&mut self, window: Duration, counts: bool) -> anyhow::Result<()> {
        self.callers.connect().await?;
        let before = self.palestra.server().cpu()?;
        let done = self.callers.run(window).await?;
        let used = self.palestra.server().cpu()?.saturating_sub(before);
        if counts {
            self.cpu_us.push(microseconds(used) / done.operations as f64);
        }
        Ok(())
    }
}

/// Stores so many steps.
async fn fill(palestra: &Palestra, steps: usize) -> anyhow::Result<()> {
    if steps == 0 {
        return Ok(());
    }
    let sessions = palestra.open(&counters("group"), STEPS_PER_FRAME).await?;
    let mut caller = StreamSteps::new(palestra.address(), palestra.key(), &sessions).await?;
    caller.connect().await?;
    let mut stored = 0;
    while stored < steps as u64 {
        stored += caller.call().await?;
    }
    Ok(())
}

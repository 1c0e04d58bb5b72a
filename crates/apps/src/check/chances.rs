//! Events that depend on chance. A task's solution has to reach the goal whatever events of chance do, and whatever else episodes draw.

use std::sync::Arc;

use super::replies::heard_in;
use crate::app::{App, Schedule};
use crate::draw::reach;
use crate::run::Chance;
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::outcome::Flaw;

/// Episodes that a solution is played in, beside the one that proved it: their seed, and which events of chance take place.
const EPISODES: [(u64, Chance); 5] =
    [(1, Chance::Drawn), (2, Chance::Drawn), (3, Chance::Drawn), (1, Chance::Always), (1, Chance::Never)];

/// Other episodes of the task.
#[derive(Default)]
pub(super) struct Chances {
    /// Solutions that were played in another episode.
    pub(super) played: u64,
}

/// A solution that the luck of an episode has proved.
pub(super) enum LuckySolution {
    /// It does not reach the goal in another one.
    Flaw(Flaw),
    /// Its calls answer the same in another one, where another answer is right.
    Unseen(String),
}

impl Chances {
    /// Plays the solution of a task in other episodes; answers what is wrong in one.
    pub(super) fn look(&mut self, instance: &Arc<Instance>) -> Option<LuckySolution> {
        let chance = happens(&instance.app, instance)?;
        let replies = |seed, chance| heard_in(Episode::begin_by(instance, seed, chance).ok()?, instance.solution());
        let (answers, _) = replies(0, Chance::Drawn)?;
        for (seed, which) in EPISODES {
            if which != Chance::Drawn && !chance {
                continue;
            }
            let Ok(start) = Episode::begin_by(instance, seed, which) else { continue };
            self.played += 1;
            let place = shown(seed, which);
            match reach(start) {
                Ok(_) => {}
                Err(Flaw::Misses(why)) => return Some(LuckySolution::Flaw(Flaw::Misses(format!("{why} ({place})")))),
                Err(Flaw::Fails(why)) => return Some(LuckySolution::Flaw(Flaw::Fails(format!("{why} ({place})")))),
                Err(Flaw::Breaks(why)) => return Some(LuckySolution::Flaw(Flaw::Breaks(format!("{why} ({place})")))),
                Err(flaw) => return Some(LuckySolution::Flaw(flaw)),
            }
            if replies(seed, which).is_some_and(|(others, reached)| others == answers && !reached) {
                return Some(LuckySolution::Unseen(place));
            }
        }
        None
    }
}

/// Chance among the events that happen by themselves; none where nothing happens.
fn happens(app: &App, instance: &Instance) -> Option<bool> {
    let mut events = app.events.iter().chain(instance.template().events.iter().map(|event| &**event)).peekable();
    events.peek()?;
    Some(events.any(|event| matches!(event.schedule, Schedule::Every { chance: (part, whole), .. } if part < whole)))
}

fn shown(seed: u64, chance: Chance) -> String {
    match chance {
        Chance::Drawn => format!("in an episode of seed {seed}"),
        Chance::Always => format!("in an episode of seed {seed} in which every event of chance takes place"),
        Chance::Never => format!("in an episode of seed {seed} in which no event of chance takes place"),
    }
}

//! An audit in words, for a terminal.

use std::fmt::{self, Display, Formatter};

use super::{Audit, Survival};

/// Values of a parameter that a line shows.
const VALUES_SHOWN: usize = 12;

impl Display for Audit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { tasks, attempts, too_rare, repeated, answers, .. } = self;
        writeln!(f, "  {tasks} tasks audited, {attempts} attempts, {repeated} repeated")?;
        for (name, reason) in &self.reasons {
            let (unmet, tried, share, most) = (reason.unmet, reason.tried, reason.share(), reason.share_max);
            writeln!(
                f,
                "  drawn again: {name} {unmet} of {tried} ({share:.3}, declared {most}): not that {}",
                reason.meaning
            )?;
        }
        for (parameter, values) in &self.parameters {
            let shown = values.iter().take(VALUES_SHOWN);
            let shown: Vec<String> =
                shown.map(|(value, Survival { drawn, kept })| format!("{value} {kept}/{drawn}")).collect();
            let more = values.len().saturating_sub(VALUES_SHOWN);
            let more = if more == 0 { String::new() } else { format!(", and {more} more") };
            writeln!(f, "  {parameter} (kept/drawn): {}{more}", shown.join(", "))?;
        }
        if *too_rare > 0 {
            writeln!(f, "  not judged: {too_rare} values that were drawn too seldom to say that they never survive")?;
        }
        let group = answers.commonest_in_group.as_ref();
        let group = group.map_or_else(String::new, |(group, share)| format!(", {share:.3} where {group}"));
        write!(
            f,
            "  answers: {} different; the commonest has {:.3} of the tasks{group}; the best constant one scores {:.3} on {} tasks",
            answers.different, answers.commonest, answers.constant_score, answers.constant_tasks
        )
    }
}

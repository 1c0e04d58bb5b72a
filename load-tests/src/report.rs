//! The result, as Markdown for people and as JSON for programs.

use std::fmt::Write as _;

use palestra_store::clock::Clock;
use serde_json::{Value, json};

use crate::compare::{Compared, Effort};
use crate::figures::{Holds, Series, digits};
use crate::once::Measured;

/// Report of a run of the load tests.
pub(crate) struct Report {
    pub(crate) effort: Effort,
    pub(crate) compared: Vec<Compared>,
    pub(crate) once: Vec<Measured>,
    /// Missing measurements with their reasons.
    pub(crate) missing: Vec<String>,
}

/// `2026-11-21`.
fn today() -> String {
    Clock::System.now().to_string().chars().take(10).collect()
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn or_nothing(series: Option<&Series>) -> String {
    series.and_then(Series::median).map(digits).unwrap_or_default()
}

fn word(holds: Option<Holds>) -> &'static str {
    holds.map_or("", Holds::word)
}

impl Report {
    /// Tables, with one line above that says how they came about.
    pub(crate) fn markdown(&self) -> String {
        let Effort { rounds, window_ms } = self.effort;
        let mut text = format!(
            "Measured on {}, {} processors, {rounds} rounds of {window_ms} ms per row. CPU is that of the server per operation, in \
             microseconds: median (least..most of the rounds).\n",
            today(),
            processors()
        );
        for line in &self.missing {
            let _ = writeln!(text, "\nNot measured: {line}.");
        }
        if !self.compared.is_empty() {
            text.push_str(
                "\n| row | server CPU, us | database CPU, us | × bare | OpenEnv ÷ this | per second | target | holds |\n\
                 | --- | --- | --- | --- | --- | --- | --- | --- |\n",
            );
        }
        for row in &self.compared {
            let targets: Vec<String> = row.row.targets.iter().map(|target| target.words()).collect();
            let cells = [
                row.row.title.to_owned(),
                row.cpu_us.spread(),
                row.database_us.spread(),
                row.times_bare(&self.compared).map(|series| series.spread()).unwrap_or_default(),
                or_nothing(row.times_less(&self.compared).as_ref()),
                row.per_second.median().map(|rate| format!("{rate:.0}")).unwrap_or_default(),
                targets.join("; "),
                word(row.holds(&self.compared)).to_owned(),
            ];
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        if !self.once.is_empty() {
            text.push_str("\n| row | measured | unit | target | holds |\n| --- | --- | --- | --- | --- |\n");
        }
        for one in &self.once {
            let target = one.row.most.map(|most| format!("<= {most}")).unwrap_or_default();
            let cells = [one.row.title, &one.values.spread(), one.row.unit, &target, word(one.holds())];
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text
    }

    /// Everything, value by value.
    pub(crate) fn json(&self) -> Value {
        let compared = self.compared.iter().map(|row| {
            json!({
                "id": row.row.id,
                "title": row.row.title,
                "cpu_us": row.cpu_us,
                "database_cpu_us": row.database_us,
                "times_bare": row.times_bare(&self.compared),
                "times_less_than_openenv": row.times_less(&self.compared),
                "per_second": row.per_second,
                "targets": row.row.targets.iter().map(|target| target.words()).collect::<Vec<_>>(),
                "holds": row.holds(&self.compared),
            })
        });
        let once = self.once.iter().map(|one| {
            json!({
                "id": one.row.id, "title": one.row.title, "unit": one.row.unit, "values": one.values,
                "most": one.row.most, "holds": one.holds(),
            })
        });
        json!({
            "date": today(),
            "processors": processors(),
            "effort": self.effort,
            "compared": compared.collect::<Vec<_>>(),
            "once": once.collect::<Vec<_>>(),
            "missing": self.missing,
        })
    }

    /// The rows whose figures cannot be right, whatever the machine.
    pub(crate) fn insane(&self) -> Vec<&'static str> {
        let compared = self.compared.iter().filter(|row| !row.cpu_us.is_positive() || !row.per_second.is_positive());
        // What a session adds to memory, or a hash to a step, can drown in what else the server does.
        let once = self.once.iter().filter(|one| !one.values.is_finite());
        compared.map(|row| row.row.id).chain(once.map(|one| one.row.id)).collect()
    }
}

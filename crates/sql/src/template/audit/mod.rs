//! Audits of templates: what they draw, what they throw away and why, and that every parameter is told and counts.
//!
//! Drawing takes no database: a thousand draws are made of every template, over its splits in turn. Texts are filled for the first of
//! them and wherever a value is drawn for the first time. What is expected is worked out in databases for a few pairs of draws, which
//! differ in one parameter ([`effect`]). A report says how many of each there were.

mod effect;
mod spread;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::fill::{Filled, Filling, Notation, fill};
use super::form::ParameterSource;
use super::parameter::{DrawFailure, Pool, TaskWorlds, in_order};
use super::{ATTEMPTS, DrawnTask, OTHERS_MAX, Suite, Template};
use crate::task::Data;
use crate::value::Value;
use crate::world::World;
pub use effect::Effort;
pub use spread::Spread;
use spread::can_be;
use std::sync::Arc;

/// Draws of each template.
pub const DRAWS: u64 = 1_000;
/// Largest share of draws that may be rejected.
pub const THROWN_MAX: f64 = 0.2;
/// Largest share of a column's values that may be missing from one of the worlds of a task, and be lost by that.
pub const LOST_MAX: f64 = 0.9;
/// Draws whose texts are filled whatever they hold.
const FILLED: u64 = 20;
/// Draws that are kept to be played: so many at most, with every value of a choice in one of them.
const KEPT_MAX: usize = 24;

/// Report of an audit.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The template.
    pub template: String,
    /// Tasks that were asked for.
    pub draws: u64,
    /// Of these, tasks that came of it.
    pub accepted: u64,
    /// Tasks of which every text was filled.
    pub filled: u64,
    /// Number of times that each reason drew again.
    pub again: BTreeMap<String, u64>,
    /// Drawn values of each parameter.
    pub parameters: BTreeMap<String, Spread>,
    /// Pairs of tasks that differ in one parameter, of which what is expected was worked out.
    pub pairs: u64,
    /// Faults, each with the draw that shows it.
    pub faults: Vec<String>,
}

impl Report {
    /// Share of rejected draws.
    #[must_use]
    pub fn thrown(&self) -> f64 {
        let again: u64 = self.again.values().sum();
        if again == 0 { 0.0 } else { again as f64 / (self.accepted + again) as f64 }
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "{}: {} draws, {} accepted, {:.1}% thrown away",
            self.template,
            self.draws,
            self.accepted,
            100.0 * self.thrown()
        )?;
        write!(out, "; {} filled, {} pairs worked out", self.filled, self.pairs)?;
        for (reason, count) in &self.again {
            write!(out, "\n  drawn again {count} times: {reason}")?;
        }
        for (name, spread) in &self.parameters {
            write!(out, "\n  {name}: {spread}")?;
        }
        for fault in &self.faults {
            write!(out, "\n  FAULT {fault}")?;
        }
        Ok(())
    }
}

/// A draw that was accepted: where it came from, and what was drawn.
#[derive(Debug, Clone)]
struct Kept {
    split: String,
    seed: u64,
    attempt: usize,
    data: Data,
    others: Vec<Data>,
    filling: Filling,
}

impl Kept {
    fn place(&self) -> String {
        format!("split {:?}, seed {}, draw {}", self.split, self.seed, self.attempt)
    }
}

/// The worlds of a split, and what a template's parameters are drawn from in each.
struct SplitWorlds {
    worlds: Vec<(Data, Arc<World>)>,
    others: Vec<(Data, Arc<World>)>,
}

impl Suite {
    /// Draws of a template, without any database: the report, and the draws that show most.
    fn drawn_often(&self, template: &Template, draws: u64) -> Result<(Report, Vec<Kept>), String> {
        let mut report = Report { template: template.name.clone(), ..Report::default() };
        let mut kept = Vec::new();
        let splits: Vec<&String> = self.environment.splits.keys().filter(|split| template.is_in(split)).collect();
        for (at, split) in splits.iter().enumerate() {
            let share = draws / splits.len() as u64 + u64::from((at as u64) < draws % splits.len() as u64);
            self.drawn_in(template, split, share, &mut report, &mut kept)?;
        }
        report.faults.extend(shortcomings(&report));
        Ok((report, kept))
    }

    fn grounds(&self, template: &Template, split: &str) -> Result<SplitWorlds, String> {
        let count = self.environment.splits.get(split).copied().unwrap_or_default();
        let of = |part: &str, count: usize| {
            let data = (0..count).map(|index| template.data(split, part, index));
            data.map(|data| Ok((data.clone(), self.world(&data)?))).collect::<Result<Vec<_>, String>>()
        };
        Ok(SplitWorlds { worlds: of("played", count)?, others: of("hidden", template.form.others.min(OTHERS_MAX))? })
    }

    fn drawn_in(
        &self,
        template: &Template,
        split: &str,
        draws: u64,
        report: &mut Report,
        kept: &mut Vec<Kept>,
    ) -> Result<(), String> {
        let grounds = self.grounds(template, split)?;
        let others: Vec<Arc<World>> = grounds.others.iter().map(|(_, world)| Arc::clone(world)).collect();
        let mut hats: Vec<ParameterValues<'_>> = grounds
            .worlds
            .iter()
            .map(|(_, world)| ParameterValues::new(template, TaskWorlds { world, others: &others }))
            .collect();
        for hat in &hats {
            hat.count_lost(report);
        }
        for seed in 0..draws {
            report.draws += 1;
            for attempt in 0..ATTEMPTS {
                let stream = |part: &str| self.stream(template, split, seed, attempt, part);
                let world = stream("world").below(grounds.worlds.len());
                let drawn = hats[world].draw(stream, report);
                let filling = match drawn {
                    Ok(filling) => filling,
                    Err(DrawFailure::TaskWorlds(reason)) => {
                        *report.again.entry(reason.clone()).or_default() += 1;
                        if attempt + 1 == ATTEMPTS {
                            report.fault(format!(
                                "nothing is drawn in {ATTEMPTS} tries: {reason} (split {split:?}, seed {seed})"
                            ));
                        }
                        continue;
                    }
                    Err(DrawFailure::Fault(detail)) => {
                        report.fault(format!("{detail} (split {split:?}, seed {seed}, draw {attempt})"));
                        break;
                    }
                };
                let new = report.accept(&template.form.parameters, &filling);
                let one = Kept {
                    split: split.to_owned(),
                    seed,
                    attempt,
                    data: grounds.worlds[world].0.clone(),
                    others: grounds.others.iter().map(|(data, _)| data.clone()).collect(),
                    filling,
                };
                if new || seed < FILLED {
                    report.filled += 1;
                    if let Err(detail) = self.filled_in(template, &one, &one.filling) {
                        report.fault(format!("{detail} ({})", one.place()));
                    }
                }
                if new && kept.len() < KEPT_MAX || kept.is_empty() {
                    kept.push(one);
                }
                break;
            }
        }
        Ok(())
    }

    fn filled_in(&self, template: &Template, kept: &Kept, filling: &Filling) -> Result<DrawnTask, String> {
        template.fill(&self.environment, kept.data.clone(), kept.others.clone(), filling)
    }
}

impl Report {
    /// Notes a fault; the first of each sort is told.
    fn fault(&mut self, fault: String) {
        let sort = |fault: &str| fault.split(" (split").next().unwrap_or_default().to_owned();
        if !self.faults.iter().any(|known| sort(known) == sort(&fault)) {
            self.faults.push(fault);
        }
    }

    /// Notes what was accepted, and says whether a value of it is new.
    fn accept(&mut self, draughts: &BTreeMap<String, ParameterSource>, filling: &Filling) -> bool {
        self.accepted += 1;
        let mut new = false;
        for (name, filled) in filling {
            let spread = self.parameters.entry(name.clone()).or_default();
            let count = spread.after.entry(label(&draughts[name], filled)).or_default();
            // Of what a world offers, a new value is nothing special.
            new |= *count == 0 && matches!(draughts[name], ParameterSource::Choice(_) | ParameterSource::Range(_));
            *count += 1;
        }
        new
    }
}

/// Values that a template's parameters are drawn from in one world.
struct ParameterValues<'a> {
    draughts: &'a BTreeMap<String, ParameterSource>,
    ground: TaskWorlds<'a>,
    pools: BTreeMap<&'a str, Result<Pool<'a>, DrawFailure>>,
    /// Of slips, by the query in which they are made.
    slips: BTreeMap<(String, String), Result<Pool<'a>, DrawFailure>>,
}

impl<'a> ParameterValues<'a> {
    fn new(template: &'a Template, ground: TaskWorlds<'a>) -> Self {
        let draughts = &template.form.parameters;
        let alone = draughts.iter().filter(|(_, source)| !matches!(source, ParameterSource::Slip(_)));
        let pools = alone.map(|(name, source)| (name.as_str(), Pool::of(source, &ground, &Filling::new()))).collect();
        Self { draughts, ground, pools, slips: BTreeMap::new() }
    }

    /// Values of columns that the played world has and another one of the task has not.
    fn count_lost(&self, report: &mut Report) {
        for (name, source) in self.draughts {
            let ParameterSource::Column(values) = source else { continue };
            let here = super::parameter::occurring(self.ground.world, values).map_or(0, |values| values.len());
            let kept = match self.pools.get(name.as_str()) {
                Some(Ok(Pool::Values(values))) => values.len(),
                _ => 0,
            };
            let spread = report.parameters.entry(name.clone()).or_default();
            spread.offered += here as u64;
            spread.common += kept as u64;
        }
    }

    fn pool(
        &mut self,
        name: &'a str,
        source: &'a ParameterSource,
        filling: &Filling,
    ) -> Result<&Pool<'a>, DrawFailure> {
        let ParameterSource::Slip(slip) = source else {
            return match self.pools.get(name) {
                Some(Ok(pool)) => Ok(pool),
                Some(Err(miss)) => Err(miss.clone()),
                None => Err(DrawFailure::Fault(format!("there is no parameter {name:?}"))),
            };
        };
        let query = fill(&slip.of, Notation::Sql(crate::value::Dialect::Sqlite), filling)?;
        let key = (name.to_owned(), query);
        let ground = &self.ground;
        let pool = self.slips.entry(key).or_insert_with(|| Pool::of(source, ground, filling));
        pool.as_ref().map_err(Clone::clone)
    }

    /// One draw. What was drawn before another parameter failed counts as drawn.
    fn draw(
        &mut self,
        stream: impl Fn(&str) -> crate::world::Draw,
        report: &mut Report,
    ) -> Result<Filling, DrawFailure> {
        let mut filling = Filling::new();
        let mut first = None;
        let draughts = self.draughts;
        for (name, source) in in_order(draughts) {
            let drawn = self.pool(name, source, &filling).and_then(|pool| pool.pick(&mut stream(name)));
            match drawn {
                Ok(filled) => {
                    let spread = report.parameters.entry(name.clone()).or_default();
                    spread.can = can_be(source);
                    *spread.before.entry(label(source, &filled)).or_default() += 1;
                    filling.insert(name.clone(), filled);
                }
                Err(miss) => {
                    let miss = match miss {
                        DrawFailure::TaskWorlds(detail) => {
                            DrawFailure::TaskWorlds(format!("parameters.{name}: {detail}"))
                        }
                        DrawFailure::Fault(detail) => DrawFailure::Fault(format!("parameters.{name}: {detail}")),
                    };
                    first = first.or(Some(miss));
                }
            }
        }
        first.map_or(Ok(filling), Err)
    }
}

/// Faults of the draws as a whole.
fn shortcomings(report: &Report) -> Vec<String> {
    let mut faults = Vec::new();
    if report.thrown() > THROWN_MAX {
        let most =
            report.again.iter().max_by_key(|(_, count)| **count).map(|(reason, _)| reason.as_str()).unwrap_or_default();
        faults
            .push(format!("{:.0}% of the draws are thrown away, most of them because {most}", 100.0 * report.thrown()));
    }
    for (name, spread) in &report.parameters {
        for value in spread.never(report.accepted) {
            faults.push(format!("parameters.{name}: the value {value} never survives in {} draws", report.draws));
        }
        if spread.lost() > LOST_MAX {
            faults.push(format!(
                "parameters.{name}: of {} values in the worlds only {} are in every world of their tasks",
                spread.offered, spread.common
            ));
        }
    }
    faults
}

/// A value in short, by which it is counted.
fn label(source: &ParameterSource, filled: &Filled) -> String {
    if let ParameterSource::Choice(choices) = source {
        let place = choices.iter().position(|choice| Filled::of(choice).as_ref() == Ok(filled));
        let mut label = format!("#{}", place.unwrap_or_default());
        if let Filled::Value(value) = filled {
            let _ = write!(label, " {}", shown(value));
        }
        return label;
    }
    match filled {
        Filled::Value(value) => shown(value),
        Filled::Named(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .filter_map(|(name, field)| match field {
                    Filled::Value(value) => Some(format!("{name}={}", shown(value))),
                    _ => None,
                })
                .collect();
            fields.join(" ")
        }
        Filled::Spoken(_) => "by dialect".to_owned(),
    }
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::Text(text) | Value::Decimal(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    text.chars().take(40).collect()
}

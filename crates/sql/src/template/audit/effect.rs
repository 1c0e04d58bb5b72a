//! Pairs of tasks that differ in one parameter: what their texts tell, and what is expected of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{Kept, Report, label};
use crate::engine::{Access, Database, Engine, Limits, Opening, StatementResult, Step};
use crate::library::Library;
use crate::prove;
use crate::script::quoted;
use crate::task::{Check, Data, Spoken, Task};
use crate::template::fill::{Filled, Filling, Notation, fill};
use crate::template::form::ParameterSource;
use crate::template::parameter::{Pool, TaskWorlds};
use crate::template::{DrawnTask, Suite, Template};

/// Extent of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Tasks that are drawn of each template.
    pub draws: u64,
    /// Pairs for each parameter, until one of them shows a difference.
    pub pairs: usize,
    /// Tasks of each template that are solved and judged.
    pub played: usize,
}

impl Effort {
    /// Extent for a publication and a check.
    pub const USUAL: Self = Self { draws: super::DRAWS, pairs: 6, played: 4 };
    /// Everything that was kept.
    pub const FULL: Self = Self { draws: super::DRAWS, pairs: 24, played: super::KEPT_MAX };
}

/// Values of a parameter in one world whose texts are compared.
const TEXTS_MAX: usize = 400;
/// Worlds in which all texts of a parameter are compared.
const WORLDS_MAX: usize = 3;

impl Suite {
    /// Audits a template: what it draws, whether its parameters are told and count, and whether its solution is right in the draws that
    /// show most. The engine works out what is expected.
    ///
    /// # Errors
    /// In words, when there is no such template or a world cannot be made.
    pub async fn audit(
        self: &Arc<Self>,
        engine: &Arc<dyn Engine>,
        template: &str,
        effort: Effort,
    ) -> Result<Report, String> {
        let found = self.templates.iter().find(|known| known.name == template);
        let template = found.ok_or_else(|| format!("there is no template {template:?}"))?;
        let (mut report, kept) = self.drawn_often(template, effort.draws)?;
        if !report.faults.is_empty() {
            // What is drawn wrongly is not worked out besides.
            return Ok(report);
        }
        let auditor = Auditor { suite: self, engine, template, kept: &kept };
        for (name, source) in &template.form.parameters {
            if !matches!(source, ParameterSource::Fixed(_) | ParameterSource::Slip(_)) {
                let looked = auditor.parameter(name, source, effort.pairs, &mut report).await;
                looked.unwrap_or_else(|why| report.fault(why));
            }
        }
        let library: Arc<dyn Library> = Arc::clone(self) as _;
        for one in kept.iter().take(effort.played) {
            let drawn = self.filled_in(template, one, &one.filling)?;
            if let Err(why) = prove::task(engine, &library, &drawn.task, one.seed).await {
                report.fault(format!("{why} ({})", one.place()));
            }
        }
        Ok(report)
    }
}

struct Auditor<'a> {
    suite: &'a Arc<Suite>,
    engine: &'a Arc<dyn Engine>,
    template: &'a Template,
    kept: &'a [Kept],
}

impl Auditor<'_> {
    async fn parameter(
        &self,
        name: &str,
        source: &ParameterSource,
        pairs: usize,
        report: &mut Report,
    ) -> Result<(), String> {
        let told_only = self.template.form.told_only.iter().any(|known| known == name);
        let (mut told, mut counts, mut tried) = (false, false, 0);
        for (place, one) in self.kept.iter().enumerate() {
            if counts || tried == pairs {
                break;
            }
            let values = self.values(one, source)?;
            let others: Vec<&Filled> = values.iter().filter(|value| **value != one.filling[name]).collect();
            // Another one in every draw, so that near values and far ones are tried.
            let Some(other) = (!others.is_empty()).then(|| others[(place * 7 + 3) % others.len()]) else { continue };
            let (first, counterexample) = (self.filled(one, &one.filling)?, self.changed(one, name, other)?);
            tried += 1;
            report.pairs += 1;
            told |= first.task.instruction != counterexample.task.instruction;
            if is_judged_alike(&first.task, &counterexample.task) {
                continue;
            }
            counts = self.differ(one, &first, &counterexample).await?;
            if told_only && counts {
                report.fault(format!("told_only: the parameter {name:?} changes what is expected ({})", one.place()));
            }
        }
        if tried == 0 {
            report.fault(format!("parameters.{name}: there is one value alone: make it `fixed`"));
        } else if !counts && !told_only {
            let what = if told { "is told by the text and" } else { "" };
            report.fault(format!("parameters.{name}: {what} never changes what is expected, in {tried} pairs"));
        }
        self.twins(name, source, report).await
    }

    /// Two values that give the same text must not lead to different results.
    async fn twins(&self, name: &str, source: &ParameterSource, report: &mut Report) -> Result<(), String> {
        for one in self.kept.iter().take(WORLDS_MAX) {
            let mut texts: BTreeMap<String, Filled> = BTreeMap::new();
            for value in self.values(one, source)? {
                let filling = self.with(one, name, &value)?;
                let text = fill(&self.template.form.instruction, Notation::Words, &filling)?;
                let Some(twin) = texts.get(&text) else {
                    texts.insert(text, value);
                    continue;
                };
                let (first, counterexample) = (self.changed(one, name, twin)?, self.changed(one, name, &value)?);
                if is_judged_alike(&first.task, &counterexample.task) {
                    continue;
                }
                report.pairs += 1;
                if self.differ(one, &first, &counterexample).await? {
                    let (twin, value) = (label(source, twin), label(source, &value));
                    report.fault(format!(
                        "parameters.{name}: {twin} and {value} give the same text and other results ({})",
                        one.place()
                    ));
                    return Ok(());
                }
                // Another pair of this world would be told the same.
                break;
            }
        }
        Ok(())
    }

    /// Possible values of a parameter in a draw.
    fn values(&self, one: &Kept, source: &ParameterSource) -> Result<Vec<Filled>, String> {
        let world = self.suite.world(&one.data)?;
        let others = one.others.iter().map(|data| self.suite.world(data)).collect::<Result<Vec<_>, _>>()?;
        let ground = TaskWorlds { world: &world, others: &others };
        Ok(Pool::of(source, &ground, &one.filling).map(|pool| pool.values(TEXTS_MAX)).unwrap_or_default())
    }

    /// A draw's parameters with another value of one; slips are drawn anew where they depend on it.
    fn with(&self, one: &Kept, name: &str, value: &Filled) -> Result<Filling, String> {
        let mut filling = one.filling.clone();
        filling.insert(name.to_owned(), value.clone());
        let slips =
            self.template.form.parameters.iter().filter(|(_, source)| matches!(source, ParameterSource::Slip(_)));
        for (slip, source) in slips {
            let world = self.suite.world(&one.data)?;
            let ground = TaskWorlds { world: &world, others: &[] };
            let stream = &mut self.suite.stream(self.template, &one.split, one.seed, one.attempt, slip);
            let drawn = Pool::of(source, &ground, &filling).and_then(|pool| pool.pick(stream));
            filling.insert(slip.clone(), drawn.map_err(crate::template::parameter::DrawFailure::words)?);
        }
        Ok(filling)
    }

    fn changed(&self, one: &Kept, name: &str, value: &Filled) -> Result<DrawnTask, String> {
        self.filled(one, &self.with(one, name, value)?)
    }

    fn filled(&self, one: &Kept, filling: &Filling) -> Result<DrawnTask, String> {
        self.suite.filled_in(self.template, one, filling).map_err(|detail| format!("{detail} ({})", one.place()))
    }

    /// Checks whether other results are expected of two tasks, in any of their worlds.
    async fn differ(&self, one: &Kept, first: &DrawnTask, counterexample: &DrawnTask) -> Result<bool, String> {
        if stated(&first.task) != stated(&counterexample.task) {
            return Ok(true);
        }
        for data in std::iter::once(&one.data).chain(&one.others) {
            let worked = [self.expected(&first.task, data).await, self.expected(&counterexample.task, data).await];
            let [first, counterexample] = worked.map(|worked| worked.map_err(|why| format!("{why} ({})", one.place())));
            if first? != counterexample? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A digest of what the references of a task give and leave on some data.
    async fn expected(&self, task: &Task, data: &Data) -> Result<String, String> {
        let dialect = self.engine.dialect();
        let mut digest = Sha256::new();
        for Reference { gold, leaves, ordered } in references(task) {
            let gold = gold.in_dialect(dialect).ok_or_else(|| format!("a reference lacks {}", dialect.name()))?;
            let source = self.suite.source(data, &task.setup, dialect)?;
            let opening = Opening { access: Access::Define, limits: ROOMY, seed: 1 };
            let mut database = self.engine.open(&source, &opening).await.map_err(|error| error.to_string())?;
            let given =
                if leaves { left(database.as_mut(), gold).await } else { run(database.as_mut(), 1, gold).await };
            database.close().await;
            for result in given.map_err(|why| format!("a reference fails: {why}"))? {
                let mut rows: Vec<String> = result.rows.iter().map(|row| format!("{row:?}")).collect();
                if !ordered {
                    rows.sort_unstable();
                }
                digest.update(format!("{} {rows:?}", result.columns.len()));
            }
        }
        Ok(hex::encode(digest.finalize()))
    }
}

const ROOMY: Limits = Limits {
    statement_ms: 60_000,
    rows_max: 200_000,
    bytes_max: 64 << 20,
    memory_max: 512 << 20,
    growth_max: 256 << 20,
};

/// Statements whose results are expected.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reference<'a> {
    gold: &'a Spoken,
    /// True if it is what they leave, and not what they give.
    leaves: bool,
    /// True if the order of rows counts.
    ordered: bool,
}

fn references(task: &Task) -> Vec<Reference<'_>> {
    let mut all: Vec<Reference<'_>> = Vec::new();
    for check in &task.checks {
        let reference = match &check.check {
            Check::Result { gold, compare, .. } => Reference { gold, leaves: false, ordered: compare.ordered },
            Check::State { gold, .. } | Check::Queries { gold, .. } => Reference { gold, leaves: true, ordered: false },
            Check::Plan { query: Some(query), .. } => Reference { gold: query, leaves: false, ordered: false },
            _ => continue,
        };
        if *reference.gold != Spoken::Nothing && !all.contains(&reference) {
            all.push(reference);
        }
    }
    all
}

/// Values that a task expects literally.
fn stated(task: &Task) -> Vec<String> {
    let stated = task.checks.iter().filter_map(|check| match &check.check {
        Check::Answer { .. } | Check::Schema { .. } | Check::Properties { .. } => Some(format!("{:?}", check.check)),
        Check::Plan { budget, .. } => Some(format!("{budget:?}")),
        Check::Queries { queries, .. } => {
            let written: Vec<_> = queries.iter().filter_map(|query| query.expect.as_ref()).collect();
            Some(format!("{written:?}"))
        }
        _ => None,
    });
    stated.chain([format!("{:?}", task.setup)]).collect()
}

fn is_judged_alike(first: &Task, counterexample: &Task) -> bool {
    first.checks == counterexample.checks && first.setup == counterexample.setup
}

async fn run(database: &mut dyn Database, seq: u64, sql: &str) -> Result<Vec<StatementResult>, String> {
    let ran = database.run(&Step { seq, sql, parameters: &[], now_ms: 0 }).await.map_err(|error| error.to_string())?;
    match ran.error {
        Some(error) => Err(error.message),
        None => Ok(ran.results),
    }
}

/// Database that statements leave: their tables and views, by name.
async fn left(database: &mut dyn Database, sql: &str) -> Result<Vec<StatementResult>, String> {
    run(database, 1, sql).await?;
    let schema = database.schema().await.map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for (seq, table) in (2..).zip(&schema.tables) {
        let quoted: Vec<String> = table.name.split('.').map(quoted).collect();
        all.extend(run(database, seq, &format!("SELECT * FROM {}", quoted.join("."))).await?);
    }
    // A table that has another name has left another state, even where its rows are the same.
    let names = schema.tables.iter().map(|table| vec![crate::value::Value::Text(format!("{table:?}"))]);
    all.push(StatementResult { rows: names.collect(), ..StatementResult::default() });
    Ok(all)
}

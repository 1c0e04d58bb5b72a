//! Plan of a query in the database that the acting side left.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::context::{Author, CheckFailure, TaskDatabases};
use super::syntax::Facts;
use super::{Verdict, result};
use crate::engine::{Plan, PlanKind, PlanNode, Schema};
use crate::task::{PlanLimit, Spoken};
use crate::value::Dialect;

pub(super) async fn check(
    databases: &mut TaskDatabases<'_>,
    query: Option<&Spoken>,
    baseline: Option<&Spoken>,
    budget: &[PlanLimit],
) -> Result<Verdict, CheckFailure> {
    let dialect = databases.context.dialect();
    let sql = match (query, result::submitted(databases)) {
        (Some(query), _) => databases.context.spoken(query, "the query to plan")?,
        (None, Some(sql)) => sql,
        (None, None) => return Ok(Err(json!({"error": "no query was handed in"}))),
    };
    let measure = match baseline {
        Some(baseline) => databases.context.spoken(baseline, "the query to measure by")?,
        None => sql,
    };
    let plan = match databases.left().await?.explain(sql).await? {
        Ok(plan) => plan,
        Err(error) => return Ok(Err(json!({"error": error.message}))),
    };
    let names = Names::new(sql, dialect, &databases.left().await?.schema().await?);
    let mut measured = json!({"plan": plan.lines});
    for limit in budget {
        let met = match limit {
            PlanLimit::Never { node, table } => !names.has(&plan, *node, table.as_deref(), true),
            PlanLimit::Has { node, table } => names.has(&plan, *node, table.as_deref(), false),
            PlanLimit::CostShare(share) => match dialect {
                Dialect::Sqlite => true,
                Dialect::Postgres => cost_share(databases, sql, &plan, measure, *share, &mut measured).await?,
            },
            PlanLimit::StepShare(share) => match dialect {
                Dialect::Sqlite => step_share(databases, sql, measure, *share, &mut measured).await?,
                Dialect::Postgres => true,
            },
        };
        if !met {
            measured["limit"] = json!(limit);
            return Ok(Err(measured));
        }
    }
    Ok(Ok(measured))
}

/// The cost against the estimate for the query to measure by, in the untouched database. An estimate that is met is not believed: the
/// query is run, and what it really does counts as well.
async fn cost_share(
    databases: &mut TaskDatabases<'_>,
    sql: &str,
    plan: &Plan,
    measure: &str,
    share: f64,
    measured: &mut Json,
) -> Result<bool, CheckFailure> {
    let before = match databases.reference("").await?.explain(measure).await? {
        Ok(before) => before.cost,
        Err(error) => return unmeasured(databases, measure, &error.message),
    };
    let (Some(now), Some(before)) = (plan.cost, before) else {
        return Err(CheckFailure::Verifier("the engine estimates no costs".to_owned()));
    };
    measured["cost"] = json!({"now": now, "at_the_beginning": before, "share": share});
    if now > share * before {
        return Ok(false);
    }
    match databases.left().await?.run_cost(sql, Author::Acting).await? {
        Ok(None) => {
            measured["error"] = json!("what may change something is not run to see what it costs");
            Ok(false)
        }
        Ok(Some(run)) => {
            measured["cost"]["run"] = json!(run);
            Ok(run <= share * before)
        }
        Err(error) => {
            measured["error"] = json!(error.message);
            Ok(false)
        }
    }
}

/// The work of a run against that of the query to measure by, in the untouched database.
async fn step_share(
    databases: &mut TaskDatabases<'_>,
    sql: &str,
    measure: &str,
    share: f64,
    measured: &mut Json,
) -> Result<bool, CheckFailure> {
    // A query that was handed in may lose the database in which it is measured: that is no failure of the engine's.
    let author = if result::submitted(databases) == Some(measure) { Author::Acting } else { Author::Task };
    let before = match databases.reference("").await?.read(measure, author).await? {
        Ok(before) => before.vm_steps,
        Err(error) => return unmeasured(databases, measure, &error.message),
    };
    let now = match databases.left().await?.read(sql, Author::Acting).await? {
        Ok(now) => now.vm_steps,
        Err(error) => {
            measured["error"] = json!(error.message);
            return Ok(false);
        }
    };
    let (Some(now), Some(before)) = (now, before) else {
        return Err(CheckFailure::Verifier("the engine counts no steps".to_owned()));
    };
    measured["steps"] = json!({"now": now, "at_the_beginning": before, "share": share});
    Ok(now as f64 <= share * before as f64)
}

/// The query to measure by fails at the beginning: the task's fault, unless it is the one that was handed in.
fn unmeasured(databases: &TaskDatabases<'_>, measure: &str, why: &str) -> Result<bool, CheckFailure> {
    if result::submitted(databases) == Some(measure) {
        return Err(CheckFailure::Acting(format!("the query fails on the data as it was: {why}")));
    }
    Err(CheckFailure::Verifier(format!("the query to measure by fails: {why}")))
}

/// Tables that the names in a plan may stand for: SQLite's plans call a table by its alias.
struct Names {
    query: Option<Facts>,
    views: Vec<Facts>,
    tables: BTreeSet<String>,
}

impl Names {
    fn new(sql: &str, dialect: Dialect, schema: &Schema) -> Self {
        let facts = |sql: &str| Facts::of(sql, dialect).ok();
        let views = schema.tables.iter().filter(|table| table.view).filter_map(|table| facts(table.sql.as_deref()?));
        let tables = schema.tables.iter().filter(|table| !table.view).map(|table| table.name.to_lowercase());
        Self { query: facts(sql), views: views.collect(), tables: tables.collect() }
    }

    /// True if a name in the plan stands for the table. Where that cannot be told, `doubt` decides.
    fn mean(&self, name: &str, table: &str, doubt: bool) -> bool {
        let name = name.to_lowercase();
        let aliased: Vec<&BTreeSet<String>> =
            self.query.iter().chain(&self.views).filter_map(|facts| facts.aliases.get(&name)).collect();
        if aliased.is_empty() {
            let unknown = self.query.is_none() && !self.tables.contains(&name);
            return name == table || (unknown && doubt);
        }
        aliased.iter().any(|tables| tables.contains(table)) || (name == table && doubt)
    }

    fn has(&self, plan: &Plan, kind: PlanKind, table: Option<&str>, doubt: bool) -> bool {
        let table = table.map(str::to_lowercase);
        plan.nodes.iter().any(|PlanNode { kind: found, table: name, .. }| {
            *found == kind
                && match (&table, name) {
                    (None, _) => true,
                    (Some(table), Some(name)) => self.mean(name, table, doubt),
                    (Some(_), None) => false,
                }
        })
    }
}

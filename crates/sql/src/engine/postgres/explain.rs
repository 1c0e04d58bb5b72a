//! Plans, in the server's words and as nodes.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::clock::{NOW_SETTING, moment};
use super::rules::{Act, judge};
use super::session::{PendingStatement, SAVE, Session, refusal};
use super::template::NOW_MS;
use super::values::text;
use super::watch::Watch;
use super::wire::{BatchStatement, Bounds, Reply};
use crate::engine::{CutReason, EngineError, Plan, PlanKind, PlanNode, SqlError};
use crate::script::split;
use crate::value::{Dialect, Value};

const AS_TREE: &str = "EXPLAIN (FORMAT JSON) ";
const AS_TEXT: &str = "EXPLAIN ";
const RUN: &str = "EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, FORMAT JSON) ";
/// Bytes of a plan in one way of telling it.
const PLAN_BYTES_MAX: usize = 8 << 20;

/// Planner's cost of a visited row, and of a row that was cached.
const VISITED: f64 = 0.01;
const KEPT: f64 = 0.0025;

/// The plan of one statement, which is not run.
pub(super) async fn explain(
    session: &mut Session,
    sql: &str,
    parameters: &[Value],
) -> Result<Result<Plan, SqlError>, EngineError> {
    let mut outcome = match explain_with(session, sql, parameters, &[AS_TREE, AS_TEXT]).await? {
        Ok(outcome) => outcome.into_iter(),
        Err(error) => return Ok(Err(error)),
    };
    let root = match root(&outcome.next().unwrap_or_default()) {
        Ok(root) => root,
        Err(error) => return Ok(Err(*error)),
    };
    let lines = outcome.next().unwrap_or_default().into_iter().map(|line| session.aliases.put(line)).collect();
    let mut nodes = Vec::new();
    collect(&root, &mut nodes);
    Ok(Ok(Plan { lines, cost: root["Total Cost"].as_f64(), nodes }))
}

/// Estimated cost of a query; `None` for what is no query.
pub(super) async fn run_cost(session: &mut Session, sql: &str) -> Result<Result<Option<f64>, SqlError>, EngineError> {
    let reads = match split(sql, Dialect::Postgres).as_slice() {
        [statement] => matches!(judge(statement, session.opening.access), Ok(Act::Read)),
        _ => false,
    };
    if !reads {
        return Ok(Ok(None));
    }
    let outcome = match explain_with(session, sql, &[], &[RUN]).await? {
        Ok(outcome) => outcome,
        Err(error) => return Ok(Err(error)),
    };
    let root = match root(outcome.first().map_or(&[], Vec::as_slice)) {
        Ok(root) => root,
        Err(error) => return Ok(Err(*error)),
    };
    let estimate = root["Total Cost"].as_f64().unwrap_or_default();
    Ok(Ok(Some(estimate.max(cost_of_scans(&root)))))
}

/// Cost of the scans of an executed plan, each as often as it ran, and in part where it ended early. An estimate for one run may be too
/// low as well, where it takes conditions for selective that are not: the rows that were visited are its least.
fn cost_of_scans(node: &Json) -> f64 {
    let number = |key: &str| node[key].as_f64().unwrap_or_default();
    let below = node["Plans"].as_array().map_or(&[][..], Vec::as_slice);
    let visited = number("Actual Rows") + number("Rows Removed by Filter") + number("Rows Removed by Index Recheck");
    // The estimate of a scan with queries in its conditions has theirs in it.
    let alone = below.iter().all(|below| below["Parent Relationship"] == "Outer");
    let own = match node["Node Type"].as_str() {
        Some("Materialize") => visited * KEPT,
        _ if node["Relation Name"].is_null() && node["CTE Name"].is_null() => 0.0,
        _ if alone => {
            let part = (visited / number("Plan Rows").max(1.0)).min(1.0);
            (number("Total Cost") * part).max(visited * VISITED)
        }
        _ => visited * VISITED,
    };
    own * number("Actual Loops") + below.iter().map(cost_of_scans).sum::<f64>()
}

/// Output of EXPLAIN for one statement with each of some options, line by line.
async fn explain_with(
    session: &mut Session,
    sql: &str,
    parameters: &[Value],
    ways: &[&str],
) -> Result<Result<Vec<Vec<String>>, SqlError>, EngineError> {
    let statements = split(sql, Dialect::Postgres);
    let [statement] = statements.as_slice() else {
        let words = format!("one statement can be explained, and there are {}", statements.len());
        return Ok(Err(refusal(words, 0, None)));
    };
    match judge(statement, session.opening.access) {
        Ok(Act::Read | Act::Write) => {}
        Ok(_) => return Ok(Err(refusal("this statement has no plan".to_owned(), 0, Some(statement.start_chars)))),
        Err(words) => return Ok(Err(refusal(words, 0, Some(statement.start_chars)))),
    }
    let parameters: Vec<Option<String>> = parameters.iter().map(text).collect();
    // Always the same moment, so that the plan is the same wherever it is asked for.
    let now = format!("SET {NOW_SETTING} = '{}'", moment(NOW_MS));
    let dates = match session.dates(statement, &parameters, &now).await? {
        Ok(dates) => dates,
        Err(error) => return Ok(Err(error)),
    };
    let literals = &BTreeMap::new();
    let pending = PendingStatement {
        statement,
        act: Act::Read,
        now: &now,
        now_ms: NOW_MS,
        literals,
        parameters: &parameters,
        bytes_left: 0,
    };
    let pending = pending.with(&dates);
    let sent = pending.sent();
    let texts: Vec<String> = ways.iter().map(|way| format!("{way}{}", sent.sql)).collect();
    let mut batch = vec![BatchStatement::plain(SAVE), BatchStatement::plain(pending.now)];
    let bounds = Bounds { bytes_max: PLAN_BYTES_MAX, ..Bounds::default() };
    batch.extend(texts.iter().map(|sql| BatchStatement {
        parameters: pending.parameters,
        bounds,
        ..BatchStatement::plain(sql)
    }));
    let (answer, cut) = session.run_batch(&batch, Watch::Time).await?;
    session.undo();
    if let Some(mut error) = answer.error {
        let way =
            answer.replies.len().checked_sub(2).and_then(|way| ways.get(way)).map_or(0, |way| way.chars().count());
        error.position = error.position.map(|slot| slot.saturating_sub(way).max(1));
        return Ok(Err(session.error(&pending, &sent, &error, true, cut)));
    }
    let outcome = answer.replies.into_iter().skip(2);
    if outcome.clone().any(|reply| reply.truncated) {
        return Ok(Err(too_much(&format!("it has more than {PLAN_BYTES_MAX} bytes"))));
    }
    Ok(Ok(outcome.map(lines).collect()))
}

/// The uppermost node of a plan that is told as JSON. The statement decides how deep and how large it is.
fn root(lines: &[String]) -> Result<Json, Box<SqlError>> {
    let tree: Result<Json, _> = serde_json::from_str(&lines.join("\n"));
    tree.map(|tree| tree[0]["Plan"].clone()).map_err(|error| Box::new(too_much(&error.to_string())))
}

/// The error of a plan that is more than can be read.
fn too_much(why: &str) -> SqlError {
    let message = format!("the plan is too large or too deep to be told: {why}");
    SqlError { code: "54000".to_owned(), message, cut: Some(CutReason::Size), ..SqlError::default() }
}

fn lines(reply: Reply) -> Vec<String> {
    reply.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect()
}

/// The nodes from the top down.
fn collect(node: &Json, nodes: &mut Vec<PlanNode>) {
    let text = |key: &str| node[key].as_str().map(str::to_owned);
    let kind = match node["Node Type"].as_str().unwrap_or_default() {
        "Seq Scan" | "Sample Scan" => PlanKind::Scan,
        // The scan of a heap below a bitmap finds rows by the indexes that made the bitmap.
        "Index Scan" | "Index Only Scan" | "Bitmap Index Scan" | "Bitmap Heap Scan" | "Tid Scan" => PlanKind::Search,
        "Sort" | "Incremental Sort" => PlanKind::Sort,
        _ => PlanKind::Other,
    };
    nodes.push(PlanNode { kind, table: text("Relation Name"), index: text("Index Name") });
    for below in node["Plans"].as_array().into_iter().flatten() {
        collect(below, nodes);
    }
}

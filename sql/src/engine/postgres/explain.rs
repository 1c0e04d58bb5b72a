//! Plans, in the server's words and as nodes.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::clock::{NOW_SETTING, moment};
use super::rules::{Act, judge};
use super::session::{Order, Session, refusal};
use super::statement::SAVE;
use super::template::NOW_MS;
use super::values::text;
use super::watch::Watch;
use super::wire::{Ask, Reply};
use crate::engine::{EngineError, Plan, PlanKind, PlanNode, SqlError};
use crate::script::split;
use crate::value::{Dialect, Value};

/// The plan of one statement, which is not run.
pub(super) async fn explain(
    session: &mut Session,
    sql: &str,
    parameters: &[Value],
) -> Result<Result<Plan, SqlError>, EngineError> {
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
    let order = Order {
        statement,
        act: Act::Read,
        now: &now,
        now_ms: NOW_MS,
        literals,
        parameters: &parameters,
        bytes_left: 0,
    };
    let order = order.with(&dates);
    let sent = order.sent();
    let ways = ["EXPLAIN (FORMAT JSON) ", "EXPLAIN "].map(|way| (way.chars().count(), format!("{way}{}", sent.sql)));
    let mut asks = vec![Ask::plain(SAVE), Ask::plain(order.now)];
    asks.extend(ways.iter().map(|(_, sql)| Ask { parameters: order.parameters, ..Ask::plain(sql) }));
    let (answer, cut) = session.say(&asks, Watch::Time).await?;
    session.undo();
    if let Some(mut error) = answer.error {
        let way = answer.replies.len().checked_sub(2).and_then(|way| ways.get(way)).map_or(0, |(chars, _)| *chars);
        error.position = error.position.map(|place| place.saturating_sub(way).max(1));
        return Ok(Err(session.error(&order, &sent, &error, true, cut)));
    }
    let mut texts = answer.replies.into_iter().skip(2).map(lines);
    let tree = texts.next().unwrap_or_default().join("\n");
    let lines = texts.next().unwrap_or_default().into_iter().map(|line| session.stand_ins.put(line)).collect();
    let tree: Json =
        serde_json::from_str(&tree).map_err(|error| EngineError::Lost(format!("a plan is no JSON: {error}")))?;
    let root = &tree[0]["Plan"];
    let mut nodes = Vec::new();
    collect(root, &mut nodes);
    Ok(Ok(Plan { lines, cost: root["Total Cost"].as_f64(), nodes }))
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

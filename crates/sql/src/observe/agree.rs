//! Comparison of a step that was run again with the first run, as far as PostgreSQL promises the same.

use serde_json::Value as Json;

/// True if an action did the same `again` that it did when this was `seen` of it: its statements ended with the same error, or with
/// none, and found or changed as many rows. PostgreSQL numbers its objects as they come and gives rows without an order as they lie,
/// so that the rows themselves may differ from one database to the next.
#[must_use]
pub fn same_outcome(seen: &Json, again: &Json) -> bool {
    outcome(seen) == outcome(again)
}

/// Parts that have to be the same.
fn outcome(data: &Json) -> (Vec<Outcome<'_>>, [&Json; 2]) {
    let results = data["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let results = results.iter().map(Outcome::of).collect();
    (results, [&data["error"]["code"], &data["error"]["statement"]])
}

#[derive(PartialEq, Eq)]
struct Outcome<'a> {
    command: &'a Json,
    /// `None` for a plan, whose lines depend on what the engine knows of its tables at the moment.
    rows: Option<&'a Json>,
    affected: &'a Json,
}

impl<'a> Outcome<'a> {
    fn of(result: &'a Json) -> Self {
        let plan = result["command"].as_str().is_some_and(|command| command.starts_with("EXPLAIN"));
        Self {
            command: &result["command"],
            rows: (!plan).then_some(&result["row_count"]),
            affected: &result["affected"],
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn data(command: &str, rows: &[i64], code: Option<&str>) -> Json {
        let error = code.map(|code| json!({"code": code, "statement": 1, "message": "words"}));
        let result = json!({"command": command, "rows": rows, "row_count": rows.len(), "affected": null});
        json!({"results": [result], "error": error})
    }

    #[test]
    fn rows_may_lie_otherwise() {
        assert!(same_outcome(&data("SELECT 2", &[1, 2], None), &data("SELECT 2", &[2, 1], None)));
    }

    #[test]
    fn effects_of_statements_may_not_differ() {
        let seen = data("SELECT 2", &[1, 2], Some("23505"));
        for again in [
            data("SELECT 3", &[1, 2, 3], Some("23505")),
            data("SELECT 2", &[1, 2, 3], Some("23505")),
            data("SELECT 2", &[1, 2], Some("23503")),
            data("SELECT 2", &[1, 2], None),
            json!({"results": [], "error": {"code": "23505", "statement": 1}}),
        ] {
            assert!(!same_outcome(&seen, &again), "{again}");
        }
    }

    #[test]
    fn plans_are_the_engines_own() {
        let (one, other) = (data("EXPLAIN", &[1], None), data("EXPLAIN", &[1, 2], None));
        assert!(same_outcome(&one, &other));
    }
}

//! The result of an evaluation for people: a line per fact.

use serde_json::Value;

use crate::terminal::visible;

/// The facts of a result; none where it has another form.
pub(super) fn facts(result: &Value) -> Option<Vec<(&'static str, String)>> {
    let mut lines = vec![("score", summary(result.get("all")?)?)];
    lines.extend(unscored(&result["all"]).map(|reasons| ("not scored", reasons)));
    let environments = result["environments"].as_object()?;
    if environments.len() > 1 {
        for (name, of_environment) in environments {
            lines.push(("  of", format!("{}: {}", visible(name), summary(of_environment)?)));
        }
    }
    if let Some(cut) = result["usage"]["cut_answers"].as_u64().filter(|cut| *cut > 0) {
        lines.push(("cut off", format!("{cut} answers ended at sampling.max_tokens")));
    }
    if let Some(baseline) = result.get("baseline") {
        let (from, all) = (visible(baseline["from"].as_str()?), summary(&baseline["all"])?);
        lines.push(("baseline", format!("{all}, {from}")));
        lines.extend(unscored(&baseline["all"]).map(|reasons| ("  not scored", reasons)));
        let compared = &baseline["comparison"];
        let flips = |name: &str| compared[name]["count"].as_u64();
        let mut text = estimate(&compared["difference"], "mean").unwrap_or_else(|| "-".to_owned());
        text.push_str(&format!(" in {} pairs", compared["pairs"]));
        if let (Some(now), Some(no_longer)) = (flips("fail_to_pass"), flips("pass_to_fail")) {
            text.push_str(&format!("; {now} solved now, {no_longer} no longer"));
        }
        lines.push(("better by", text));
    }
    lines.push(("numbers", "all of them: --json, or the file evaluation.json".to_owned()));
    Some(lines)
}

/// Mean score, strict rate and counts of many episodes.
fn summary(summary: &Value) -> Option<String> {
    let (scored, episodes) = (summary["scored"].as_u64()?, summary["episodes"].as_u64()?);
    let mean = estimate(&summary["mean"], "mean").unwrap_or_else(|| "-".to_owned());
    let strict = estimate(&summary["strict"], "rate").unwrap_or_else(|| "-".to_owned());
    Some(format!("{mean}, strict {strict}, {scored} of {episodes} scored"))
}

/// Episodes without a score, counted by reason; none where all have one.
fn unscored(summary: &Value) -> Option<String> {
    let reasons = summary["unscored"].as_object().filter(|reasons| !reasons.is_empty())?;
    let counts: Vec<String> = reasons.iter().map(|(reason, count)| format!("{count} {}", visible(reason))).collect();
    Some(counts.join(", "))
}

/// A number with its 95% interval.
fn estimate(estimate: &Value, name: &str) -> Option<String> {
    let value = estimate[name].as_f64()?;
    let ends = estimate["interval"].as_array().and_then(|ends| Some((ends.first()?.as_f64()?, ends.get(1)?.as_f64()?)));
    let interval = ends.map(|(low, high)| format!(" ({low:.4} to {high:.4})")).unwrap_or_default();
    Some(format!("{value:.4}{interval}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_evaluation_is_told_in_lines() {
        let all = json!({"episodes": 20, "scored": 19, "mean": {"mean": 0.5, "interval": [0.3, 0.7]}, "strict": {"rate": 0.25, "interval": null}, "unscored": {"timeout": 1}});
        let comparison = json!({
            "pairs": 19, "difference": {"mean": 0.1, "interval": [-0.1, 0.3]}, "fail_to_pass": {"count": 3}, "pass_to_fail": {"count": 1},
        });
        let result = json!({
            "all": all, "environments": {"a/b@1": all}, "baseline": {"from": "builtin:null", "all": all, "comparison": comparison},
        });
        let lines = facts(&result).expect("an evaluation");
        assert_eq!(lines[0], ("score", "0.5000 (0.3000 to 0.7000), strict 0.2500, 19 of 20 scored".to_owned()));
        assert_eq!(
            lines[4],
            ("better by", "0.1000 (-0.1000 to 0.3000) in 19 pairs; 3 solved now, 1 no longer".to_owned())
        );
        assert_eq!(
            (&lines[1], &lines[3]),
            (&("not scored", "1 timeout".to_owned()), &("  not scored", "1 timeout".to_owned()))
        );
        assert_eq!(facts(&json!({"answered": 3})), None);
    }
}

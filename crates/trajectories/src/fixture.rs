//! Rollouts for tests: small calls with ids and tokens that are known.

use palestra_protocol::episode::Trajectory;
use palestra_protocol::id::CallId;
use palestra_protocol::model_call::{CallKind, CallOutcome, CallTokens, ModelCall};
use palestra_protocol::time::Timestamp;
use serde_json::{Value, json};

use crate::Rollout;

/// The id of a call: ids ascend with numbers.
pub(crate) fn call_id(number: u64) -> CallId {
    format!("call_{number:032x}").parse().unwrap()
}

/// A completed call with log-probabilities -0.5, -1.0, ... of its completion.
pub(crate) fn call(number: u64, prompt: &[u32], completion: &[u32]) -> ModelCall {
    ModelCall {
        id: call_id(number),
        session: format!("ses_{:032x}", 1).parse().unwrap(),
        episode: format!("epi_{:032x}", 1).parse().unwrap(),
        seq: number,
        kind: CallKind::ChatCompletions,
        upstream: "engine".to_owned(),
        model: "policy".to_owned(),
        policy_version: Some("7".to_owned()),
        outcome: CallOutcome::Completed,
        status: 200,
        error: None,
        finish_reason: Some("stop".to_owned()),
        streamed: false,
        begun_at: Timestamp::from_milliseconds(1_700_000_000_000 + i64::try_from(number).unwrap() * 1_000),
        first_us: Some(100),
        duration_us: 250_000,
        input_tokens: prompt.len() as u64,
        output_tokens: completion.len() as u64,
        cost: 0.001,
        request: json!({"messages": [{"role": "user", "content": format!("turn {number}")}]}),
        response: json!({"choices": [{"message": {"role": "assistant", "content": format!("answer {number}")}, "finish_reason": "stop"}]}),
        tokens: CallTokens {
            prompt_token_ids: Some(prompt.to_vec()),
            completion_token_ids: Some(completion.to_vec()),
            logprobs: Some((1..=completion.len()).map(|place| -0.5 * place as f32).collect()),
        },
    }
}

/// The verdict of an episode, with a check by the name of `exact`.
pub(crate) fn verdict(status: &str, score: Option<f64>) -> Value {
    json!({
        "episode": format!("epi_{:032x}", 1), "status": status, "score": score, "strict": score.map(|score| u8::from(score >= 1.0)),
        "passed": score == Some(1.0), "trainable": status == "scored",
        "checks": [{"name": "exact", "weight": 1.0, "score": score.unwrap_or(0.0), "passed": score == Some(1.0), "evidence": "4 of 5 rows"}],
        "judge": "state", "verifier": {"name": "rows", "version": "sha256:00"}, "state": null, "seq": 2,
        "usage": {"steps": 2, "calls": 2, "env_ms": 3, "judge_ms": 1, "tokens": 0, "cost": 0.0},
        "detail": if status == "scored" { Value::Null } else { json!("the sandbox went away") },
    })
}

/// An episode with one step for each reward, numbered from 1.
pub(crate) fn trajectory(rewards: &[Option<f64>], verdict: &Value) -> Trajectory {
    let episode = format!("epi_{:032x}", 1);
    let steps: Vec<Value> = rewards
        .iter()
        .enumerate()
        .map(|(place, reward)| {
            json!({
                "seq": place + 1,
                "action": {"calls": [{"id": format!("tool_{}", place + 1), "tool": "run", "arguments": {"line": "ls"}}]},
                "answer": {
                    "episode": episode, "seq": place + 1, "durable_seq": place + 1,
                    "observation": {"text": format!("observation {}", place + 1)},
                    "messages": [{"role": "tool", "content": format!("observation {}", place + 1), "tool_call_id": format!("tool_{}", place + 1)}],
                    "reward": reward, "terminated": place + 1 == rewards.len(), "truncated": false, "stop_reason": null,
                    "info": {"env_ms": 1.0, "queue_ms": 0.0},
                },
                "meta": null,
                "at": "2026-11-21T06:30:00.000Z",
            })
        })
        .collect();
    serde_json::from_value(json!({
        "episode": {
            "id": episode, "session": format!("ses_{:032x}", 1), "attempt": 1, "environment": "sql/rows@1", "task": "rows-17",
            "seed": 3, "run": format!("run_{:032x}", 1), "group": format!("grp_{:032x}", 1), "origin": null, "state": "ended",
            "seq": rewards.len(), "terminated": true, "truncated": false, "stop_reason": "done", "verdict": verdict,
            "started_at": "2026-11-21T06:29:00.000Z", "ended_at": "2026-11-21T06:31:00.000Z",
        },
        "task": {
            "id": "rows-17", "split": "train", "index": 17, "difficulty": 0.5, "template": "rows",
            "messages": [{"role": "system", "content": "Use the tools."}, {"role": "user", "content": "Count the rows."}],
            "tools": [{"type": "function", "function": {"name": "run", "description": "Runs a line.", "parameters": {"type": "object"}}}],
            "metadata": null,
        },
        "steps": steps,
    }))
    .unwrap()
}

/// A rollout that scored 0.5 in two steps.
pub(crate) fn rollout(calls: Vec<ModelCall>) -> Rollout {
    Rollout { trajectory: trajectory(&[Some(0.0), Some(0.5)], &verdict("scored", Some(0.5))), calls }
}

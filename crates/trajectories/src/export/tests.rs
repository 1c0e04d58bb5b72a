//! Tests of the forms: each is held to what its reader takes.

use ::parquet::file::reader::{FileReader, SerializedFileReader};
use bytes::Bytes;
use palestra_protocol::model_call::ModelCall;
use serde_json::{Value, json};

use super::{Exporter, Format, Tally};
use crate::Rollout;
use crate::fixture::{call, call_id, rollout, trajectory, verdict};

/// A loop of two calls, and a sub-agent of one.
fn calls() -> Vec<ModelCall> {
    let mut calls = vec![call(1, &[1, 2], &[3, 4]), call(2, &[50], &[51]), call(3, &[1, 2, 3, 4, 5], &[6])];
    (calls[0].seq, calls[1].seq, calls[2].seq) = (0, 1, 1);
    calls
}

fn unscored(status: &str) -> Rollout {
    Rollout { trajectory: trajectory(&[Some(0.25), None], &verdict(status, None)), calls: calls() }
}

fn export(format: Format, rollouts: &[Rollout]) -> (Vec<u8>, Tally) {
    let mut exporter = Exporter::new(format);
    let mut bytes = Vec::new();
    for rollout in rollouts {
        bytes.extend(exporter.push(rollout).unwrap());
    }
    let tally = exporter.tally();
    bytes.extend(exporter.finish().unwrap());
    (bytes, tally)
}

fn lines(format: Format, rollouts: &[Rollout]) -> (Vec<Value>, Tally) {
    let (bytes, tally) = export(format, rollouts);
    let lines = std::str::from_utf8(&bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (lines, tally)
}

/// The fields of an object but for labels.
fn without(mut value: Value, fields: &[&str]) -> Value {
    for field in fields {
        value.as_object_mut().unwrap().remove(*field);
    }
    value
}

const LABELS: [&str; 10] =
    ["session", "episode", "run", "group", "environment", "task", "status", "score", "path", "policy_versions"];

#[test]
fn formats_are_written_as_they_are_named() {
    for format in Format::ALL {
        assert_eq!(serde_json::to_value(format).unwrap(), format.as_str());
    }
}

#[test]
fn openenv_has_a_turn_for_each_call() {
    let (lines, tally) = lines(Format::Openenv, &[rollout(calls())]);
    assert_eq!(
        without(lines[2].clone(), &["metadata"]),
        json!({
            "node_id": call_id(3), "prompt_token_ids": [1, 2, 3, 4, 5], "completion_token_ids": [6],
            "per_token_logps": [-0.5], "loss_mask": [0, 0, 0, 0, 0, 1],
            "request": {"messages": [{"role": "user", "content": "turn 3"}]},
            "response": {"choices": [{"message": {"role": "assistant", "content": "answer 3"}, "finish_reason": "stop"}]},
        })
    );
    assert_eq!(lines[2]["metadata"]["reward"], 0.5);
    assert_eq!(lines[2]["metadata"]["parent"], json!(call_id(1)));
    assert_eq!((tally.records, tally.tokens_trained, tally.calls_left_out), (3, 4, 0));
}

#[test]
fn openenv_masks_what_was_not_scored_and_leaves_out_what_has_no_logprobs() {
    let mut calls = calls();
    calls[2].tokens.logprobs = None;
    let (lines, tally) = lines(Format::Openenv, &[Rollout { calls, ..unscored("timeout") }]);
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["loss_mask"], json!([0, 0, 0, 0]));
    assert_eq!((&lines[0]["metadata"]["reward"], &lines[0]["metadata"]["status"]), (&Value::Null, &json!("timeout")));
    assert_eq!((tally.not_scored, tally.calls_left_out, tally.tokens_trained), (1, 1, 0));
}

#[test]
fn verl_has_an_output_for_each_path() {
    let (lines, tally) = lines(Format::Verl, &[rollout(calls())]);
    assert_eq!(
        without(lines[1].clone(), &["extra_fields"]),
        json!({
            "prompt_ids": [1, 2], "response_ids": [3, 4, 5, 6], "response_mask": [1, 1, 0, 1],
            "response_logprobs": [-0.5, -1.0, 0.0, -0.5], "reward_score": 0.5, "num_turns": 4,
            "metrics": {"generate_sequences": 0.5},
        })
    );
    assert_eq!(lines[1]["extra_fields"]["policy_versions"], json!(["7"]));
    assert_eq!((lines.len(), tally.records, tally.tokens_trained), (2, 2, 4));
}

#[test]
fn skyrl_has_a_row_for_each_path_and_counts_repetitions() {
    let (lines, _) = lines(Format::Skyrl, &[rollout(calls()), rollout(calls())]);
    let group = format!("grp_{:032x}", 1);
    assert_eq!(
        lines[1],
        json!({
            "prompt_token_ids": [[50], [1, 2]], "response_ids": [[51], [3, 4, 5, 6]], "rewards": [0.5, 0.5],
            "loss_masks": [[1], [1, 1, 0, 1]], "stop_reasons": ["stop", "stop"], "rollout_metrics": null,
            "rollout_logprobs": [[-0.5], [-0.5, -1.0, 0.0, -0.5]],
            "trajectory_ids": [{"instance_id": group, "repetition_id": 1}, {"instance_id": group, "repetition_id": 1}],
            "is_last_step": [false, true],
        })
    );
}

#[test]
fn trl_has_a_completion_for_each_path() {
    let (lines, _) = lines(Format::Trl, &[rollout(calls())]);
    assert_eq!(
        without(lines[1].clone(), &LABELS),
        json!({
            "prompt_ids": [1, 2], "completion_ids": [3, 4, 5, 6], "logprobs": [-0.5, -1.0, 0.0, -0.5],
            "env_mask": [1, 1, 0, 1], "reward": 0.5, "calls": [call_id(1), call_id(3)],
        })
    );
}

#[test]
fn trl_takes_what_was_not_scored_and_what_has_no_logprobs() {
    let mut calls = calls();
    calls[2].tokens.logprobs = None;
    let (lines, tally) = lines(Format::Trl, &[Rollout { calls, ..unscored("infra_error") }]);
    assert_eq!((&lines[1]["reward"], &lines[1]["logprobs"]), (&Value::Null, &json!([null, null, null, null])));
    assert_eq!((tally.not_scored, tally.rollouts_left_out), (1, 0));
}

#[test]
fn forms_without_a_word_for_it_leave_out_what_was_not_scored() {
    let running = Rollout { trajectory: trajectory(&[], &Value::Null), calls: calls() };
    for format in [Format::Verl, Format::Skyrl, Format::Tinker] {
        let (lines, tally) = lines(format, &[unscored("invalid"), unscored("timeout"), running.clone()]);
        assert_eq!(
            (lines.len(), tally.rollouts, tally.not_scored, tally.rollouts_left_out),
            (0, 3, 3, 3),
            "{format:?}"
        );
    }
}

#[test]
fn no_form_rewards_what_was_not_scored_or_is_not_trainable() {
    let mut untrusted =
        Rollout { trajectory: trajectory(&[Some(0.25)], &verdict("scored", Some(0.75))), calls: calls() };
    if let Some(verdict) = &mut untrusted.trajectory.episode.verdict {
        verdict.trainable = false;
    }
    for format in Format::ALL.into_iter().filter(|format| format.media_type() == "application/x-ndjson") {
        let (bytes, tally) = export(format, &[unscored("timeout"), untrusted.clone()]);
        let text = String::from_utf8(bytes).unwrap();
        for zero in ["\"reward\":0.0", "\"reward_score\":0.0", "\"rewards\":[0.0", "\"score\":{\"score\""] {
            assert!(!text.contains(zero), "{format:?}: {text}");
        }
        if !matches!(format, Format::Atif | Format::Jsonl) {
            assert!(!text.contains("\"reward\":0.75"), "{format:?}: {text}");
        }
        assert_eq!((tally.not_scored, tally.not_trainable), (1, 1), "{format:?}");
    }
}

#[test]
fn rollouts_without_tokens_make_no_path_and_are_counted() {
    let mut calls = calls();
    for call in &mut calls {
        call.tokens.prompt_token_ids = None;
    }
    let rollouts = [rollout(calls), rollout(Vec::new())];
    for format in [Format::Openenv, Format::Verl, Format::Skyrl, Format::Trl, Format::Tinker, Format::Verifiers] {
        let (lines, tally) = lines(format, &rollouts);
        assert_eq!((lines.len(), tally.without_tokens, tally.rollouts_left_out), (0, 2, 2), "{format:?}");
    }
}

#[test]
fn tinker_has_a_datum_for_each_path() {
    let (lines, _) = lines(Format::Tinker, &[rollout(calls())]);
    assert_eq!(
        lines[1]["datum"],
        json!({
            "model_input": {"chunks": [{"type": "encoded_text", "tokens": [1, 2, 3, 4, 5]}]},
            "loss_fn_inputs": {
                "target_tokens": {"data": [2, 3, 4, 5, 6], "dtype": "int64", "shape": [5]},
                "logprobs": {"data": [0.0, -0.5, -1.0, 0.0, -0.5], "dtype": "float32", "shape": [5]},
                "mask": {"data": [0.0, 1.0, 1.0, 0.0, 1.0], "dtype": "float32", "shape": [5]},
            },
        })
    );
    assert_eq!(lines[1]["reward"], 0.5);
}

#[test]
fn tinker_leaves_out_paths_without_logprobs() {
    let mut calls = calls();
    calls[2].tokens.logprobs = None;
    let (lines, tally) = lines(Format::Tinker, &[rollout(calls)]);
    assert_eq!((lines.len(), tally.records, tally.paths_left_out, tally.tokens_trained), (1, 1, 1, 1));
}

/// Calls of a loop whose requests hold the talk so far.
fn talk() -> Vec<ModelCall> {
    let mut calls = vec![call(1, &[1, 2], &[3, 4]), call(2, &[1, 2, 3, 4, 5], &[6])];
    (calls[0].seq, calls[1].seq) = (0, 1);
    let asked = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "List."}]);
    let said = json!({
        "role": "assistant", "content": null,
        "tool_calls": [{"id": "tool_1", "type": "function", "function": {"name": "run", "arguments": "{\"line\":\"ls\"}"}}],
    });
    let mut later = asked.as_array().unwrap().clone();
    later.push(said.clone());
    later.push(json!({"role": "tool", "tool_call_id": "tool_1", "content": "a b"}));
    calls[0].request = json!({"messages": asked});
    calls[0].response = json!({"choices": [{"message": said, "finish_reason": "tool_calls"}]});
    calls[1].request = json!({"messages": later});
    calls
}

#[test]
fn verifiers_has_nodes_that_make_the_tokens() {
    let (lines, tally) = lines(Format::Verifiers, &[rollout(talk())]);
    let nodes: Vec<Value> = lines[0]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| without(node.clone(), &["message", "timestamp"]))
        .collect();
    let node = |parent: Option<u64>, sampled: bool, tokens: &[u32], logprobs: &[f32]| {
        json!({
            "parent": parent, "sampled": sampled, "token_ids": tokens, "mask": vec![sampled; tokens.len()], "is_content": [],
            "logprobs": logprobs,
        })
    };
    assert_eq!(
        nodes,
        [
            node(None, false, &[], &[]),
            node(Some(0), false, &[1, 2], &[]),
            node(Some(1), true, &[3, 4], &[-0.5, -1.0]),
            node(Some(2), false, &[5], &[]),
            node(Some(3), true, &[6], &[-0.5]),
        ]
    );
    assert_eq!(lines[0]["nodes"][3]["message"], json!({"role": "tool", "content": "a b", "tool_call_id": "tool_1"}));
    assert_eq!((&lines[0]["rewards"], &lines[0]["ok"]), (&json!({"score": {"score": 0.5}}), &json!(true)));
    assert_eq!((tally.records, tally.tokens_trained), (1, 3));
}

#[test]
fn verifiers_says_what_was_not_scored() {
    let (lines, _) = lines(Format::Verifiers, &[unscored("infra_error")]);
    assert_eq!((&lines[0]["rewards"], &lines[0]["ok"]), (&json!({"score": null}), &json!(false)));
    assert_eq!(lines[0]["errors"], json!([{"type": "infra_error", "message": "the sandbox went away"}]));
}

#[test]
fn atif_has_a_step_for_each_message() {
    let (lines, _) = lines(Format::Atif, &[rollout(talk())]);
    let steps = lines[0]["steps"].as_array().unwrap();
    let sources: Vec<&str> = steps.iter().map(|step| step["source"].as_str().unwrap()).collect();
    assert_eq!(sources, ["system", "user", "agent", "agent"]);
    assert_eq!(
        without(steps[2].clone(), &["extra"]),
        json!({
            "step_id": 3, "timestamp": "2023-11-14T22:13:21.000Z", "source": "agent", "message": "",
            "tool_calls": [{"tool_call_id": "tool_1", "function_name": "run", "arguments": {"line": "ls"}}],
            "observation": {"results": [{"source_call_id": "tool_1", "content": "a b"}]},
            "metrics": {
                "prompt_tokens": 2, "completion_tokens": 2, "prompt_token_ids": [1, 2], "completion_token_ids": [3, 4],
                "logprobs": [-0.5, -1.0], "extra": {"cost": 0.001, "duration_us": 250_000},
            },
            "llm_call_count": 1,
        })
    );
    assert_eq!(steps[3]["observation"], json!({"results": [{"content": "observation 2"}]}));
}

#[test]
fn atif_shows_the_messages_of_a_retry_once() {
    let mut calls = talk();
    calls.push(ModelCall { id: call_id(3), ..calls[1].clone() });
    let (lines, _) = lines(Format::Atif, &[rollout(calls)]);
    assert_eq!(lines[0]["steps"].as_array().unwrap().len(), 5);
    assert_eq!(lines[0]["steps"][2]["observation"]["results"].as_array().unwrap().len(), 1);
}

#[test]
fn atif_tells_an_episode_without_calls_by_its_steps() {
    let (lines, tally) = lines(Format::Atif, &[rollout(Vec::new())]);
    let steps = lines[0]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 4);
    assert_eq!(steps[3]["tool_calls"][0]["tool_call_id"], "tool_2");
    assert_eq!(steps[3]["observation"], json!({"results": [{"source_call_id": "tool_2", "content": "observation 2"}]}));
    assert_eq!((tally.records, tally.without_tokens, tally.tokens_trained), (1, 1, 0));
}

#[test]
fn inspect_is_a_zip_with_a_sample_for_each_rollout() {
    let (bytes, tally) = export(Format::Inspect, &[rollout(talk()), unscored("timeout")]);
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut file = |name: &str| -> Value { serde_json::from_reader(archive.by_name(name).unwrap()).unwrap() };
    let header = file("header.json");
    assert_eq!(
        header["results"],
        json!({
            "total_samples": 2, "completed_samples": 1,
            "scores": [{
                "name": "verdict", "scorer": "verdict", "params": {}, "scored_samples": 1, "unscored_samples": 1,
                "metrics": {"mean": {"name": "mean", "value": 0.5, "params": {}}},
            }],
        })
    );
    assert_eq!(file("_journal/start.json")["eval"], header["eval"]);
    assert_eq!(file("summaries.json").as_array().unwrap().len(), 2);
    let sample = file("samples/rows-17_epoch_1.json");
    let roles: Vec<&str> =
        sample["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant"]);
    assert_eq!((&sample["scores"]["verdict"]["value"], &sample["error"]), (&json!(0.5), &Value::Null));
    let sample = file("samples/rows-17_epoch_2.json");
    assert_eq!(
        (&sample["scores"], &sample["error"]["message"]),
        (&Value::Null, &json!("timeout: the sandbox went away"))
    );
    assert_eq!((tally.records, tally.not_scored), (2, 1));
}

#[test]
fn an_empty_export_is_a_whole_file() {
    let (bytes, _) = export(Format::Inspect, &[]);
    assert_eq!(zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap().len(), 3);
    let (bytes, _) = export(Format::Parquet, &[]);
    assert_eq!((&bytes[..4], &bytes[bytes.len() - 4..]), (b"PAR1".as_slice(), b"PAR1".as_slice()));
    assert!(export(Format::Verl, &[]).0.is_empty());
}

#[test]
fn parquet_has_a_row_for_each_path() {
    let mut bare = calls();
    bare[2].tokens.logprobs = None;
    let (bytes, tally) = export(Format::Parquet, &[Rollout { calls: bare, ..unscored("timeout") }, rollout(calls())]);
    let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    assert_eq!(rows.len(), 4);
    assert!(rows[1].contains("score: null, reward: null") && rows[1].contains("logprobs: null"), "{}", rows[1]);
    assert!(rows[3].contains("reward: 0.5") && rows[3].contains("token_ids: [1, 2, 3, 4, 5, 6]"), "{}", rows[3]);
    assert!(rows[3].contains("mask: [0, 0, 1, 1, 0, 1]"), "{}", rows[3]);
    assert_eq!((tally.records, tally.not_scored), (4, 1));
}

#[test]
fn jsonl_has_everything() {
    let rollout = rollout(calls());
    let (lines, _) = lines(Format::Jsonl, std::slice::from_ref(&rollout));
    assert_eq!(lines[0]["graph"]["counts"]["tokens_trained"], 4);
    let line = without(lines[0].clone(), &["graph"]);
    assert_eq!(serde_json::from_value::<Rollout>(line).unwrap(), rollout);
}

"""Reads exports with the packages that they are made for. Run by hand: it says of each form what was read, or that its package is
not installed. The rollouts hold a loop with tools, a sub-agent, a retry, a compacted history, missing log-probabilities, and episodes
that were not scored, not trainable, not judged, and without calls.

    python readers.py EXPORTER FOLDER

EXPORTER is the built example `export`; FOLDER takes the files."""

import json
import pathlib
import subprocess
import sys

EXPORTER, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])


def identifier(prefix, number):
    return f"{prefix}{number:032x}"


def call(number, seq, prompt, completion, request, message, logprobs=True, finish="stop", episode=1):
    return {
        "id": identifier("call_", number), "session": identifier("ses_", 1), "episode": identifier("epi_", episode), "seq": seq,
        "kind": "chat_completions", "upstream": "engine", "model": "policy", "policy_version": "7", "outcome": "completed",
        "status": 200, "error": None, "finish_reason": finish, "streamed": False, "begun_at": "2026-11-21T06:29:10.000Z",
        "first_us": 10, "duration_us": 250000, "input_tokens": len(prompt), "output_tokens": len(completion), "cost": 0.0,
        "request": {"messages": request}, "response": {"choices": [{"message": message, "finish_reason": finish}]},
        "prompt_token_ids": prompt, "completion_token_ids": completion,
        "logprobs": [-0.25 * (place + 1) for place in range(len(completion))] if logprobs else None,
    }


def rollout(episode, calls, status="scored", score=0.5, trainable=True, steps=2):
    name = identifier("epi_", episode)
    verdict = status and {
        "episode": name, "status": status, "score": score if status == "scored" else None, "strict": None, "passed": False,
        "trainable": trainable and status == "scored",
        "checks": [{"name": "exact", "weight": 1.0, "score": 0.5, "passed": False, "evidence": "4 of 5 rows"}],
        "judge": "state", "verifier": {"name": "rows", "version": "sha256:00"}, "state": None, "seq": steps,
        "usage": {"steps": steps, "calls": 2, "env_ms": 3, "judge_ms": 1, "tokens": 0, "cost": 0.0},
        **({} if status == "scored" else {"detail": "the sandbox went away"}),
    }
    return {
        "trajectory": {
            "episode": {
                "id": name, "session": identifier("ses_", 1), "attempt": episode, "environment": "sql/rows@1", "task": "rows-17",
                "seed": 3, "run": identifier("run_", 1), "group": identifier("grp_", 1), "origin": None, "state": "ended",
                "seq": steps, "terminated": True, "truncated": False, "stop_reason": "done", "verdict": verdict,
                "started_at": "2026-11-21T06:29:00.000Z", "ended_at": "2026-11-21T06:31:00.000Z",
            },
            "task": {
                "id": "rows-17", "split": "train", "index": 17, "difficulty": 0.5, "template": "rows",
                "messages": [{"role": "system", "content": "Use the tools."}, {"role": "user", "content": "Count the rows."}],
                "tools": [{"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}}], "metadata": None,
            },
            "steps": [
                {
                    "seq": seq, "action": {"calls": [{"id": f"tool_{seq}", "tool": "run", "arguments": {"line": "ls"}}]},
                    "answer": {
                        "episode": name, "seq": seq, "durable_seq": seq, "observation": {"text": f"observation {seq}"},
                        "messages": [{"role": "tool", "content": f"observation {seq}", "tool_call_id": f"tool_{seq}"}],
                        "reward": 0.25, "terminated": seq == steps, "truncated": False, "stop_reason": None,
                        "info": {"env_ms": 1.0, "queue_ms": 0.0},
                    },
                    "meta": None, "at": "2026-11-21T06:30:00.000Z",
                }
                for seq in range(1, steps + 1)
            ],
        },
        "calls": calls,
    }


def talk(episode, logprobs=True):
    """A loop of three calls with a retry, a sub-agent, and a history that is compacted at the end."""
    asked = [{"role": "system", "content": "Use the tools."}, {"role": "user", "content": "Count the rows."}]
    tool = lambda seq: {
        "role": "assistant", "content": "Looking.", "reasoning_content": "rows",
        "tool_calls": [{"id": f"tool_{seq}", "type": "function", "function": {"name": "run", "arguments": '{"line": "ls"}'}}],
    }
    result = lambda seq: {"role": "tool", "tool_call_id": f"tool_{seq}", "content": f"observation {seq}"}
    done = {"role": "assistant", "content": "Five."}
    first = asked + [tool(1), result(1)]
    base = 100 * episode
    return [
        call(base + 1, 0, [1, 2, 3], [4, 5], asked, tool(1), logprobs, "tool_calls", episode),
        call(base + 2, 1, [1, 2, 3, 4, 5, 6], [7], first, {"role": "assistant", "content": "lost"}, logprobs, "stop", episode),
        call(base + 3, 1, [1, 2, 3, 4, 5, 6], [8, 9], first, tool(2), logprobs, "tool_calls", episode),
        call(base + 4, 1, [50, 51], [52], [{"role": "user", "content": "Sum."}], done, logprobs, "length", episode),
        call(base + 5, 2, [1, 2, 60], [61], asked + [{"role": "user", "content": "So far: 4."}], done, logprobs, "stop", episode),
    ]


ROLLOUTS = [
    rollout(1, talk(1)),
    rollout(2, talk(2), score=1.0),
    rollout(3, talk(3, logprobs=False)),
    rollout(4, talk(4), status="infra_error"),
    rollout(5, talk(5), status=None),
    rollout(6, talk(6), trainable=False),
    rollout(7, []),
]


def export(form, ending="jsonl"):
    lines = "".join(json.dumps(rollout) + "\n" for rollout in ROLLOUTS)
    made = subprocess.run([EXPORTER, form], input=lines.encode(), capture_output=True, check=True)
    path = FOLDER / f"{form}.{ending}"
    path.write_bytes(made.stdout)
    print(f"{form}: {len(made.stdout)} bytes, tally {made.stderr.decode().strip()}")
    return path


def records(form):
    return [json.loads(line) for line in export(form).read_text().splitlines()]


def openenv():
    from openenv.core.harness.training import TrainingTrace, TrainingTurn

    turns = [TrainingTurn.model_validate_json(line) for line in export("openenv").read_text().splitlines()]
    trace = TrainingTrace(turns=turns)
    trained = sum(sum(turn.loss_mask) for turn in turns)
    return f"TrainingTrace of {len(trace.turns)} turns, {trained} trained tokens"


def verl():
    import torch  # noqa: F401
    from verl.experimental.agent_loop.agent_loop import AgentLoopOutput

    outputs = [AgentLoopOutput.model_validate(record) for record in records("verl")]
    return f"{len(outputs)} AgentLoopOutputs, rewards {[output.reward_score for output in outputs]}"


def skyrl():
    from skyrl.train.generators.base import TrajectoryID
    from skyrl.train.utils.trainer_utils import validate_generator_output

    batches = records("skyrl")
    rows = 0
    for batch in batches:
        batch["trajectory_ids"] = [TrajectoryID(**entry) for entry in batch["trajectory_ids"]]
        validate_generator_output(len(batch["response_ids"]), batch)
        rows += len(batch["response_ids"])
    return f"{len(batches)} GeneratorOutputs with {rows} rows"


def trl():
    import trl  # noqa: F401

    rows = records("trl")
    assert all({"prompt_ids", "completion_ids", "logprobs", "env_mask", "reward"} <= row.keys() for row in rows)
    return f"{len(rows)} completions, rewards {[row['reward'] for row in rows]}"


def verifiers():
    from verifiers.v1.trace import WireTrace

    traces = [WireTrace.model_validate(record) for record in records("verifiers")]
    branches = [[branch.token_ids for branch in trace.branches] for trace in traces]
    masks = [[sum(branch.sampled_mask) for branch in trace.branches] for trace in traces]
    assert [1, 2, 3, 4, 5, 6, 8, 9] in branches[0], branches[0]
    return f"{len(traces)} traces, rewards {[(t.rewards, t.ok) for t in traces]}, branches {branches[0]}, trained {masks[0]}"


def tinker():
    from tinker import Datum, ModelInput, TensorData

    data = []
    for record in records("tinker"):
        datum = record["datum"]
        inputs = {name: TensorData(**tensor) for name, tensor in datum["loss_fn_inputs"].items()}
        data.append(Datum(model_input=ModelInput.model_validate(datum["model_input"]), loss_fn_inputs=inputs))
        assert data[-1].model_input.length == len(datum["loss_fn_inputs"]["target_tokens"]["data"])
    return f"{len(data)} datums, lengths {[datum.model_input.length for datum in data]}"


def atif():
    from harbor.models.trajectories import Trajectory

    trajectories = [Trajectory.model_validate(record) for record in records("atif")]
    return f"{len(trajectories)} trajectories, steps {[len(t.steps) for t in trajectories]}, sources {[s.source for s in trajectories[0].steps]}"


def inspect():
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    path = str(export("inspect", "eval"))
    log = read_eval_log(path)
    header = read_eval_log(path, header_only=True)
    summaries = read_eval_log_sample_summaries(path)
    metric = header.results.scores[0].metrics["mean"].value
    errors = [sample.error.message if sample.error else None for sample in log.samples]
    values = [list(sample.scores.values())[0].value if sample.scores else None for sample in log.samples]
    roles = [message.role for message in log.samples[0].messages]
    return f"status {log.status}, {len(log.samples)} samples, {len(summaries)} summaries, scores {values}, errors {errors}, mean {metric}, messages {roles}"


def parquet():
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(export("parquet", "parquet"))
    rows = table.to_pylist()
    assert all(len(row["token_ids"]) == len(row["mask"]) for row in rows)
    print(table.schema.to_string(show_schema_metadata=False, show_field_metadata=False).replace("\n", "; "))
    return f"{table.num_rows} rows; first {rows[0]}; rewards {[row['reward'] for row in rows]}; logprobs null in {sum(row['logprobs'] is None for row in rows)}"


def jsonl():
    return f"{len(records('jsonl'))} rollouts"


for reader in [openenv, verl, skyrl, trl, verifiers, tinker, atif, inspect, parquet, jsonl]:
    try:
        print(f"  read: {reader()}")
    except ImportError as missing:
        print(f"  {reader.__name__} was not read: {missing}")

"""The client of OpenAI, unchanged: files up and down, both ways to train, events, checkpoints, results, and its error classes."""

import csv
import io
import json
import time

from harness import ADMIN_KEY, expect, main, new_id
from training import serve

MODEL = "builtin:tiny-transformer"
ENVIRONMENT = "bench/counter"
# As small as a model can be and still be one.
TINY = {"palestra.layers": "1", "palestra.width": "32"}
WAIT_S = 600
POLL_S = 0.2


def client(server, key=ADMIN_KEY):
    from openai import OpenAI

    return OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0, timeout=120)


def examples(count):
    """Sums, one a line, as the file that is uploaded."""
    lines = [
        {"messages": [{"role": "user", "content": f"{one} + 1?"}, {"role": "assistant", "content": str(one + 1)}]}
        for one in range(count)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def watch(api, job):
    """Follows a job by its events until it is over; answers it with all that was told, oldest first."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        found = api.fine_tuning.jobs.retrieve(job)
        if found.status in ("succeeded", "failed", "cancelled"):
            # The pages are followed by the client itself.
            return found, list(api.fine_tuning.jobs.list_events(job, limit=3))[::-1]
        time.sleep(POLL_S)
    raise TimeoutError(f"{job} is {found.status} after {WAIT_S} s")


def succeed(api, job):
    done, told = watch(api, job)
    expect(done.status == "succeeded", f"{job} {done.status}: {done.error}")
    expect(told[0].message == "The job is queued", f"the first event is {told[0]}")
    expect(told[-1].message == "The job is succeeded", f"the last event is {told[-1]}")
    numbers = [event.data for event in told if event.type == "metrics"]
    expect(numbers and all("step" in one for one in numbers), f"without numbers: {told}")
    return done, numbers


def files(api):
    """Uploads and reads back; answers the file to train on and the one to measure on."""
    content = examples(16)
    made = api.files.create(file=("sums.jsonl", content), purpose="fine-tune")
    held_out = api.files.create(file=("held-out.jsonl", examples(4)), purpose="fine-tune")
    expect(made.bytes == len(content) and made.filename == "sums.jsonl", f"it was uploaded as {made}")
    expect(api.files.content(made.id).read() == content, "the content is another")
    listed = [file.id for file in api.files.list(purpose="fine-tune", limit=1)]
    expect(listed == [held_out.id, made.id], f"listed are {listed}")
    spare = api.files.create(file=b"spare", purpose="user_data")
    expect(api.files.delete(spare.id).deleted, "it is not deleted")
    return made.id, held_out.id


def supervised(api, training_file, validation_file):
    asked = {"n_epochs": 2, "batch_size": 4}
    job = api.fine_tuning.jobs.create(
        model=MODEL,
        training_file=training_file,
        validation_file=validation_file,
        method={"type": "supervised", "supervised": {"hyperparameters": asked}},
        metadata={"team": "sums", **TINY},
        suffix="sums",
        seed=3,
    )
    expect(job.metadata["team"] == "sums" and job.seed == 3, f"it was queued as {job}")
    done, numbers = succeed(api, job.id)
    expect(done.hyperparameters.n_epochs == 2 and done.hyperparameters.batch_size == 4, f"{done.hyperparameters}")
    expect(done.fine_tuned_model.startswith("pol_") and done.trained_tokens > 0, f"it ended as {done}")
    expect(len({one["step"] for one in numbers if "train_loss" in one}) == 8, f"2 passes in fours over 16: {numbers}")
    expect(any("valid_loss" in one for one in numbers), f"nothing was held out: {numbers}")
    points = list(api.fine_tuning.jobs.checkpoints.list(job.id, limit=1))
    expect([point.step_number for point in points] == [8, 4], f"checkpoints: {points}")
    expect(points[0].fine_tuned_model_checkpoint == done.fine_tuned_model, f"the last checkpoint is {points[0]}")
    expect(points[0].metrics.train_loss > 0 and points[0].metrics.valid_loss > 0, f"its numbers are {points[0].metrics}")
    names = {api.files.retrieve(file).filename: file for file in done.result_files}
    expect({"step_metrics.csv", "config.json", "model.safetensors"} <= names.keys(), f"result files: {names}")
    table = list(csv.DictReader(io.StringIO(api.files.content(names["step_metrics.csv"]).read().decode())))
    expect([row["step"] for row in table if row["loss"]] == [str(step) for step in range(1, 9)], f"the table: {table}")
    weights = api.files.content(names["model.safetensors"]).read()
    expect(len(weights) == api.files.retrieve(names["model.safetensors"]).bytes, "the weights are not whole")
    return done


def reinforced(api, start):
    """By playing, from the policy that the first job made; which environment is played, the lines of a file say."""
    lines = json.dumps({"environment": ENVIRONMENT, "split": "train"}) + "\n"
    played = api.files.create(file=("played.jsonl", lines.encode()), purpose="fine-tune")
    settings = {"batch_size": 2, "eval_interval": 2, "eval_samples": 4}
    job = api.fine_tuning.jobs.create(
        model=start,
        training_file=played.id,
        method={"type": "reinforcement", "reinforcement": {"hyperparameters": settings}},
        metadata={
            "palestra.steps": "2",
            "palestra.group_size": "2",
            "palestra.max_tokens": "4",
            "palestra.max_turns": "2",
            "palestra.max_context_tokens": "512",
        },
    )
    done, numbers = succeed(api, job.id)
    expect(any("reward_mean" in one for one in numbers), f"nothing was rewarded: {numbers}")
    expect(any("evaluate/score" in one for one in numbers), f"nothing was measured: {numbers}")
    expect(done.training_file == played.id and done.fine_tuned_model != start, f"it ended as {done}")
    return done


def cancelled(api):
    """Where the environment stands in the metadata, no file is needed."""
    job = api.fine_tuning.jobs.create(
        model=MODEL,
        training_file=None,
        method={"type": "reinforcement"},
        metadata={"environment": ENVIRONMENT, "palestra.steps": "100000", **TINY},
    )
    api.fine_tuning.jobs.cancel(job.id)
    done, _ = watch(api, job.id)
    expect(done.status == "cancelled" and done.result_files == [], f"it ended as {done}")
    return done


def refused(kind, parameter, call):
    """What a call is refused with, in the client's own class."""
    try:
        found = call()
    except kind as error:
        expect(error.message and error.param == parameter, f"{kind.__name__} of {error.param}: {error.message}")
        return
    raise AssertionError(f"{kind.__name__} expected, not {found}")


def errors(server, api, training_file):
    from openai import AuthenticationError, BadRequestError, NotFoundError

    def create(**more):
        return lambda: api.fine_tuning.jobs.create(**{"model": MODEL, "training_file": training_file, **more})

    refused(BadRequestError, "model", create(model="gpt-4o-mini"))
    refused(BadRequestError, "training_file", create(training_file=new_id("file-")))
    refused(BadRequestError, "integrations", create(integrations=[{"type": "wandb", "wandb": {"project": "x"}}]))
    refused(BadRequestError, "method.dpo", create(method={"type": "dpo"}))
    refused(BadRequestError, "metadata.palestra.colour", create(metadata={"palestra.colour": "red"}))
    grader = {"type": "string_check", "name": "x", "input": "a", "reference": "a", "operation": "eq"}
    judged = {"type": "reinforcement", "reinforcement": {"grader": grader}}
    refused(BadRequestError, "method.reinforcement.grader", create(method=judged, metadata={"environment": ENVIRONMENT}))
    refused(BadRequestError, "purpose", lambda: api.files.create(file=b"x", purpose="assistants"))
    until = {"anchor": "created_at", "seconds": 3600}
    refused(
        BadRequestError,
        "expires_after[anchor]",
        lambda: api.files.create(file=b"x", purpose="fine-tune", expires_after=until),
    )
    refused(NotFoundError, None, lambda: api.files.retrieve(new_id("file-")))
    refused(NotFoundError, None, lambda: api.fine_tuning.jobs.retrieve("ftjob-abc"))
    refused(AuthenticationError, None, lambda: client(server, "nobody").files.list())


def run(short):
    """Short and long form are the same."""
    began = time.monotonic()
    with serve() as server:
        api = client(server)
        training_file, validation_file = files(api)
        first = supervised(api, training_file, validation_file)
        then = reinforced(api, first.fine_tuned_model)
        last = cancelled(api)
        errors(server, api, training_file)
        listed = [job.id for job in api.fine_tuning.jobs.list(limit=2)]
        expect(listed == [last.id, then.id, first.id], f"listed are {listed}")
        found = [job.id for job in api.fine_tuning.jobs.list(metadata={"team": "sums"})]
        expect(found == [first.id], f"found by metadata are {found}")
    return f"a supervised and a reinforcement job, {first.trained_tokens} tokens; {time.monotonic() - began:.0f} s"


if __name__ == "__main__":
    main(run)

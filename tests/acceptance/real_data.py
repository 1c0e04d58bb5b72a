"""Rows of reasoning-gym, published by one command and played over HTTP: own answers score 1, shuffled ones 0."""

import json
import os
import random
import re
import subprocess
import tempfile
import time
import unicodedata

from harness import ADMIN_KEY, Server, binary, expect, main

TASKS_MIN = 20
ROWS_PER_TASK_LONG = 200
ROWS_LONG, ROWS_SHORT = 5_000, 500
NUMBER_MAX = 1e6
NAME = "dataset/reasoning-gym"
# Tasks with one right answer, written as a short text.
TASKS = """
    basic_arithmetic chain_sum decimal_chain_sum count_bits gcd lcm leg_counting products bitwise_arithmetic
    fraction_simplification letter_counting spell_backward caesar_cipher base_conversion word_sequence_reversal
    number_filtering number_sorting binary_matrix count_primes isomorphic_strings palindrome_partitioning
    ransom_note rotate_matrix rotten_oranges string_manipulation calendar_arithmetic time_intervals number_format
    simple_equations number_sequence needle_haystack coin_flip aiw family_relationships largest_island
    rectangle_count power_function dice gsm_symbolic simple_geometry course_schedule syllogism
""".split()


def normal(text):
    """As the `text` verifier reads answers, or a little coarser."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\W_]+", "", text)


def number(text):
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text.strip()) else None


def differ(one, other):
    """Whether every verifier used here has to tell two answers apart."""
    if normal(one) == normal(other):
        return False
    one, other = number(one), number(other)
    return one is None or other is None or abs(one - other) > 1e-3


def verifier(answers):
    small = all(number(answer) is not None and abs(number(answer)) < NUMBER_MAX for answer in answers)
    return "number" if small else "text"


def collect(rows_wanted):
    """(task, verifier, question, answer) of rows whose own scorer agrees with a plain comparison."""
    import reasoning_gym

    per_task = ROWS_PER_TASK_LONG if rows_wanted > ROWS_SHORT else rows_wanted // TASKS_MIN
    rows, seen = [], set()
    for task in TASKS:
        if len(rows) >= rows_wanted and len({row[0] for row in rows}) >= TASKS_MIN:
            break
        data = reasoning_gym.create_dataset(task, seed=7, size=per_task)
        entries = [data[index] for index in range(per_task)]
        entries = [entry for entry in entries if agreeable(data, entry, seen)]
        rule = verifier([entry["answer"] for entry in entries])
        rows += [(task, rule, entry["question"], entry["answer"]) for entry in entries]
    return rows[:rows_wanted]


def agreeable(data, entry, seen):
    question, answer = entry["question"], entry["answer"]
    if not isinstance(answer, str) or not normal(answer) or "\0" in question + answer or question in seen:
        return False
    seen.add(question)
    return data.score_answer(answer, entry) == 1.0 and data.score_answer("no answer at all", entry) < 1.0


def shuffled(rows):
    """Another row's answer for every row, from the same task."""
    generator = random.Random(11)
    by_task = {}
    for index, row in enumerate(rows):
        by_task.setdefault(row[0], []).append(index)
    answers = [None] * len(rows)
    for indices in by_task.values():
        targets = indices[:]
        generator.shuffle(targets)
        turned = targets[1:] + targets[:1]
        for target, source in zip(targets, turned):
            answers[target] = rows[source][3]
    return answers


def play(api, answers):
    """The score of answer i on task i, through the batch calls."""
    scores = []
    size = 256
    for start in range(0, len(answers), size):
        part = answers[start : start + size]
        items = [
            {"environment": NAME, "task": {"split": "train", "index": start + offset}} for offset in range(len(part))
        ]
        opened = api.batch("create", items)
        steps = [
            {"session": session["id"], "seq": 1, "action": {"text": answer}} for session, answer in zip(opened, part)
        ]
        for answer in api.batch("step", steps):
            expect(answer["terminated"], f"an answer does not end its episode: {answer}")
            expect(answer["verdict"]["status"] == "scored", f"not scored: {answer['verdict']}")
            scores.append(answer["verdict"]["score"])
    return scores


def run(short):
    """Exports, publishes and plays."""
    wanted = ROWS_SHORT if short else ROWS_LONG
    rows = collect(wanted)
    tasks = {row[0] for row in rows}
    expect(len(rows) == wanted and len(tasks) >= TASKS_MIN, f"only {len(rows)} rows of {len(tasks)} tasks")
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.jsonl")
        with open(path, "w") as file:
            for task, rule, question, answer in rows:
                row = {"prompt": question, "answer": answer, "verifier": rule, "metadata": {"task": task}}
                file.write(json.dumps(row) + "\n")
        began = time.monotonic()
        command = [binary(), "publish", path, "--name", NAME, "--verifier", "text", "--url", server.url]
        published = subprocess.run(
            command, env={**os.environ, "PALESTRA_API_KEY": ADMIN_KEY}, capture_output=True, text=True, timeout=300
        )
        expect(published.returncode == 0, f"publish failed: {published.stderr[-2000:]}")
        publish_s = time.monotonic() - began
        api = server.api()
        began = time.monotonic()
        own = play(api, [row[3] for row in rows])
        wrong = [(rows[index], score) for index, score in enumerate(own) if score != 1]
        expect(not wrong, f"{len(wrong)} own answers do not score 1, first: {wrong[:1]}")
        others = shuffled(rows)
        scores = play(api, others)
        told_apart = [index for index, row in enumerate(rows) if differ(row[3], others[index])]
        right = [(rows[index], others[index]) for index in told_apart if scores[index] != 0]
        expect(not right, f"{len(right)} shuffled answers do not score 0, first: {right[:1]}")
        play_s = time.monotonic() - began
    return (
        f"{len(rows)} rows of {len(tasks)} tasks published in {publish_s:.1f} s; own answers 1.0; "
        f"{len(told_apart)} differing shuffled answers 0.0; {2 * len(rows) / play_s:.0f} episodes/s"
    )


if __name__ == "__main__":
    main(run)

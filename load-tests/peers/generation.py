"""What problems of reasoning-gym cost: CPU seconds for making, and for scoring the own answer, as one line of JSON per data set."""

import json
import sys
import time

import reasoning_gym

TASKS_MIN, CPU_SECONDS = 20, 1.0


def measure(name, size):
    """Problems made and own answers scored per second of this process's CPU, with the data set's own settings."""
    data = reasoning_gym.create_dataset(name, seed=7, size=size)
    began, made, index = time.process_time(), [], 0
    while index < size and (len(made) < TASKS_MIN or time.process_time() - began < CPU_SECONDS):
        try:
            made.append(data[index])
        except RuntimeError:
            pass  # some of its generators give up now and then; the time counts
        index += 1
    making = time.process_time() - began
    began = time.process_time()
    for entry in made:
        data.score_answer(entry["answer"], entry)
    return {"name": name, "made_per_s": len(made) / making, "scored_per_s": len(made) / (time.process_time() - began)}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(json.dumps(measure(name, 20_000)), flush=True)

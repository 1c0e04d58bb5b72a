"""Plays sixteen episodes at once over one WebSocket, and cuts the connection on purpose: no step is lost, and none acts twice.

Needs the package `websockets`. Reads PALESTRA_URL and PALESTRA_API_KEY. The policy guesses a code that fits every clue so far, so each
episode ends with a score of 1.
"""

import asyncio
import itertools
import json
import os

import websockets

EPISODES = 16
CUT_AFTER_ANSWERS = 25


class Stream:
    """One socket for many sessions. A frame stays until its answer came; a new connection sends what has none, in the same order."""

    def __init__(self):
        self.url = os.environ["PALESTRA_URL"].replace("http", "ws", 1) + "/v1/stream"
        self.headers = {"Authorization": "Bearer " + os.environ["PALESTRA_API_KEY"]}
        self.numbers = itertools.count(1)
        self.unanswered = {}
        self.answers = 0
        self.socket = None

    async def call(self, op, **fields):
        number = next(self.numbers)
        frame = json.dumps({"id": number, "op": op, **fields})
        answer = asyncio.get_running_loop().create_future()
        self.unanswered[number] = (frame, answer)
        try:
            await self.socket.send(frame)
        except websockets.ConnectionClosed:
            pass  # The next connection sends it.
        return await answer

    async def run(self):
        """Reads answers, and connects again whenever the connection is lost."""
        async for self.socket in websockets.connect(
            self.url, additional_headers=self.headers, subprotocols=["palestra.json"]
        ):
            try:
                for frame, _ in list(self.unanswered.values()):
                    await self.socket.send(frame)
                async for text in self.socket:
                    self.take(json.loads(text))
                    if self.answers == CUT_AFTER_ANSWERS:
                        print(f"cutting the connection with {len(self.unanswered)} frames under way")
                        self.answers += 1
                        self.socket.transport.abort()
            except websockets.ConnectionClosed:
                continue

    def take(self, message):
        # An answer may come twice: to the frame, and to the same frame sent again.
        _, answer = self.unanswered.pop(message["id"], (None, None))
        if answer is None or answer.done():
            return
        self.answers += 1
        if "error" in message:
            answer.set_exception(RuntimeError(message["error"]["detail"]))
        else:
            answer.set_result(message["ok"])


def clue(code, guess):
    exact = sum(a == b for a, b in zip(code, guess))
    return exact, sum(min(code.count(digit), guess.count(digit)) for digit in set(guess)) - exact


async def play(stream, seed):
    task = {"split": "train", "seed": seed, "difficulty": 0}
    # With a key, a creation that is sent again opens no second session.
    opened = await stream.call("create", key=os.urandom(8).hex(), environment="puzzle/mastermind", task=task)
    size = opened["task"]["metadata"]
    digits = "".join(map(str, range(1, size["digits"] + 1)))
    codes = ["".join(code) for code in itertools.product(digits, repeat=size["places"])]
    told = size["clues"]
    for seq in itertools.count(1):
        codes = [code for code in codes if all(clue(code, t["code"]) == (t["exact"], t["misplaced"]) for t in told)]
        # `seq` numbers the step: sent again, it gets the same answer and does not act again.
        action = {"tool": "guess", "arguments": {"code": codes[0]}}
        step = await stream.call("step", session=opened["id"], seq=seq, action=action)
        if step["terminated"] or step["truncated"]:
            return step["verdict"], seq
        told = [step["observation"]["data"]["guesses"][-1]]


async def main():
    stream = Stream()
    reading = asyncio.create_task(stream.run())
    while stream.socket is None:
        await asyncio.sleep(0.01)
        if reading.done():
            await reading
    played = await asyncio.gather(*(play(stream, seed) for seed in range(EPISODES)))
    reading.cancel()
    # What is not scored is no sample; it is never a 0.
    scores = [verdict["score"] for verdict, _ in played if verdict["status"] == "scored"]
    print(f"{len(scores)} of {EPISODES} episodes scored, mean {sum(scores) / len(scores):.2f}, {sum(n for _, n in played)} steps")
    assert scores == [1.0] * EPISODES


asyncio.run(main())

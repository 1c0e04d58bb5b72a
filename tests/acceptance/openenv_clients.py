"""The client of OpenEnv, unchanged, plays hundreds of episodes at once: rewards are the verdicts, whatever is lost on the way."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import venv

from harness import ADMIN_KEY, Server, expect, main, new_id

ENVIRONMENT = "bench/counter"
FOLDER = os.path.dirname(os.path.abspath(__file__))
VERIFIERS = os.path.join(FOLDER, "openenv_verifiers.py")
# What `pip install "verifiers[openenv]"` brings; it cannot be installed beside the client that the other parts use.
VERIFIERS_REQUIREMENTS = ["verifiers[openenv]==0.4.0"]
SOCKETS_TIMEOUT_S = 10
LINGER_MS = 60_000
CAPACITY = 20
REVOKED_WITHIN_S = 60


def trainer_key(api):
    made = api.post("/v1/keys", {"name": "a trainer", "scopes": ["sessions"]})
    return made["secret"], (made.get("key") or made)["id"]


def client(server, environment=ENVIRONMENT, key=None, **more):
    """A client with the key in a header, or in the path."""
    from openenv import GenericEnvClient

    base = f"ws://127.0.0.1:{server.port}/openenv/{environment}"
    if key:
        return GenericEnvClient(base_url=f"{base}/t/{key}", **more)
    return GenericEnvClient(base_url=base, headers={"Authorization": f"Bearer {ADMIN_KEY}"}, **more)


def target(result):
    return int(re.search(r"exactly (\d+)", result.observation["text"]).group(1))


def verdict(api, result):
    return api.get(f"/v1/episodes/{result.metadata['episode']}")["verdict"]


async def refused(call, code):
    """What the client raises where the server answers with an error frame."""
    try:
        found = await call
    except RuntimeError as error:
        expect(f"(code: {code})" in str(error), f"expected {code}, got {error}")
        return
    raise AssertionError(f"expected {code}, got {found}")


async def play(server, seed, right, key=None):
    """An episode of two turns that ends by its limit; half of them hit their target."""
    async with client(server, key=key) as env:
        first = await env.reset(seed=seed, episode_id=f"play-{seed}", limits={"steps": 2})
        expect(first.reward is None and first.done is False, f"a reset answered {first}")
        middle = await env.step({"text": "1"})
        expect(middle.reward is None and middle.done is False, f"a first step answered {middle}")
        rest = target(first) - (1 if right else 2)
        last = await env.step({"type": "call_tool", "tool_name": "add", "arguments": {"amount": rest}})
        expect(last.done and last.reward == (1.0 if right else 0.0), f"episode {seed} ended with {last}")
        state = await env.state()
        expect(state["episode_id"] == f"play-{seed}" and state["step_count"] == 2, f"its state is {state}")
        return last


async def crowd(server, api, count, key):
    results = await asyncio.gather(*(play(server, seed, seed % 2 == 0, key if seed % 3 else None) for seed in range(count)))
    for result in results:
        found = verdict(api, result)
        expect(found["status"] == "scored" and found["score"] == result.reward, f"{result} against {found}")
    expect(len({result.metadata["session_id"] for result in results}) == count, "sessions were shared")


async def errors(server):
    async with client(server) as env:
        await refused(env.step({"text": "1"}), "EXECUTION_ERROR")
        await refused(env.reset(seed=-1), "VALIDATION_ERROR")
        await refused(env.reset(episode_id="x" * 256), "VALIDATION_ERROR")
        await refused(env.reset(split="nowhere"), "VALIDATION_ERROR")
        await env.reset(seed=1)
        await refused(env.step({"colour": "red"}), "VALIDATION_ERROR")
        result = await env.step({"text": "1"})
        expect(result.observation["data"] == {"count": 1}, f"after errors a step answered {result}")
        # An episode without a score has no reward, neither null with done nor 0.
        await env.reset(seed=1, config={"panic_at": 2})
        await env.step({"text": "1"})
        await refused(env.step({"text": "1"}), "EXECUTION_ERROR")
        state = await env.state()
        expect(state["status"] == "infra_error" and state["score"] is None, f"a failed episode is {state}")


async def lost_frames(server, api, count):
    """Clients that give up on answers at random, and come back with the same reset: no reward belongs to another step."""

    async def one(number):
        label = f"lost-{number}"
        reset = dict(seed=number, episode_id=label, limits={"steps": 8})
        env = client(server)
        first = result = await env.reset(**reset)
        drops = 0
        while not result.done:
            before = result.metadata["step_count"]
            # The answer of every third step is not waited for.
            if (before + number) % 3 == 0 and drops < 4:
                drops += 1
                call = asyncio.ensure_future(env.step({"text": "1"}))
                await asyncio.sleep(0.001 * (number % 5))
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
                if env._ws is not None:
                    # The answer was faster, or the request did not leave: the socket is cut all the same.
                    env._ws.transport.abort()
                    await env._ws.wait_closed()
                result = await env.reset(**reset)
                expect(result.metadata["step_count"] in (before, before + 1), f"{label} is at {result.metadata} after {before}")
                expect(result.metadata.get("resumed") or before == 0, f"{label} began anew after step {before}")
                continue
            result = await env.step({"text": "1"})
            expect(result.metadata["step_count"] == before + 1, f"{label}: step {before + 1} is {result.metadata}")
            expect(result.observation["data"]["count"] == before + 1, f"{label}: {result.observation}")
        expect(result.metadata["session_id"] == first.metadata["session_id"], f"{label} lost its session")
        expect(result.reward == verdict(api, result)["score"], f"{label}: the last reward is {result.reward}")
        await env.close()
        return drops

    return sum(await asyncio.gather(*(one(number) for number in range(count))))


async def reconnects(server, api):
    """A socket that is cut, and a server that is killed."""
    env = client(server)
    first = await env.reset(seed=3, episode_id="cut", config={"target": 3})
    await env.step({"text": "1"})
    env._ws.transport.abort()
    await env._ws.wait_closed()
    again = await env.reset(seed=3, episode_id="cut", config={"target": 3})
    expect(again.metadata.get("resumed") and again.metadata["step_count"] == 1, f"after the cut: {again.metadata}")
    server.kill()
    await env._ws.wait_closed()
    server.start()
    again = await env.reset(seed=3, episode_id="cut", config={"target": 3})
    expect(again.metadata["session_id"] == first.metadata["session_id"], "the episode did not survive the server")
    last = await env.step({"text": "2"})
    expect(last.done and last.reward == verdict(api, last)["score"], f"the last step is {last}")
    await env.close()
    # A plain reset begins anew.
    env = client(server)
    fresh = await env.reset(seed=3)
    expect(fresh.metadata["step_count"] == 0 and "resumed" not in fresh.metadata, f"a plain reset answered {fresh.metadata}")
    await env.close()


async def capacity(rounds):
    """As many as there is room for; the next one is told, and room comes back."""
    arguments = ["--openenv-sessions-max", str(CAPACITY), "--openenv-linger-ms", str(LINGER_MS)]
    with Server(*arguments) as server:
        api = server.api()
        for _ in range(rounds):
            envs = [client(server) for _ in range(CAPACITY)]
            await asyncio.gather(*(env.reset(seed=seed) for seed, env in enumerate(envs)))
            await refused(client(server).reset(seed=1), "CAPACITY_REACHED")
            # Some say goodbye, some are cut: both make room at once.
            for number, env in enumerate(envs):
                if number % 2:
                    env._ws.transport.abort()
                else:
                    await env.close()
            for env in envs[1::2]:
                await env._ws.wait_closed()
            # The server counts its sockets: it has seen every end when none is left.
            deadline = asyncio.get_running_loop().time() + SOCKETS_TIMEOUT_S
            while api.metric("palestra_openenv_sockets") > 0:
                expect(asyncio.get_running_loop().time() < deadline, "sockets that ended are still counted")
                await asyncio.sleep(0.02)


async def tools(server, api):
    """The client that speaks JSON-RPC and joins its session over a socket."""
    from openenv.core import CallToolAction
    from openenv.core.mcp_client import MCPToolClient

    headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
    env = MCPToolClient(base_url=f"http://127.0.0.1:{server.port}/openenv/{ENVIRONMENT}", headers=headers)
    async with env:
        found = await env.list_tools()
        expect([tool.name for tool in found] == ["add"], f"its tools are {found}")
        first = await env.reset(seed=5)
        answer = await env.call_tool("add", amount=2)
        expect(answer == "Count: 2.", f"a call answered {answer!r}")
        result = await env.step(CallToolAction(tool_name="add", arguments={"amount": 1}))
        expect(result.observation.result["data"] == "Count: 3.", f"a step answered {result}")
        expect((await env.state()).step_count == 2, "a call over HTTP is no step of the session")
    session = api.get(f"/v1/sessions/{first.metadata['session_id']}")
    expect(session["state"] == "closed", f"its session is {session['state']}")
    expect(verdict(api, first)["status"] == "scored", "a session that was closed has no score")


def standards(server, key):
    """OpenEnv's own checks of a running server, and of the frames that it sends."""
    from openenv.cli._validation import validate_running_environment
    from openenv.validation.graders.runtime.basic import ObservationSchemaGrader, StateContractGrader
    from openenv.validation.runtime.collector import collect_runtime_evidence
    from openenv.validation.runtime.contracts import RuntimePlan

    checked = 0
    for environment, actions in [
        (ENVIRONMENT, [{"text": "1"}, {"type": "call_tool", "tool_name": "add", "arguments": {"amount": 1}}]),
        ("puzzle/countdown", [{"text": "1 + 1"}]),
        ("puzzle/mastermind", [{"tool": "guess", "arguments": {"code": "1122"}}, {"text": "1234"}]),
        ("puzzle/sokoban", [{"text": "up"}]),
    ]:
        base = f"http://127.0.0.1:{server.port}/openenv/{environment}/t/{key}"
        report = validate_running_environment(base)
        failed = [one for one in report["criteria"] if not one["passed"]]
        expect(report["passed"] and report["mode"] == "simulation", f"{environment}: {failed}")
        plan = RuntimePlan.model_validate(
            {"plan_schema_version": "1", "reset": {"episode_id": f"plan {environment}", "seed": 7}, "actions": actions}
        )
        evidence = collect_runtime_evidence(base, plan, episode_timeout_s=30)
        expect(evidence.failure_reason is None, f"{environment}: {evidence.failure_reason}")
        for grader in (StateContractGrader(), ObservationSchemaGrader()):
            problems = grader.check(None, evidence)
            expect(not problems, f"{environment}: {grader.check_id}: {problems}")
            checked += 1
    return checked


def trl_environment(server, key):
    """An environment class as TRL's GRPOTrainer takes one: `reset` answers text, public methods are tools, and `get_reward`
    answers the reward of the rollout, or None where there is none."""

    class CounterEnvironment:
        def __init__(self):
            self.client = client(server, key=key).sync()
            self.reward = None

        def reset(self, **row):
            self.reward = None
            result = self.client.reset(**row)
            self.episode = result.metadata["episode"]
            return result.observation["text"]

        def add(self, amount: int) -> str:
            """Adds to the count.

            Args:
                amount: How much.
            """
            result = self.client.step({"type": "call_tool", "tool_name": "add", "arguments": {"amount": amount}})
            self.reward = result.reward
            return result.observation["text"]

        def get_reward(self):
            return self.reward

    return CounterEnvironment


def trl(server, api, key, count):
    """The two ways in which TRL trains with OpenEnv; the second one runs the session code that it calls."""
    from openenv.core.env_server.mcp_types import Tool
    from openenv.core.harness import HarnessRunLimits, MCPHarnessAdapter, ModelStepResult, StepEnvSessionAdapter
    from openenv.core.llm_client import LLMResponse, ToolCall

    environments = [trl_environment(server, key)() for _ in range(count)]
    for number, environment in enumerate(environments):
        # Columns of the data set that mean nothing to the environment are passed as well.
        text = environment.reset(seed=number, prompt=[{"role": "user", "content": ""}], limits={"steps": 1})
        wanted = int(re.search(r"exactly (\d+)", text).group(1))
        expect(environment.get_reward() is None, "there is a reward before the end")
        environment.add(wanted + number % 2)
        found = api.get(f"/v1/episodes/{environment.episode}")["verdict"]
        expect(environment.get_reward() == found["score"] == 1.0 - number % 2, f"{environment.get_reward()} against {found}")
    # Instances are used again; one whose episode fails has no reward.
    failing = environments[0]
    failing.reset(seed=1, config={"panic_at": 1})
    try:
        failing.add(1)
    except RuntimeError as error:
        expect("EXECUTION_ERROR" in str(error), f"a failed episode raised {error}")
    expect(failing.get_reward() is None, f"a failed episode has the reward {failing.get_reward()}")
    for environment in environments:
        environment.client.close()

    def session(number, **reset):
        return StepEnvSessionAdapter(
            client(server, key=key),
            seed=number,
            episode_id=new_id("rollout-"),
            tool_specs=[Tool(name="add", description="Adds.", input_schema={"type": "object"})],
            action_builder=lambda name, arguments: {"type": "call_tool", "tool_name": name, "arguments": arguments},
            initial_messages_builder=lambda result, _: [{"role": "user", "content": result.observation["text"]}],
            reset_kwargs=reset,
        )

    def model(messages, _tools, _sampling):
        wanted = int(re.search(r"exactly (\d+)", messages[0]["content"]).group(1))
        call = ToolCall(id="call", name="add", args={"amount": wanted})
        return ModelStepResult(response=LLMResponse(content="", tool_calls=[call]))

    for number in range(count):
        rollout = session(number, limits={"steps": 1})
        result = MCPHarnessAdapter().run_white_box(model, rollout, HarnessRunLimits(max_turns=3))
        reward = rollout.verify(result.messages).env_reward
        found = api.get(f"/v1/episodes/{rollout._last_result.metadata['episode']}")["verdict"]
        expect(result.done and reward == found["score"] == 1.0, f"{reward} against {found}")
        rollout.close()
    rollout = session(1, config={"panic_at": 1})
    try:
        MCPHarnessAdapter().run_white_box(model, rollout, HarnessRunLimits(max_turns=3))
        raise AssertionError("a failed episode went through")
    except RuntimeError as error:
        expect("EXECUTION_ERROR" in str(error), f"a failed episode raised {error}")
    expect(rollout.verify([]).env_reward is None, "a failed episode has a reward")
    rollout.close()


async def revocation(server, api):
    """A key that is revoked ends the sockets that it opened."""
    secret, key_id = trainer_key(api)
    env = client(server, key=secret)
    await env.reset(seed=1)
    api.delete(f"/v1/keys/{key_id}")
    await asyncio.wait_for(env._ws.wait_closed(), REVOKED_WITHIN_S)
    expect(env._ws.close_code == 1008, f"the socket of a revoked key was closed with {env._ws.close_code}")


def verifiers(server, key):
    """The task set of verifiers, with the client that it brings along, in a Python of its own."""
    with tempfile.TemporaryDirectory(prefix="palestra-verifiers-") as folder:
        program = os.environ.get("PALESTRA_TEST_VERIFIERS_PYTHON")
        if not program:
            venv.create(folder, with_pip=True)
            program = os.path.join(folder, "bin", "python")
            subprocess.run([program, "-m", "pip", "install", "-q", *VERIFIERS_REQUIREMENTS], check=True)
        command = [program, VERIFIERS, f"http://127.0.0.1:{server.port}", key, ADMIN_KEY]
        found = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=600)
        expect(found.returncode == 0, f"verifiers failed: {found.stdout[-2000:]}")
        return json.loads(found.stdout.strip().splitlines()[-1])


def run(short):
    """Everything but what needs another Python or a minute of waiting, in the short form."""
    count = 200 if short else 1_000
    with Server("--openenv-linger-ms", str(LINGER_MS), environment={"PALESTRA_LOG": "trace"}) as server:
        api = server.api()
        secret, _ = trainer_key(api)
        asyncio.run(crowd(server, api, count, secret))
        asyncio.run(errors(server))
        drops = asyncio.run(lost_frames(server, api, 20 if short else 200))
        expect(drops > 20, f"only {drops} answers were lost")
        asyncio.run(tools(server, api))
        checked = standards(server, secret)
        trl(server, api, secret, 4)
        figures = [f"{count} sessions at once", f"{drops} lost answers", f"{checked} checks of OpenEnv's own"]
        if not short:
            played = verifiers(server, secret)
            figures.append(f"{played['played']} episodes of verifiers")
            asyncio.run(revocation(server, api))
        asyncio.run(reconnects(server, server.api()))
        with open(server.log.name, "rb") as log:
            text = log.read()
        expect(b"/openenv/{family}/{name}/t/{key}" in text, "the log names no route")
        expect(secret.encode() not in text and b"pk_" not in text, "the log holds a key")
    asyncio.run(capacity(3 if short else 20))
    return ", ".join(figures) + ": every reward is its verdict, none is lost or invented"


if __name__ == "__main__":
    main(run)

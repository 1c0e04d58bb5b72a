"""The scripted model, asked by the packages of OpenAI, Anthropic and Google, unchanged: plain, in streams, with tools and images."""

import base64
import contextlib
import json
import os
import subprocess
import tempfile
import threading
import time
import urllib.request

from harness import READY_TIMEOUT_S, binary, expect, main

KEY = "scripted-key"
MODEL = "scripted"
QUESTION, LOOK = "what is 3+4?", "what is in the picture?"
# Of one point.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
URL = "data:image/png;base64," + base64.b64encode(PNG).decode()
SCRIPT = """
policy_version: step-7
rules:
- last: ^fail
  status: 429
  retry_after: 1
- last: ^break
  text: This never arrives to its end.
  cut_after_chunks: 3
- turn: 0
  tool: add
  last: '(\\d+)\\+(\\d+)'
  reasoning: Two numbers.
  text: I add them — both.
  calls:
  - {tool: add, arguments: '{"b": {2}, "a": {1}}'}
  - {tool: add, arguments: {b: 0, a: '{1}'}}
- turn: 1
  text: 'The sum is {last}.'
- last: picture
  text: I see a point.
- text: 'You said: {last} ✓'
"""
PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
# How the question, the calls and the results are rendered, in every dialect.
TURN = (
    "<|assistant|><|reasoning|>Two numbers.<|answer|>I add them — both."
    '<|call|>add<|arguments|>{"a":3,"b":4}<|call|>add<|arguments|>{"a":"3","b":0}<|end|><|tool|>7<|end|><|tool|>3<|end|>'
)


@contextlib.contextmanager
def serve(script, *arguments):
    """The address of a scripted model."""
    with tempfile.TemporaryDirectory(prefix="palestra-acceptance-") as folder:
        path = os.path.join(folder, "script.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        command = [binary(), "scripted-model", "--listen", "127.0.0.1:0", "--script", path, *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        watchdog = threading.Timer(READY_TIMEOUT_S, process.kill)
        watchdog.start()
        try:
            line = process.stdout.readline()
            watchdog.cancel()
            expect(line.startswith("ready "), f"the scripted model did not become ready: {line!r}")
            yield line.split()[1]
        finally:
            watchdog.cancel()
            process.terminate()
            process.wait(30)


class Log:
    """What the model read and produced."""

    def __init__(self, url, key=KEY):
        self.url, self.key = f"{url}/log", key

    def _call(self, method):
        request = urllib.request.Request(self.url, headers={"authorization": f"Bearer {self.key}"}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()

    def take(self):
        """The calls since the last time."""
        calls = [json.loads(line) for line in self._call("GET").splitlines()]
        self._call("DELETE")
        return calls


def decode(ids):
    names = ["system", "user", "assistant", "tool", "end", "reasoning", "answer", "call", "arguments", "medium"]
    return b"".join(bytes([id]) if id < 256 else f"<|{names[id - 256]}|>".encode() for id in ids).decode()


def expect_conversation(calls, opening):
    """Two calls, of which the second goes on where the first one ended."""
    expect(len(calls) == 2, f"{len(calls)} calls are in the log")
    first, second = calls
    so_far = first["prompt_token_ids"] + first["completion_token_ids"]
    expect(second["prompt_token_ids"][: len(so_far)] == so_far, f"another history: {decode(second['prompt_token_ids'])}")
    expect(decode(second["prompt_token_ids"]) == opening + TURN + "<|assistant|>", decode(second["prompt_token_ids"]))
    expect(second["text"] == "The sum is 3.", second["text"])


def expect_tokens(call, prompt, completion, logprobs):
    """What the client was told is what the log has."""
    expect(call["prompt_token_ids"] == prompt, f"the prompt of {call['path']}")
    expect(call["completion_token_ids"] == completion, f"the completion of {call['path']}")
    expect(call["logprobs"] == logprobs, f"the log-probabilities of {call['path']}")


def results(arguments):
    """What the tool returns."""
    return [str(int(one["a"]) + one["b"]) for one in arguments]


def chat(url, log):
    from openai import APIError, AuthenticationError, OpenAI, RateLimitError

    client = OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0, timeout=30)
    tools = [{"type": "function", "function": {"name": "add", "parameters": PARAMETERS}}]
    ask = {"model": MODEL, "logprobs": True, "top_logprobs": 1, "extra_body": {"return_token_ids": True}}
    expect([model.id for model in client.models.list()] == [MODEL], "the models")

    said = client.chat.completions.with_raw_response.create(messages=[{"role": "user", "content": "hi"}], **ask)
    expect(said.headers["x-policy-version"] == "step-7", "the version of the weights")
    said = said.parse()
    expect(said.choices[0].message.content == "You said: hi ✓" and said.choices[0].finish_reason == "stop", f"{said}")
    entries = said.choices[0].logprobs.content
    expect(b"".join(bytes(entry.bytes) for entry in entries).decode() == "You said: hi ✓<|end|>", "the bytes of tokens")
    call = log.take()[0]
    expect_tokens(call, said.prompt_token_ids, said.choices[0].token_ids, [entry.logprob for entry in entries])
    counted = (len(call["prompt_token_ids"]), len(call["completion_token_ids"]))
    expect((said.usage.prompt_tokens, said.usage.completion_tokens) == counted, f"usage {said.usage}")

    for stream in (False, True):
        messages = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": QUESTION}]
        if stream:
            with client.chat.completions.stream(messages=messages, tools=tools, **ask) as events:
                parts = [event.chunk for event in events if event.type == "chunk"]
                said = events.get_final_completion()
            told = [part.choices[0] for part in parts if part.choices]
            ids = [id for choice in told for id in getattr(choice, "token_ids", None) or []]
            entries = [entry for choice in told if choice.logprobs for entry in choice.logprobs.content]
            [first] = [part.prompt_token_ids for part in parts if hasattr(part, "prompt_token_ids")]
            [call] = log.take()
            expect_tokens(call, first, ids, [entry.logprob for entry in entries])
        else:
            said = client.chat.completions.create(messages=messages, tools=tools, **ask)
            [call] = log.take()
        message = said.choices[0].message
        expect(message.content == "I add them — both." and said.choices[0].finish_reason == "tool_calls", f"{said}")
        # The arguments are written anew, as agents do.
        history = message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"})
        history["reasoning_content"] = "Two numbers."
        for one in history["tool_calls"]:
            one["function"] = {key: one["function"][key] for key in ("name", "arguments")}
            one["function"]["arguments"] = json.dumps(json.loads(one["function"]["arguments"]), indent=1)
        found = results(json.loads(one.function.arguments) for one in message.tool_calls)
        messages += [history] + [
            {"role": "tool", "tool_call_id": one.id, "content": result}
            for one, result in zip(message.tool_calls, found, strict=True)
        ]
        said = client.chat.completions.create(messages=messages, tools=tools, stream=stream, **ask)
        if stream:
            said = "".join(part.choices[0].delta.content or "" for part in said)
            expect(said == "The sum is 3.", said)
        expect_conversation([call, *log.take()], f"<|system|>Be exact.<|end|><|user|>{QUESTION}<|end|>")

    parts = [{"type": "text", "text": LOOK}, {"type": "image_url", "image_url": {"url": URL}}]
    options = {"include_usage": True}
    stream = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": parts}], stream=True, stream_options=options
    )
    parts = list(stream)
    expect("".join(part.choices[0].delta.content or "" for part in parts[:-1]) == "I see a point.", f"{parts}")
    [call] = log.take()
    expect(parts[-1].usage.prompt_tokens == len(call["prompt_token_ids"]), f"usage {parts[-1]}")
    picture = decode(call["prompt_token_ids"])

    def say(text, **more):
        return client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": text}], **more)

    refused(RateLimitError, lambda: say("fail"))
    import httpx

    refused((APIError, httpx.RemoteProtocolError, httpx2_error()), lambda: list(say("break", stream=True)))
    refused(AuthenticationError, lambda: client.with_options(api_key="other").models.list())
    log.take()
    return picture


def httpx2_error():
    """What a broken connection raises in packages that have moved on to `httpx2`."""
    try:
        import httpx2
    except ImportError:
        return ConnectionError
    return httpx2.RemoteProtocolError


def refused(kinds, call):
    try:
        found = call()
    except kinds:
        return
    raise AssertionError(f"{kinds} expected, not {found}")


def responses(url, log):
    from openai import BadRequestError, OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0, timeout=30)
    tools = [{"type": "function", "name": "add", "parameters": PARAMETERS, "strict": False}]
    ask = {"model": MODEL, "extra_body": {"return_token_ids": True}}
    said = client.responses.create(input="hi", **ask)
    expect(said.output_text == "You said: hi ✓" and said.status == "completed", f"{said}")
    [call] = log.take()
    expect_tokens(call, said.prompt_token_ids, said.token_ids, said.logprobs)
    expect(said.usage.output_tokens == len(call["completion_token_ids"]), f"usage {said.usage}")
    for stream in (False, True):
        items = [{"role": "user", "content": QUESTION}]
        more = {"instructions": "Be exact.", "tools": tools, **ask}
        if stream:
            with client.responses.stream(input=items, **more) as events:
                text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
                said = events.get_final_response()
            expect(text == "I add them — both.", text)
        else:
            said = client.responses.create(input=items, **more)
        expect(said.output_text == "I add them — both.", f"{said}")
        [call] = log.take()
        expect_tokens(call, said.prompt_token_ids, said.token_ids, said.logprobs)
        called = [item for item in said.output if item.type == "function_call"]
        found = results(json.loads(item.arguments) for item in called)
        items += [item.model_dump(exclude={"parsed_arguments"}) for item in said.output]
        items += [
            {"type": "function_call_output", "call_id": item.call_id, "output": result}
            for item, result in zip(called, found, strict=True)
        ]
        said = client.responses.create(input=items, **more)
        expect(said.output_text == "The sum is 3.", f"{said}")
        expect_conversation([call, *log.take()], f"<|system|>Be exact.<|end|><|user|>{QUESTION}<|end|>")
    parts = [{"type": "input_text", "text": LOOK}, {"type": "input_image", "image_url": URL, "detail": "auto"}]
    expect(client.responses.create(input=[{"role": "user", "content": parts}], **ask).output_text == "I see a point.", "")
    [call] = log.take()
    refused(BadRequestError, lambda: client.responses.create(input="go on", previous_response_id=said.id, **ask))
    return decode(call["prompt_token_ids"])


def messages(url, log):
    from anthropic import Anthropic, AuthenticationError, RateLimitError

    client = Anthropic(base_url=url, api_key=KEY, max_retries=0, timeout=30)
    tools = [{"name": "add", "input_schema": PARAMETERS}]
    ask = {"model": MODEL, "max_tokens": 1000, "extra_body": {"return_token_ids": True}}
    said = client.messages.create(messages=[{"role": "user", "content": "hi"}], **ask)
    expect(said.content[0].text == "You said: hi ✓" and said.stop_reason == "end_turn", f"{said}")
    [call] = log.take()
    expect_tokens(call, said.prompt_token_ids, said.token_ids, said.logprobs)
    expect(said.usage.output_tokens == len(call["completion_token_ids"]), f"usage {said.usage}")
    for stream in (False, True):
        history = [{"role": "user", "content": QUESTION}]
        more = {"system": "Be exact.", "tools": tools, **ask}
        if stream:
            with client.messages.stream(messages=history, **more) as events:
                last = [event for event in events if event.type == "message_delta"][0]
                said = events.get_final_message()
            [call] = log.take()
            expect_tokens(call, last.prompt_token_ids, last.token_ids, last.logprobs)
        else:
            said = client.messages.create(messages=history, **more)
            [call] = log.take()
        expect([block.type for block in said.content] == ["thinking", "text", "tool_use", "tool_use"], f"{said}")
        expect(said.stop_reason == "tool_use", f"{said}")
        called = [block for block in said.content if block.type == "tool_use"]
        found = results(block.input for block in called)
        history += [
            {"role": "assistant", "content": said.content},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": block.id, "content": result}
                    for block, result in zip(called, found, strict=True)
                ],
            },
        ]
        said = client.messages.create(messages=history, **more)
        expect(said.content[0].text == "The sum is 3.", f"{said}")
        expect_conversation([call, *log.take()], f"<|system|>Be exact.<|end|><|user|>{QUESTION}<|end|>")
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}
    parts = [{"type": "text", "text": LOOK}, {"type": "image", "source": source}]
    said = client.messages.create(messages=[{"role": "user", "content": parts}], **ask)
    expect(said.content[0].text == "I see a point.", f"{said}")
    [call] = log.take()
    refused(RateLimitError, lambda: client.messages.create(messages=[{"role": "user", "content": "fail"}], **ask))
    other = client.with_options(api_key="other")
    refused(AuthenticationError, lambda: other.messages.create(messages=[{"role": "user", "content": "hi"}], **ask))
    log.take()
    return decode(call["prompt_token_ids"])


def generate(url, log):
    from google import genai
    from google.genai import errors, types

    client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=url, extra_body={"return_token_ids": True}))
    said = client.models.generate_content(model=MODEL, contents="hi")
    expect(said.text == "You said: hi ✓" and said.candidates[0].finish_reason == types.FinishReason.STOP, f"{said}")
    [call] = log.take()
    # Fields that the package does not know stand in the body alone.
    body = client.models.generate_content(model=MODEL, contents="hi", config={"should_return_http_response": True})
    body = json.loads(body.sdk_http_response.body)
    expect_tokens(log.take()[0], body["prompt_token_ids"], body["token_ids"], body["logprobs"])
    expect(said.usage_metadata.candidates_token_count == len(call["completion_token_ids"]), f"{said.usage_metadata}")
    function = types.FunctionDeclaration(name="add", parameters_json_schema=PARAMETERS)
    config = types.GenerateContentConfig(
        system_instruction="Be exact.",
        tools=[types.Tool(function_declarations=[function])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    for stream in (False, True):
        history = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
        if stream:
            parts = list(client.models.generate_content_stream(model=MODEL, contents=history, config=config))
            found = [part for one in parts for part in one.candidates[0].content.parts or []]
            content = types.Content(role="model", parts=found)
            expect(len(parts) > 2 and parts[-1].usage_metadata.total_token_count > 0, f"{parts}")
        else:
            content = client.models.generate_content(model=MODEL, contents=history, config=config).candidates[0].content
        [call] = log.take()
        text = "".join(part.text or "" for part in content.parts if not part.thought)
        expect(text == "I add them — both.", text)
        called = [part.function_call for part in content.parts if part.function_call]
        found = results(one.args for one in called)
        answers = [
            types.Part.from_function_response(name=one.name, response={"result": result})
            for one, result in zip(called, found, strict=True)
        ]
        history += [content, types.Content(role="user", parts=answers)]
        said = client.models.generate_content(model=MODEL, contents=history, config=config)
        expect(said.text == "The sum is 3.", f"{said}")
        expect_conversation([call, *log.take()], f"<|system|>Be exact.<|end|><|user|>{QUESTION}<|end|>")
    picture = [types.Part(text=LOOK), types.Part.from_bytes(data=PNG, mime_type="image/png")]
    said = client.models.generate_content(model=MODEL, contents=types.Content(role="user", parts=picture))
    expect(said.text == "I see a point.", f"{said}")
    [call] = log.take()
    with_code(errors.ClientError, 429, lambda: client.models.generate_content(model=MODEL, contents="fail"))
    other = genai.Client(api_key="other", http_options=types.HttpOptions(base_url=url))
    with_code(errors.ClientError, 401, lambda: other.models.generate_content(model=MODEL, contents="hi"))
    log.take()
    return decode(call["prompt_token_ids"])


def with_code(kind, code, call):
    try:
        found = call()
    except kind as error:
        expect(error.code == code, f"{error}")
        return
    raise AssertionError(f"{kind.__name__} {code} expected, not {found}")


def many(url, log):
    """Calls a second from one process that keeps its connection."""
    import httpx

    body = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}
    began, count = time.monotonic(), 500
    with httpx.Client(headers={"authorization": f"Bearer {KEY}"}) as client:
        for _ in range(count):
            client.post(f"{url}/v1/chat/completions", json=body).raise_for_status()
    expect(len(log.take()) == count, "calls are missing in the log")
    return count / (time.monotonic() - began)


def run(short):
    """Short and long form are the same."""
    with serve(SCRIPT, "--key", KEY) as url:
        log = Log(url)
        pictures = [dialect(url, log) for dialect in (chat, responses, messages, generate)]
        expect(len(set(pictures)) == 1 and "<|medium|>" in pictures[0], f"the picture is rendered as {pictures}")
        rate = many(url, log)
    return f"4 dialects: plain, streams, tools, pictures, errors; tokens as in the log; {rate:.0f} calls/s of one client"


if __name__ == "__main__":
    main(run)

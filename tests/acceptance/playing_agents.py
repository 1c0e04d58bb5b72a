"""Agents of others, unchanged: each plays an episode with a model behind the session's own base URL. `playing_agents.py URL KEY COUNT NAMES..` plays
COUNT episodes of each and prints their ids as JSON."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python", "src"))

MODEL = "policy"


class Seat:
    """What an agent is given: an address, a key, the prompt, the tools, and a way to use them."""

    def __init__(self, session):
        self.session = session
        self.root = f"{session.client.url}/v1/sessions/{session.id}/llm"
        self.key = session.token
        self.messages = [dict(message) for message in session.messages]
        self.prompt = self.messages[-1]["content"]
        self.tools = session.tools

    def act(self, tool, arguments):
        return self.session.call(tool, **arguments).observation.text

    def add(self, amount: int) -> str:
        """Adds a number to the count.

        Args:
            amount: The number.
        """
        return self.act("add", {"amount": amount})


def openai_chat(seat, stream=False):
    from openai import OpenAI

    client = OpenAI(base_url=f"{seat.root}/openai", api_key=seat.key, max_retries=0)
    messages = seat.messages
    while True:
        if stream:
            with client.chat.completions.stream(model=MODEL, messages=messages, tools=seat.tools) as parts:
                answer = parts.get_final_completion().choices[0].message
        else:
            answer = client.chat.completions.create(model=MODEL, messages=messages, tools=seat.tools).choices[0].message
        messages.append(answer.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        if not answer.tool_calls:
            return
        for call in answer.tool_calls:
            result = seat.act(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def openai_chat_streamed(seat):
    openai_chat(seat, stream=True)


def openai_responses(seat):
    from openai import OpenAI

    client = OpenAI(base_url=f"{seat.root}/openai", api_key=seat.key, max_retries=0)
    tools = [{"type": "function", **tool["function"]} for tool in seat.tools]
    items = list(seat.messages)
    while True:
        output = client.responses.create(model=MODEL, input=items, tools=tools).output
        items += output
        calls = [item for item in output if item.type == "function_call"]
        if not calls:
            return
        for call in calls:
            result = seat.act(call.name, json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


def anthropic_messages(seat):
    from anthropic import Anthropic

    client = Anthropic(base_url=f"{seat.root}/anthropic", api_key=seat.key, max_retries=0)
    tools = [{"name": tool["function"]["name"], "input_schema": tool["function"]["parameters"]} for tool in seat.tools]
    messages = [message for message in seat.messages if message["role"] == "user"]
    while True:
        with client.messages.stream(model=MODEL, max_tokens=500, messages=messages, tools=tools) as parts:
            answer = parts.get_final_message()
        messages.append({"role": "assistant", "content": answer.content})
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": seat.act(call.name, call.input)} for call in calls
        ]
        messages.append({"role": "user", "content": results})


def google_genai(seat):
    from google import genai
    from google.genai import types

    client = genai.Client(api_key=seat.key, http_options=types.HttpOptions(base_url=f"{seat.root}/gemini"))
    declared = [{"name": "add", "parameters_json_schema": seat.tools[0]["function"]["parameters"]}]
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=declared)])
    contents = [types.Content(role="user", parts=[types.Part(text=seat.prompt)])]
    while True:
        answer = client.models.generate_content(model=MODEL, contents=contents, config=config).candidates[0].content
        contents.append(answer)
        calls = [part.function_call for part in answer.parts if part.function_call]
        if not calls:
            return
        contents.append(
            types.Content(
                role="user",
                parts=[
                    types.Part.from_function_response(name=call.name, response={"result": seat.act(call.name, dict(call.args))})
                    for call in calls
                ],
            )
        )


def openai_agents(seat):
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"{seat.root}/openai", api_key=seat.key, max_retries=0)
    model = OpenAIChatCompletionsModel(model=MODEL, openai_client=client)
    Runner.run_sync(Agent(name="counter", model=model, tools=[function_tool(seat.add)]), seat.prompt)


def smolagents(seat):
    from smolagents import OpenAIServerModel, ToolCallingAgent, tool

    model = OpenAIServerModel(model_id=MODEL, api_base=f"{seat.root}/openai", api_key=seat.key)

    @tool
    def add(amount: int) -> str:
        """Adds a number to the count.

        Args:
            amount: The number.
        """
        return seat.add(amount)

    ToolCallingAgent(tools=[add], model=model, max_steps=4, verbosity_level=0).run(seat.prompt)


def langgraph(seat):
    from langchain_openai import ChatOpenAI
    from langgraph.prebuilt import create_react_agent

    model = ChatOpenAI(model=MODEL, base_url=f"{seat.root}/openai", api_key=seat.key, max_retries=0)
    create_react_agent(model, tools=[seat.add]).invoke({"messages": [("user", seat.prompt)]})


def pydantic_ai(seat):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=f"{seat.root}/openai", api_key=seat.key)
    Agent(OpenAIChatModel(MODEL, provider=provider), tools=[seat.add]).run_sync(seat.prompt)


def compaction(seat):
    """One loop that sums its history up before it ends: two branches."""
    from openai import OpenAI

    client = OpenAI(base_url=f"{seat.root}/openai", api_key=seat.key, max_retries=0)
    openai_chat(seat)
    client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "So far: the count is right."}])


def sub_agents(seat):
    """A main loop, and two helpers with conversations of their own in between: three branches."""
    from openai import OpenAI

    client = OpenAI(base_url=f"{seat.root}/openai", api_key=seat.key, max_retries=0)

    def helper(name):
        messages = [{"role": "user", "content": f"You are {name}. What is a count?"}]
        for _ in range(2):
            answer = client.chat.completions.create(model=MODEL, messages=messages).choices[0].message
            messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": "Go on."}]

    helper("one")
    openai_chat(seat)
    helper("two")


def main():
    import palestra

    url, key, count, names = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    played = {name: [] for name in names}
    with palestra.Client(url, key) as client:
        for index in range(count):
            for name in names:
                task = {"split": "train", "index": index}
                with client.session("bench/counter", task=task) as session:
                    session.client = client
                    globals()[name](Seat(session))
                    session.finish("gave_up")
                    played[name].append(
                        {"episode": session.episode, "session": session.id, "score": session.verdict.score}
                    )
    print(json.dumps(played))


if __name__ == "__main__":
    main()

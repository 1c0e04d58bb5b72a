"""Plays sessions as an MCP client does, with whichever generation of the package `mcp` this Python has.

Reads from its input {"mode", "sessions": [{"url", "token", "calls": [[tool, arguments], ..]}, ..]} and prints what each client saw.
`mode` is how a client of the second generation agrees on a revision; the first knows one way alone.
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from importlib.metadata import version

from mcp.client.streamable_http import streamable_http_client

GENERATION = int(version("mcp").split(".")[0])
PLAYED_AT_ONCE_MAX = 32


@asynccontextmanager
async def connect(url, token, mode):
    """A client that has said hello, with the revision that was agreed on and the instructions that it was given."""
    headers = {"Authorization": f"Bearer {token}"}
    if GENERATION == 1:
        import httpx
        from mcp import ClientSession

        async with httpx.AsyncClient(headers=headers) as http, streamable_http_client(url, http_client=http) as (read, write, _):
            async with ClientSession(read, write) as client:
                hello = await client.initialize()
                yield client, hello.protocolVersion, hello.instructions
    else:
        import httpx2
        from mcp import Client

        async with httpx2.AsyncClient(headers=headers) as http:
            async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                yield client, client.protocol_version, client.instructions


def plain(result):
    """A result in the words of the protocol, which both generations of the package write alike."""
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def play(session, mode, room):
    async with room, connect(session["url"], session["token"], mode) as (client, revision, instructions):
        tools = plain(await client.list_tools())["tools"]
        prompts = plain(await client.list_prompts())["prompts"]
        prompt = plain(await client.get_prompt(prompts[0]["name"]))
        results = [plain(await client.call_tool(tool, arguments)) for tool, arguments in session["calls"]]
        return {
            "revision": revision,
            "instructions": instructions,
            "tools": tools,
            "prompt": "\n\n".join(message["content"]["text"] for message in prompt["messages"]),
            "results": results,
        }


async def main():
    asked = json.load(sys.stdin)
    room = asyncio.Semaphore(PLAYED_AT_ONCE_MAX)
    seen = await asyncio.gather(*(play(session, asked["mode"], room) for session in asked["sessions"]))
    print(json.dumps({"package": version("mcp"), "seen": seen}))


if __name__ == "__main__":
    asyncio.run(main())

"""A chat server on this machine that answers every prompt after a set delay, streamed or whole, as the request asks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

PROMPT_TOKENS = 34_000
REPLY = "The answer is 7."


def body_of(request: dict[str, Any]) -> tuple[bytes, str]:
    """The reply's body and content type."""
    usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": 6, "total_tokens": PROMPT_TOKENS + 6}
    head = {"id": "x", "created": 1, "model": request.get("model", "m")}
    if not request.get("stream"):
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": REPLY}}
        whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        return json.dumps(whole).encode(), "application/json"
    words = [{"index": 0, "delta": {"role": "assistant", "content": w + " "}} for w in REPLY.split()]
    words.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    chunks = [{**head, "object": "chat.completion.chunk", "choices": [c]} for c in words]
    chunks.append({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join([*events, "data: [DONE]\n\n"]).encode(), "text/event-stream"


async def serve(delay_s: float) -> None:
    """Serve until standard input ends; prints the port first and the number of requests last."""
    served = 0

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:] if b":" in line)
                request = await reader.readexactly(int(fields.get(b"content-length", b"0")))
                served += 1
                await asyncio.sleep(delay_s)
                body, kind = body_of({"stream": b'"stream":true' in request or b'"stream": true' in request})
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n" % (kind.encode(), len(body))
                )
                writer.write(body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0, limit=2**20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    with contextlib.suppress(BrokenPipeError):
        print(served, flush=True)


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))

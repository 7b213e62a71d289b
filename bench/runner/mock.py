"""An inference server that costs next to nothing: every answer is the same bytes, given after a fixed time.

    python -m bench.runner.mock --seconds 1.0 --slots 150

It serves ``slots`` requests at a time, the rest wait their turn, so ``slots / seconds`` is all that anybody can get out
of it. The first line of its output is its port; TERM makes it print what it saw, as one JSON object, and end.
SGLang's ``/generate``, OpenAI's ``/v1/completions`` and ``/v1/chat/completions`` (streamed when asked for), and what
clients ask to find out whom they speak to.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections import deque
from typing import cast

TOKENS = 200
"""Completion tokens of every answer: enough text that reading it counts, as it does in a real run."""
TEXT = " ".join(f"word{number:03d}" for number in range(TOKENS))
IDS = list(range(1000, 1000 + TOKENS))
MODEL = "tiny"
HEAD_END = b"\r\n\r\n"


def response(body: bytes, kind: bytes = b"application/json", status: bytes = b"200 OK") -> bytes:
    """A whole HTTP/1.1 answer that keeps the connection open."""
    head = b"HTTP/1.1 " + status + b"\r\nContent-Type: " + kind + b"\r\nContent-Length: "
    return head + str(len(body)).encode() + HEAD_END + body


def as_json(table: object) -> bytes:
    """An answer with a JSON body."""
    return response(json.dumps(table).encode())


def events(*tables: object) -> bytes:
    """An answer as server-sent events, all at once."""
    lines = b"".join(b"data: " + json.dumps(table).encode() + b"\n\n" for table in tables)
    return response(lines + b"data: [DONE]\n\n", b"text/event-stream")


USAGE = {"prompt_tokens": 20, "completion_tokens": TOKENS, "total_tokens": 20 + TOKENS}
_META = {"id": "x", "object": "text_completion", "created": 1, "model": MODEL}
_META_CHAT = {**_META, "object": "chat.completion"}
ANSWERS = {
    b"/generate": as_json(
        {
            "text": TEXT,
            "output_ids": IDS,
            "meta_info": {"finish_reason": {"type": "stop"}, "prompt_tokens": 20, "completion_tokens": TOKENS},
        }
    ),
    b"/v1/completions": as_json(
        {**_META, "choices": [{"index": 0, "text": TEXT, "token_ids": IDS, "finish_reason": "stop"}], "usage": USAGE}
    ),
    b"/v1/chat/completions": as_json(
        {
            **_META_CHAT,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
            "usage": USAGE,
        }
    ),
}
"""What a request gets, made once."""
STREAMS = {
    b"/v1/completions": events(
        {**_META, "choices": [{"index": 0, "text": TEXT, "finish_reason": "stop"}]},
        {**_META, "choices": [], "usage": USAGE},
    ),
    b"/v1/chat/completions": events(
        {**_META_CHAT, "choices": [{"index": 0, "delta": {"role": "assistant", "content": TEXT}}]},
        {**_META_CHAT, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {**_META_CHAT, "choices": [], "usage": USAGE},
    ),
}
"""The same for clients that stream."""
SMALL = {
    b"/health": response(b""),
    b"/v1/models": as_json({"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": 32768}]}),
    b"/get_model_info": as_json({"model_path": MODEL, "is_generation": True}),
}
"""Answers to what is asked on the side."""
NOT_FOUND = response(b"{}", status=b"404 Not Found")


class Counters:
    """What the server saw.

    Args:
        seconds: How long an answer takes.
        slots: Requests served at a time.
    """

    def __init__(self, seconds: float, slots: int) -> None:
        self.seconds = seconds
        self.slots = slots
        self.answered = 0
        self.connections = 0
        self.running = 0
        self.most = 0
        self.first_at = 0.0
        self.last_at = 0.0
        self._queue: deque[tuple[Connection, bytes]] = deque()
        self._loop = asyncio.get_running_loop()

    def take(self, connection: Connection, answer: bytes) -> None:
        """A request came: it is served now, or when a slot is free."""
        self.first_at = self.first_at or self._loop.time()
        self._queue.append((connection, answer))
        self.most = max(self.most, self.running + len(self._queue))
        self._serve()

    def _serve(self) -> None:
        while self._queue and self.running < self.slots:
            self.running += 1
            self._loop.call_later(self.seconds, self._done, *self._queue.popleft())

    def _done(self, connection: Connection, answer: bytes) -> None:
        self.running -= 1
        self.answered += 1
        self.last_at = self._loop.time()
        connection.answer(answer)
        self._serve()

    def said(self) -> dict[str, float]:
        """The counts, and the requests per second between the first request and the last answer."""
        took = self.last_at - self.first_at
        return {
            "answered": self.answered,
            "connections": self.connections,
            "most": self.most,
            "seconds": round(took, 3),
            "per_s": round(self.answered / took, 2) if took > 0 else 0.0,
        }


class Connection(asyncio.Protocol):
    """One connection; one request at a time, which is what clients of HTTP/1.1 do.

    Args:
        counters: Shared by all.
    """

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._data = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Counts it."""
        self._counters.connections += 1
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Takes a request once it is whole."""
        self._data += data
        head, found, body = self._data.partition(HEAD_END)
        if not found or len(body) < content_length(head):
            return
        self._data = b""
        target = head.split(b" ", 2)[1].partition(b"?")[0]
        if target not in ANSWERS:
            self.answer(SMALL.get(target, NOT_FOUND))
            return
        streamed = target in STREAMS and (b'"stream":true' in body or b'"stream": true' in body)
        self._counters.take(self, (STREAMS if streamed else ANSWERS)[target])

    def answer(self, answer: bytes) -> None:
        """Writes an answer, when there is still somebody to read it."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(answer)


def content_length(head: bytes) -> int:
    """Bytes of the body that a request's head announces."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


async def serve(seconds: float, slots: int) -> dict[str, float]:
    """Serves until TERM; returns what was seen."""
    loop = asyncio.get_running_loop()
    counters = Counters(seconds, slots)
    server = await loop.create_server(lambda: Connection(counters), "127.0.0.1", 0, backlog=4096)
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    print(server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()
    server.close()
    return counters.said()


def main() -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long an answer takes")
    parser.add_argument("--slots", type=int, default=150, help="requests served at a time")
    said = parser.parse_args()
    sys.stdout.write(json.dumps(asyncio.run(serve(said.seconds, said.slots))) + "\n")


if __name__ == "__main__":
    main()

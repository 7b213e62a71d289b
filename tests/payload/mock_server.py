"""An inference server for tests: SGLang's and OpenAI's request shapes, and every way to fail, on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import h11

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Fault:
    """One bad answer.

    Attributes:
        kind: ``status`` (with ``status``), ``reset`` (the connection breaks), ``hang`` (no answer until the client leaves),
            ``half`` (the answer breaks off), ``abort`` (HTTP 200 with an aborted request), ``not_json``, ``shape`` (JSON
            without the expected keys), ``error_200`` (an error envelope with HTTP 200).
        status: The HTTP status of ``status``.
        headers: Further headers of ``status``.
        message: What the error says.
    """

    kind: Literal["status", "reset", "hang", "half", "abort", "not_json", "shape", "error_200"]
    status: int = 500
    headers: tuple[tuple[str, str], ...] = ()
    message: str = "made to fail"


@dataclass(slots=True)
class MockServer:
    """The server.

    Attributes:
        sglang: Whether it is SGLang; else it has only OpenAI's endpoints.
        tokens: Completion tokens by prompt text.
        faults: Bad answers by prompt text, used up one by one before good ones come.
        always: A bad answer to every request, while it is set.
        model: The name of its model.
        hold: While cleared, requests wait for it before they are answered.
        slow: Events by prompt text that its requests wait for besides.
        asked: Every request seen: path and body.
        asked_at: When each was seen, by the loop's clock.
        headers: The last request's headers.
        most_in_flight: The most requests that were open at once.
        in_flight: Requests open now.
        changed: Set on every request and answer, for tests that wait.
    """

    sglang: bool = True
    tokens: Callable[[str], int] = lambda _text: 10
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    always: Fault | None = None
    model: str = "small-model"
    hold: asyncio.Event = field(default_factory=asyncio.Event)
    slow: dict[str, asyncio.Event] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    asked_at: list[float] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    most_in_flight: int = 0
    in_flight: int = 0
    port: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self.hold.set()
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Begins to listen; after a ``stop``, on the same port as before."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def deafen(self) -> None:
        """Takes no new connections; those that are open go on. ``start`` undoes it."""
        assert self._server is not None
        self._server.close()

    async def stop(self) -> None:
        """Stops to listen, and breaks every open connection."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits until a condition over the server's attributes holds."""
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(condition), 15)

    async def _notify(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._one(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
        except (ConnectionError, h11.RemoteProtocolError):
            writer.transport.abort()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            self._tasks.discard(task)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER)
        body = b""
        target = ""
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await reader.read(65536))
            elif isinstance(event, h11.Request):
                target = event.target.decode()
                self.headers = {name.decode(): value.decode() for name, value in event.headers}
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return
        await self._answer(Reply(connection, reader, writer), target, body)

    async def _answer(self, reply: Reply, target: str, body: bytes) -> None:
        if not body:
            await reply.send(*self._small(target))
            return
        table = json.loads(body)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.asked.append((target, table))
        self.asked_at.append(asyncio.get_running_loop().time())
        await self._notify()
        try:
            await self.hold.wait()
            text = prompt_text(table)
            if text in self.slow:
                await self.slow[text].wait()
            queue = self.faults.get(text, [])
            fault = self.always or (queue.pop(0) if queue else None)
            if fault is not None:
                await reply.fail(fault, target)
            else:
                await reply.send(200, good_answer(target, table, text, self.tokens(text)))
        finally:
            self.in_flight -= 1
            await self._notify()

    def _small(self, target: str) -> tuple[int, object]:
        if target == "/get_model_info" and self.sglang:
            return 200, {"model_path": "models/small", "is_generation": True}
        if target == "/v1/models":
            return 200, {"object": "list", "data": [{"id": self.model}]}
        return 404, {"detail": "Not Found"}


@dataclass(frozen=True, slots=True)
class Reply:
    """One connection, ready to be answered."""

    connection: h11.Connection
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, status: int, table: object, headers: tuple[tuple[str, str], ...] = ()) -> None:
        """Answers with JSON, or with bytes as they are."""
        await self._send(status, table if isinstance(table, bytes) else json.dumps(table).encode(), headers)

    async def _send(self, status: int, body: bytes, headers: tuple[tuple[str, str], ...], missing: int = 0) -> None:
        every = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        self._write(h11.Response(status_code=status, headers=[*every, *headers]))
        self._write(h11.Data(data=body[: len(body) - missing]))
        if not missing:
            self._write(h11.EndOfMessage())
        await self.writer.drain()

    def _write(self, event: h11.Response | h11.Data | h11.EndOfMessage) -> None:
        self.writer.write(self.connection.send(event) or b"")

    async def fail(self, fault: Fault, target: str) -> None:
        """Answers badly, as the fault says."""
        if fault.kind == "status":
            await self.send(fault.status, {"error": {"message": fault.message}}, fault.headers)
        elif fault.kind == "reset":
            self.writer.transport.abort()
        elif fault.kind == "hang":
            await self.reader.read()
        elif fault.kind == "half":
            await self._send(200, b'{"text": "half an answ', (), missing=4)
        else:
            await self.send(200, bad_body(fault, target))


def bad_body(fault: Fault, target: str) -> object:
    """The body of an answer with HTTP 200 that isn't one."""
    if fault.kind == "not_json":
        return b"<html>Bad gateway</html>"
    if fault.kind == "shape":
        return {"answer": 42}
    if fault.kind == "error_200":
        return {"error": {"message": fault.message}}
    if target == "/generate":
        finish = {"type": "abort", "message": fault.message}
        meta = {"finish_reason": finish, "prompt_tokens": 3, "completion_tokens": 2}
        return {"text": "half", "output_ids": [1, 2], "meta_info": meta}
    choice = {"index": 0, "text": "half", "message": {"content": "half"}, "finish_reason": "abort"}
    return {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}


def prompt_text(body: dict[str, Any]) -> str:
    """What identifies a request in a test: its text, its ids, or its last message."""
    if "messages" in body:
        return str(body["messages"][-1]["content"])
    for key in ("text", "input_ids", "prompt"):
        if key in body:
            return str(body[key])
    return ""


def good_answer(target: str, body: dict[str, Any], text: str, tokens: int) -> object:
    """A completion in the shape of the endpoint, no longer than asked for."""
    if target == "/generate":
        limit = body["sampling_params"].get("max_new_tokens", 128)
        made = min(tokens, limit)
        reason = {"type": "stop", "matched": 2} if made == tokens else {"type": "length", "length": made}
        meta = {"finish_reason": reason, "prompt_tokens": 3, "completion_tokens": made}
        return {"text": f"answer to {text}", "output_ids": list(range(made)), "meta_info": meta}
    made = min(tokens, body.get("max_tokens", 16))
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop" if made == tokens else "length"}
    if target == "/v1/completions":
        choice |= {"text": f"answer to {text}", "token_ids": list(range(made))}
    else:
        choice["message"] = {"role": "assistant", "content": f"answer to {text}", "reasoning_content": "hm"}
    return {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": made}}

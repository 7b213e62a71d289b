"""The simulated server's HTTP routes, with the answers that SGLang 0.5.23 gives."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from remote.demo import asked
from remote.demo.asked import Asked, BadInputError
from remote.demo.http_server import Reply
from remote.demo.lengths import answer
from remote.demo.metrics_page import metrics_page
from remote.demo.serving import Phase
from remote.demo.startup import CONTEXT, MODEL, NOTICE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from remote.demo.asked import Body
    from remote.demo.http_server import Call
    from remote.demo.serving import Outcome, Serving

EOS = 2
"""The token id that ends an answer."""
VERSION = "0.5.23"
"""The SGLang version that is imitated."""

Route = tuple[str, str]


class SglangApi:
    """Makes the answer to each call.

    Args:
        serving: The server behind it.
        log_line: Writes a line to the server's log.
    """

    def __init__(self, serving: Serving, log_line: Callable[[str], None]) -> None:
        self._serving = serving
        self._log_line = log_line
        self._created = int(time.time())
        self._routes: dict[Route, Callable[[Call], Awaitable[Reply]]] = {
            ("GET", "/health"): self._health,
            ("GET", "/health_generate"): self._health,
            ("GET", "/metrics"): self._metrics,
            ("GET", "/server_info"): self._server_info,
            ("GET", "/get_server_info"): self._server_info,
            ("GET", "/model_info"): self._model_info,
            ("GET", "/get_model_info"): self._model_info,
            ("GET", "/v1/models"): self._models,
            ("GET", "/get_load"): self._load,
            ("POST", "/abort_request"): self._abort,
            ("POST", "/generate"): self._generate,
            ("POST", "/v1/completions"): self._completions,
            ("POST", "/v1/chat/completions"): self._chat,
        }

    async def __call__(self, call: Call) -> Reply:
        """Answer a call; what can't be understood is answered with 400."""
        route = self._routes.get((call.method, call.path))
        if route is None:
            known = any(path == call.path for _, path in self._routes)
            return _json({"detail": "Method Not Allowed" if known else "Not Found"}, 405 if known else 404)
        try:
            return await route(call)
        except BadInputError as error:
            return _failure(call.path, str(error), 400)

    async def _health(self, _call: Call) -> Reply:
        return Reply(200 if await self._serving.healthy() else 503)

    async def _metrics(self, _call: Call) -> Reply:
        page = metrics_page(self._serving.counters, self._serving.engine, self._serving.args.speed)
        return Reply(200, page.encode(), "text/plain; version=0.0.4; charset=utf-8")

    async def _server_info(self, call: Call) -> Reply:
        if call.path.startswith("/get_"):
            self._log_line(
                f"Endpoint '{call.path}' is deprecated and will be removed in a future version. "
                "Please use '/server_info' instead."
            )
        await self._serving.scheduler_answers()
        serving = self._serving
        report = serving.counters.last_report
        state = {
            "last_gen_throughput": report.throughput * serving.args.speed if report else 0.0,
            "memory_usage": {"token_capacity": serving.args.pool_tokens},
        }
        sizes = {"max_total_num_tokens": serving.args.pool_tokens, "max_req_input_len": CONTEXT - 6}
        return _json({**serving.args.as_dict(), **sizes, "internal_states": [state], "version": VERSION})

    async def _model_info(self, _call: Call) -> Reply:
        return _json(
            {
                "model_path": MODEL,
                "served_model_name": MODEL,
                "tokenizer_path": MODEL,
                "is_generation": True,
                "note": NOTICE,
            }
        )

    async def _models(self, _call: Call) -> Reply:
        model = {
            "id": MODEL,
            "object": "model",
            "created": self._created,
            "owned_by": "sglang",
            "max_model_len": CONTEXT,
        }
        return _json({"object": "list", "data": [model]})

    async def _load(self, _call: Call) -> Reply:
        await self._serving.scheduler_answers()
        engine = self._serving.engine
        total = engine.running + engine.queue
        return _json(
            [{"dp_rank": 0, "num_reqs": total, "num_waiting_reqs": engine.queue, "num_tokens": engine.used_tokens}]
        )

    async def _abort(self, call: Call) -> Reply:
        body = asked.read_body(call.body)
        rid = body.get("rid")
        for live in self._serving.in_flight:
            if body.get("abort_all") is True or (isinstance(rid, str) and rid and live.startswith(rid)):
                self._serving.abort(live)
        return Reply(200)

    async def _generate(self, call: Call) -> Reply:
        body = asked.read_body(call.body)
        return await self._complete(call, asked.from_generate(body), body, _as_generate)

    async def _completions(self, call: Call) -> Reply:
        body = asked.read_body(call.body)
        return await self._complete(call, asked.from_completions(body), body, _as_completion)

    async def _chat(self, call: Call) -> Reply:
        body = asked.read_body(call.body)
        return await self._complete(call, asked.from_chat(body), body, _as_chat)

    async def _complete(
        self, call: Call, wish: Asked, body: Body, shape: Callable[[Asked, Outcome, Body], object]
    ) -> Reply:
        serving = self._serving
        request = wish.request(slow_start=serving.trouble.slow_start)
        if request.rid in serving.in_flight:
            raise BadInputError(f"Duplicate request ID detected: {request.rid}")
        if serving.phase is not Phase.UP:
            return _failure(call.path, "The server is starting or shutting down.", 503)
        if not serving.accept():
            return _failure(call.path, "Simulated failure: CUDA error: an illegal memory access was encountered", 500)
        return _json(shape(wish, await serving.complete(request), body))


def _json(value: object, status: int = 200) -> Reply:
    return Reply(status, json.dumps(value, separators=(",", ":")).encode())


def _failure(path: str, message: str, status: int) -> Reply:
    """An error in the shape of its route: SGLang's own differs from OpenAI's."""
    if not path.startswith("/v1/"):
        return _json({"error": {"message": message}}, status)
    kind = "BadRequestError" if status == 400 else "InternalServerError"  # noqa: PLR2004 - an HTTP status
    return _json({"object": "error", "message": message, "type": kind, "param": None, "code": status}, status)


def _answer(wish: Asked, outcome: Outcome) -> tuple[str, list[int]]:
    text, ids = answer(wish.digest, outcome.tokens)
    if outcome.reason == "stop":
        ids[-1] = EOS
    return text, ids


def _as_generate(wish: Asked, outcome: Outcome, _body: Body) -> object:
    text, ids = _answer(wish, outcome)
    reasons: dict[str, object] = {
        "stop": {"type": "stop", "matched": EOS},
        "length": {"type": "length", "length": outcome.tokens},
        "abort": {"type": "abort", "message": "Abort request", "status_code": None, "err_type": None},
    }
    meta = {
        "id": wish.rid,
        "finish_reason": reasons[outcome.reason],
        "prompt_tokens": wish.prompt_tokens,
        "weight_version": "default",
        "num_retractions": outcome.retractions,
        "completion_tokens": outcome.tokens,
        "cached_tokens": 0,
        "dp_rank": None,
        "e2e_latency": outcome.seconds,
    }
    return {"text": text, "output_ids": ids, "meta_info": meta}


def _as_completion(wish: Asked, outcome: Outcome, body: Body) -> object:
    text, ids = _answer(wish, outcome)
    choice: Body = {"index": 0, "text": text, **_ending(outcome)}
    if body.get("return_token_ids") is True:
        choice |= {"token_ids": ids, "prompt_token_ids": None if isinstance(wish.prompt, str) else list(wish.prompt)}
    return _openai("text_completion", wish, outcome, choice)


def _as_chat(wish: Asked, outcome: Outcome, _body: Body) -> object:
    text, _ids = _answer(wish, outcome)
    message = {"role": "assistant", "content": text, "reasoning_content": None, "tool_calls": None}
    return _openai("chat.completion", wish, outcome, {"index": 0, "message": message, **_ending(outcome)})


def _ending(outcome: Outcome) -> Body:
    matched = EOS if outcome.reason == "stop" else None
    return {"logprobs": None, "finish_reason": outcome.reason, "matched_stop": matched}


def _openai(kind: str, wish: Asked, outcome: Outcome, choice: Body) -> object:
    usage = {
        "prompt_tokens": wish.prompt_tokens,
        "total_tokens": wish.prompt_tokens + outcome.tokens,
        "completion_tokens": outcome.tokens,
        "prompt_tokens_details": None,
        "reasoning_tokens": 0,
    }
    return {
        "id": wish.rid,
        "object": kind,
        "created": int(time.time()),
        "model": MODEL,
        "choices": [choice],
        "usage": usage,
        "metadata": {"weight_version": "default"},
    }

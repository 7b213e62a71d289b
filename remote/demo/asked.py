"""What a client asks of the simulated server: SGLang's and OpenAI's request bodies, read and checked."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass

from remote.demo.happenings import Request
from remote.demo.lengths import digest_of, law_for
from remote.demo.startup import CONTEXT

GENERATE_DEFAULT = 128
"""SGLang's ``max_new_tokens`` when the client gives none."""
COMPLETIONS_DEFAULT = 16
"""``max_tokens`` of ``/v1/completions`` when the client gives none."""
_CHARACTERS_PER_TOKEN = 4

Body = dict[str, object]


class BadInputError(ValueError):
    """The request can't be understood or done; the message is for the client."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for one completion.

    Attributes:
        prompt: Token ids, or text.
        max_new_tokens: As the client gave it; None for as many as the context holds.
        ignore_eos: Whether it wants all of ``max_new_tokens``.
        rid: The client's id for it, or a fresh one.
    """

    prompt: tuple[int, ...] | str
    max_new_tokens: int | None
    ignore_eos: bool
    rid: str

    @property
    def prompt_tokens(self) -> int:
        """Length of the prompt; text counts a token for four characters."""
        if isinstance(self.prompt, str):
            return 1 + len(self.prompt) // _CHARACTERS_PER_TOKEN
        return len(self.prompt)

    @property
    def digest(self) -> bytes:
        """What decides the answer."""
        return digest_of(self.prompt)

    def request(self, *, slow_start: bool) -> Request:
        """The request for the engine.

        Raises:
            BadInputError: The prompt leaves no room in the context.
        """
        room = CONTEXT - self.prompt_tokens
        if room <= 0:
            raise BadInputError(
                f"The input ({self.prompt_tokens} tokens) is longer than the model's context length ({CONTEXT} tokens)."
            )
        limit = room if self.max_new_tokens is None else min(self.max_new_tokens, room)
        wanted = limit + 1 if self.ignore_eos else law_for(limit, slow_start=slow_start).draw(self.digest)
        return Request(self.rid, self.prompt_tokens, limit, wanted)


def read_body(raw: bytes) -> Body:
    """The JSON object of a request body.

    Raises:
        BadInputError: It is none, or asks for a stream.
    """
    try:
        body = json.loads(raw)
    except ValueError as error:
        raise BadInputError("The request body is not JSON.") from error
    if not isinstance(body, dict):
        raise BadInputError("The request body is not a JSON object.")
    if body.get("stream"):
        raise BadInputError("The simulated server does not stream: ask without 'stream'.")
    return body


def from_generate(body: Body) -> Asked:
    """What ``/generate`` is asked."""
    params = body.get("sampling_params") or {}
    if not isinstance(params, dict):
        raise BadInputError("'sampling_params' must be an object: the simulated server takes one prompt a request.")
    given = body.get("input_ids", body.get("text"))
    return _asked(body, given, params, params.get("max_new_tokens", GENERATE_DEFAULT))


def from_completions(body: Body) -> Asked:
    """What ``/v1/completions`` is asked."""
    return _asked(body, body.get("prompt"), body, body.get("max_tokens", COMPLETIONS_DEFAULT))


def from_chat(body: Body) -> Asked:
    """What ``/v1/chat/completions`` is asked; the messages are the prompt."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadInputError("'messages' must be a list with at least one message.")
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    return _asked(body, json.dumps(messages, sort_keys=True), body, limit)


def _asked(body: Body, prompt: object, params: Body, limit: object) -> Asked:
    rid = body.get("rid")
    return Asked(
        _prompt(prompt),
        _limit(limit),
        ignore_eos=params.get("ignore_eos") is True,
        rid=rid if isinstance(rid, str) and rid else uuid.uuid4().hex,
    )


def _prompt(given: object) -> tuple[int, ...] | str:
    if isinstance(given, str) and given:
        return given
    if isinstance(given, list) and given and all(type(token) is int for token in given):
        return tuple(given)
    raise BadInputError("The prompt must be a text, or a list of token ids; the simulated server takes one a request.")


def _limit(given: object) -> int | None:
    if given is None:
        return None
    if type(given) is not int or given < 1:
        raise BadInputError(f"The limit of new tokens must be a whole number of at least 1, not {given!r}.")
    return given

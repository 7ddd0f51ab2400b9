"""A model's server on the loopback address, to order.

It speaks OpenAI's chat completions and embeddings, and texts of Anthropic's messages:

    with model_server() as server:
        server.will({"facts": []}, status(429, retry_after="1"), prose({"facts": []}))
        Settings(model="openai:any", model_base_url=server.url)

Runs in a thread of its own, so that tests, benchmarks and services in other processes can ask it.
Behaviours are taken in order; when none is left, `server.otherwise` answers.
"""

import asyncio
import json
import threading
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from tokenizers import Tokenizer
from typing_extensions import override

from app.adapters.llm.onnx_encoder import TOKENIZER

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Called:
    """A call of one of the request's tools, by its name."""

    name: str
    arguments: Json
    id: str = "call_1"


Answer = Json | str | Called | Callable[[Json], Json | str | Called]
"""A structure, put where the request asks for it; a text as it stands; or made from the request."""


@dataclass(frozen=True)
class Behaviour:
    """What the server does with one request."""

    answer: Answer = field(default_factory=dict)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_seconds: float = 0
    body: bytes | None = None
    """The whole body of the reply, in place of a completion."""
    sent_part: float = 1
    """How much of the body is sent before the connection is dropped."""
    is_chunked: bool = False
    """Whether the reply goes without a declared length."""
    reports_usage: bool = True
    message: Json = field(default_factory=dict)
    """Fields of the answer's message that others do not have, or that have another value."""
    finish: str | None = None
    """The reason why the answer ends; None: the usual one."""
    tokens: Callable[[Json, str], tuple[int, int]] | None = None
    """Counts the request and the answer; None: as `count_tokens` does."""


def slow(seconds: float, answer: Answer) -> Behaviour:
    """Answer after a while."""
    return Behaviour(answer, delay_seconds=seconds)


def status(code: int, *, retry_after: str | None = None) -> Behaviour:
    """Refuse or fail."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    error = {"error": {"message": "A word of the provider.", "type": "test", "code": None}}
    return Behaviour(status=code, headers=headers, body=json.dumps(error).encode())


def refusal(code: int, message: str, **more: Any) -> Behaviour:
    """Refuse in these words."""
    return Behaviour(status=code, body=json.dumps({"error": {"message": message, **more}}).encode())


def cut_off(answer: Answer, *, is_chunked: bool = False) -> Behaviour:
    """Drop the connection in the middle of the reply."""
    return Behaviour(answer, sent_part=0.5, is_chunked=is_chunked)


def prose(answer: Json) -> Behaviour:
    """Talk around the answer."""
    return Behaviour(f"Of {{course}}! Here it is:\n\n{json.dumps(answer)}\n\nAnything else?")


def fenced(answer: Json) -> Behaviour:
    """Put the answer into a code fence."""
    return Behaviour(f"```json\n{json.dumps(answer, indent=2)}\n```")


def thinking(answer: Json) -> Behaviour:
    """Think aloud first, with a draft."""
    return Behaviour(f'<think>Perhaps {{"facts": ["draft"]}}?</think>\n{json.dumps(answer)}')


def truncated(answer: Json) -> Behaviour:
    """Stop in the middle of the answer, in a reply that is whole."""
    text = json.dumps(answer)
    return Behaviour(text[: len(text) * 2 // 3])


def echoed_schema() -> Behaviour:
    """Answer with the schema that was asked for."""
    return Behaviour(_schema_of)


def huge(count: int, *, is_chunked: bool = False) -> Behaviour:
    """Send as many bytes."""
    return Behaviour("a" * count, is_chunked=is_chunked, reports_usage=False)


@dataclass(frozen=True)
class Seen:
    """A request that has come in."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Json
    prompt_tokens: int
    port: int
    """The caller's end of the connection."""


class ModelServer:
    """The server; `url` is what `MEMORY_BANK_MODEL_BASE_URL` takes."""

    def __init__(self, dimensions: int = 8) -> None:
        self.url = ""
        self.dimensions = dimensions
        self.reset()

    def reset(self) -> None:
        """Forget all requests and orders."""
        self.seen: list[Seen] = []
        self.otherwise = Behaviour()
        """What is done when nothing else is ordered."""
        self.refuses: dict[str, int] = {}
        """Fields that are not known here, such as `tools`, and the status that says so."""
        self.judge: Callable[[Json], Behaviour | None] = lambda _: None
        """Decides by a request what is done with it; None: what is ordered."""
        self.most_at_once = 0
        self._present: set[int] = set()
        self._ordered: deque[Behaviour] = deque()

    def will(self, *behaviours: Behaviour | Answer) -> None:
        """Order what is done with the next requests."""
        self._ordered.extend(map(_behaviour, behaviours))

    def always(self, behaviour: Behaviour | Answer) -> None:
        """Order what is done when nothing else is."""
        self.otherwise = _behaviour(behaviour)

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all requests so far."""
        return sum(seen.prompt_tokens for seen in self.seen)

    def application(self) -> Starlette:
        """Return the routes."""
        routes = [
            Route("/v1/chat/completions", self._chat, methods=["POST"]),
            Route("/v1/embeddings", self._embeddings, methods=["POST"]),
            Route("/v1/messages", self._messages, methods=["POST"]),
            # What other vendors' clients ask; they get the body that is ordered.
            Route("/{path:path}", self._chat, methods=["POST"]),
        ]
        return Starlette(routes=routes)

    async def _chat(self, request: Request) -> Response:
        return await self._reply(request, _completion)

    async def _messages(self, request: Request) -> Response:
        return await self._reply(request, _message)

    async def _embeddings(self, request: Request) -> Response:
        return await self._reply(request, self._vectors)

    async def _reply(self, request: Request, made: Callable[[Json, Behaviour], Json]) -> Response:
        body = await request.json()
        tokens = prompt_tokens(body)
        headers, query = dict(request.headers), dict(request.query_params)
        assert request.client is not None
        port = request.client.port
        self.seen.append(Seen(request.url.path, query, headers, body, tokens, port))
        refused = [code for name, code in self.refuses.items() if name in body]
        if refused:
            return JSONResponse({"error": {"message": "Unknown field."}}, refused[0])
        behaviour = self.judge(body)
        if behaviour is None:
            behaviour = self._ordered.popleft() if self._ordered else self.otherwise
        present, number = self._present, len(self.seen)
        present.add(number)
        self.most_at_once = max(self.most_at_once, len(self._present))
        try:
            await asyncio.sleep(behaviour.delay_seconds)
        finally:
            present.discard(number)
        content = behaviour.body
        if content is None:
            content = json.dumps(made(body, behaviour)).encode()
        return _Sent(content, behaviour)

    def _vectors(self, body: Json, _: Behaviour) -> Json:
        is_packed = body.get("encoding_format") == "base64"
        rows = [
            {"index": index, "embedding": packed(direction) if is_packed else direction}
            for index, text in enumerate(body["input"])
            if (direction := _direction(text, self.dimensions))
        ]
        # In no order, as the protocol allows.
        return {"data": rows[::-1], "model": body["model"]}


class _Sent(Response):
    """A reply that may be cut off, or go without a length."""

    def __init__(self, content: bytes, behaviour: Behaviour) -> None:
        super().__init__(content, behaviour.status, dict(behaviour.headers), "application/json")
        self._behaviour = behaviour
        if behaviour.is_chunked:
            del self.headers["content-length"]

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        whole = bytes(self.body)
        part = whole[: int(len(whole) * self._behaviour.sent_part)]
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        is_cut = len(part) < len(whole)
        await send({"type": "http.response.body", "body": part, "more_body": is_cut})
        if is_cut:
            raise ConnectionAbortedError


def _behaviour(ordered: Behaviour | Answer) -> Behaviour:
    return ordered if isinstance(ordered, Behaviour) else Behaviour(ordered)


def _answered(body: Json, behaviour: Behaviour) -> Json | str | Called:
    answer = behaviour.answer
    return answer(body) if callable(answer) else answer


def _message(body: Json, behaviour: Behaviour) -> Json:
    text = _answered(body, behaviour)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": text}],
        "stop_reason": behaviour.finish or "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": prompt_tokens(body), "output_tokens": count_tokens(str(text))},
    }


def _completion(body: Json, behaviour: Behaviour) -> Json:
    answer = _answered(body, behaviour)
    is_call = bool(body.get("tools")) and not isinstance(answer, str)
    called = answer if isinstance(answer, Called) else None
    answer = answer if called is None else called.arguments
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    message = _call(body, called, text) if is_call else {"role": "assistant", "content": text}
    finish = behaviour.finish or ("tool_calls" if is_call else "stop")
    message = {**message, **behaviour.message}
    found: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if behaviour.reports_usage:
        counted = behaviour.tokens or _tokens
        sent, said = counted(body, text)
        found["usage"] = {
            "prompt_tokens": sent,
            "completion_tokens": said,
            "total_tokens": sent + said,
        }
    return found


def _tokens(body: Json, text: str) -> tuple[int, int]:
    return prompt_tokens(body), count_tokens(text)


def _call(body: Json, called: Called | None, arguments: str) -> Json:
    called = called or Called(body["tools"][0]["function"]["name"], {})
    function = {"name": called.name, "arguments": arguments}
    call = {"id": called.id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _schema_of(body: Json) -> Json:
    if body.get("tools"):
        found: Json = body["tools"][0]["function"]["parameters"]
    else:
        found = body["response_format"]["json_schema"]["schema"]
    return found


def prompt_tokens(body: Json) -> int:
    """Count the tokens of all that a request sends to the model: messages, schema and tools."""
    texts = [body[key] for key in ("response_format", "tools") if body.get(key)]
    found = sum(count_tokens(json.dumps(text, separators=(",", ":"))) for text in texts)
    for message in body.get("messages", []):
        content = message.get("content")
        if not isinstance(content, str):
            # Images are many bytes, and no text.
            parts = [part for part in content or [] if part.get("type") != "image_url"]
            content = json.dumps(parts)
        found += count_tokens(content)
    given = body.get("input", [])
    texts = [given] if isinstance(given, str) else [text for text in given if isinstance(text, str)]
    return found + sum(map(count_tokens, texts))


def count_tokens(text: str) -> int:
    """Count as WordPiece does; it takes a token per sign, and so rather more than models do."""
    return len(_tokenizer().encode(text, add_special_tokens=False).ids)


@cache
def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def packed(vector: Sequence[float]) -> str:
    """Return a vector in the form `base64`."""
    return b64encode(np.array(vector, "<f4").tobytes()).decode()


def _direction(text: str, dimensions: int) -> list[float]:
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
    found: list[float] = np.random.default_rng(seed).standard_normal(dimensions).tolist()
    return found


@contextmanager
def model_server(dimensions: int = 8) -> Iterator[ModelServer]:
    """Serve beside the block, on a free port."""
    server = ModelServer(dimensions)
    config = uvicorn.Config(
        server.application(), port=0, log_level="critical", lifespan="off", date_header=False
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        assert thread.is_alive(), "The model's server has not started."
        threading.Event().wait(0.005)
    port = running.servers[0].sockets[0].getsockname()[1]
    server.url = f"http://127.0.0.1:{port}/v1"
    try:
        yield server
    finally:
        running.should_exit = True
        # What is slow need not be waited for.
        running.force_exit = True
        thread.join(timeout=10)

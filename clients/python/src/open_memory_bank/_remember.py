"""Memories around the calls of a model's client."""

from __future__ import annotations

import copy
import inspect
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import Any, Protocol, TypeVar

from open_memory_bank import types
from open_memory_bank._apis import BY_PATH
from open_memory_bank._lines import Api, Body, Said, block, chained, field, said
from open_memory_bank._link import Link, Scope, Search, link_of
from open_memory_bank._sync.client import Client

_MOST_KNOWN = 10_000
_REPLACED = frozenset({"copy", "post", "with_options"})


class ModelClient(Protocol):
    """A client of a model, as far as it matters here."""

    @property
    def copy(self) -> object: ...

    @property
    def post(self) -> object: ...


Wrapped = TypeVar("Wrapped", bound=ModelClient)


@dataclass(frozen=True)
class Memory:
    """The settings of a client that remembers: its bank, scope and limits of searches."""

    link: Link
    scope: Scope
    top_k: int
    search_seconds: float


def remember(
    client: Wrapped,
    *,
    scope: Scope,
    bank: Client | None = None,
    top_k: int = 5,
    search_seconds: float = 0.4,
) -> Wrapped:
    """Return a client like the given one that remembers its user; that one stays as it is.

    It covers `chat.completions` and `responses` of OpenAI's clients, `messages` and `beta.messages`
    of Anthropic's, with all their ways to call a model. Memories that match the user's last words
    stand at the end of the system prompt, between `<memories>` marks. The user's new words and the
    model's answer are ingested in the background when the answer ends; earlier messages of a
    request, system prompts, tools' results and files are not. Of `with_streaming_response` the
    answer is not recorded.

    Args:
        client: an `OpenAI`, an `Anthropic`, their async clients, those for other clouds, or one
            that is derived from them. If it remembers already, it does so for the new scope alone.
        scope: whose memories.
        bank: sends the requests, in threads; absent: `Client()`.
        top_k: most memories in a prompt, 1 to 100.
        search_seconds: the longest time that a call waits for memories.

    Raises:
        TypeError: it is no client of a model.
        ValueError: the scope is empty.
    """
    if not scope:
        raise ValueError("scope must have a pair, such as user_id; got none.")
    return _around(client, _Talks(Memory(link_of(bank), dict(scope), top_k, search_seconds)))


def _around(client: Wrapped, talks: _Talks) -> Wrapped:
    """Return a client on the same connections: all its ways to call a model end in its `post`."""
    kind = type(client)
    if not (hasattr(client, "post") and hasattr(client, "copy")):
        found = f"{kind.__name__} of {kind.__module__}"
        raise TypeError(f"client must be a client of a model; got {found}.")
    made: Any = copy.copy(client)
    for name in _REPLACED & vars(made).keys():
        del vars(made)[name]
    is_async = inspect.iscoroutinefunction(made.post)
    made.post = partial(_apost if is_async else _post, talks, made.post)
    for name, value in list(vars(made).items()):
        if getattr(value, "_client", None) is client:  # a resource that has been used
            setattr(made, name, type(value)(made))
    original = made.copy

    def again(**options: Any) -> Any:  # noqa: ANN401 - as the client's own
        return _around(original(**options), talks)

    made.copy = made.with_options = again
    wrapped: Wrapped = made
    return wrapped


class _Talks:
    """The talks of a client."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._query = ""
        self._before: set[str] = set()
        self._times: dict[str, int] = {}

    def begin(self, path: str, given: Mapping[str, Any]) -> _Call | None:
        """Return the call that a request makes; None if it is no talk."""
        api = BY_PATH.get(path.partition("?")[0])
        body = given.get("body")
        found = None
        if api is not None and isinstance(body, Mapping):
            with self._memory.link.guarded():
                found = self._begun(api, body, is_stream=given.get("stream") is True)
        return found

    def _begun(self, api: Api, body: Body, *, is_stream: bool) -> _Call | None:
        entries = body.get(api.key)
        if isinstance(entries, str):
            entries = [{"role": "user", "content": entries}]
        elif isinstance(entries, Iterable):
            entries = list(entries)
            body = {**body, api.key: entries}  # perhaps it can be read but once
        else:
            return None
        talk = said(entries, f"{datetime.now(timezone.utc).date()} {api.talk(body)}")
        self._query = talk.query or self._query
        ids = self._ids(talk)
        return _Call(api, self._memory, body, talk, ids, self._query, is_stream=is_stream)

    def _ids(self, talk: Said) -> list[str]:
        """Return the id of each line, by which the bank takes it once.

        It is the same in another process that sends the talk again on the same day. If something
        else was said in between, the user has said it again.
        """
        marks = [mark for mark, _ in talk.lines]
        if len(self._times) > _MOST_KNOWN:
            self._times.clear()
        for mark in marks:
            if mark not in self._before:
                self._times[mark] = self._times.get(mark, -1) + 1
        self._before = set(marks) or self._before
        return [chained(mark, "time", str(self._times.get(mark, 0))) for mark in marks]


class _Call:
    """A call of a model: what is said with it, and what the model answers."""

    def __init__(
        self,
        api: Api,
        memory: Memory,
        body: Body,
        talk: Said,
        ids: Sequence[str],
        query: str,
        *,
        is_stream: bool,
    ) -> None:
        self.api = api
        self.link = memory.link
        self.is_stream = is_stream
        self.search = Search(memory.scope, query, memory.top_k, memory.search_seconds)
        self._body = body
        self._mark = ids[-1] if ids else talk.mark
        self._events = [
            _event("user", text, id_) for id_, (_, text) in zip(ids, talk.lines, strict=True)
        ]
        self._pieces: list[str] = []
        self._is_over = False

    def placed(self, facts: Sequence[str]) -> Body:
        """Return the request with memories."""
        with self.link.guarded():
            if facts:
                return self.api.placed(self._body, block(facts))
        return self._body

    def hear(self, event: Any) -> None:  # noqa: ANN401 - of the client's types
        """Take an event of the answer's stream."""
        with self.link.guarded():
            self._pieces.append(self.api.piece(event))

    def end(self, answer: str | None = None) -> None:
        """Have the lines recorded, once; an answer that came in pieces as far as it came."""
        if self._is_over:
            return
        self._is_over = True
        with self.link.guarded():
            text = ("".join(self._pieces) if answer is None else answer).strip()
            if text:
                self._events.append(_event("model", text, chained(self._mark, "model", text)))
            if self._events:
                self.link.write(self.search.scope, self._events)


def _event(role: str, text: str, id_: str) -> types.ContentEvent:
    now = datetime.now(timezone.utc).isoformat()
    content: types.Content = {"role": role, "parts": [{"text": text}]}
    return {"content": content, "eventId": id_, "eventTime": now}


def _post(talks: _Talks, post: Any, path: str, **given: Any) -> Any:  # noqa: ANN401 - as the client's own
    call = talks.begin(path, given)
    if call is None:
        return post(path, **given)
    try:
        body = call.placed(call.link.search(call.search))
        answer = post(path, **{**given, "body": body})
    except BaseException:
        call.end()
        raise
    return _heard(answer, call, _pieces)


async def _apost(talks: _Talks, post: Any, path: str, **given: Any) -> Any:  # noqa: ANN401 - as the client's own
    call = talks.begin(path, given)
    if call is None:
        return await post(path, **given)
    try:
        body = call.placed(await call.link.asearch(call.search))
        answer = await post(path, **{**given, "body": body})
    except BaseException:
        call.end()
        raise
    return _heard(answer, call, _apieces)


def _heard(answer: Any, call: _Call, pieces: Callable[[Any, _Call], Any]) -> Any:  # noqa: ANN401 - as the client's own
    """Return an answer that is recorded when it ends, which is now unless it is a stream."""
    response = field(answer, "http_response")  # of a raw answer, which the caller parses
    if response is None and call.is_stream:
        _listen(answer, call, pieces)
        return answer
    with call.link.guarded():
        if response is None:
            call.end(call.api.answer(answer))
        elif response.is_closed and not call.is_stream:
            call.end(call.api.answer(response.json()))
    call.end()
    return answer


def _listen(stream: Any, call: _Call, pieces: Callable[[Any, _Call], Any]) -> None:  # noqa: ANN401 - as the client's own
    """Have a stream recorded when it is read to its end, closed or dropped.

    It keeps its type, and gets no reference to itself: it closes its connection when it is dropped.
    """
    weakref.finalize(stream, call.end).atexit = False
    with call.link.guarded():
        stream._iterator = pieces(stream._iterator, call)  # noqa: SLF001 - all ways to read it end here
        itself, close = weakref.ref(stream), type(stream).close

        def closed() -> Any:  # noqa: ANN401 - as the client's own
            call.end()
            return close(itself())

        stream.close = closed


def _pieces(events: Iterator[Any], call: _Call) -> Iterator[Any]:
    try:
        for event in events:
            call.hear(event)
            yield event
    finally:
        call.end()


async def _apieces(events: AsyncIterator[Any], call: _Call) -> AsyncIterator[Any]:
    try:
        async for event in events:
            call.hear(event)
            yield event
    finally:
        call.end()

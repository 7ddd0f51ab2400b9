"""A provider's words about a failed request, without what they repeat of it.

Parsed from the reply itself, since each vendor's client changes it: the shapes of OpenAI,
Anthropic, Google, Ollama and vLLM, an HTML page, or plain text. The words also show which part of
the request is refused, because statuses differ from server to server.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import unescape
from typing import Any

from app.adapters.concurrency import offloaded
from app.adapters.llm.http import ResponseHead

MAX_CHARS = 200
_RUN_CHARS = 20
"""This many consecutive characters that are also in the prompt count as a part of it."""
_READ_CHARS = 1_000
CUT = "[...]"
"""Stand-in for a part of the request."""
_MARKUP = re.compile(
    r"<(script|style|head)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.DOTALL | re.IGNORECASE
)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.DOTALL | re.IGNORECASE)
_PAGE = re.compile(r"\s*<(?:!doctype\s+)?html", re.IGNORECASE)
_EVENTS = re.compile(r"\s*(?:(?:event|data|id|retry):|:)")
"""The beginning of a stream of server-sent events."""
_TOKEN = re.compile(r"[\w+/=*.\-\u2026]{8,}")
_KEY_BEGINS = re.compile(r"(?:sk|pk|rk|omb|gsk|hf|xai|ghp|github_pat|xox.)[-_]|AIza|AKIA|eyJ")
_LONG_CHARS = 20
_NAME = re.compile(r"[\w.:/\-]{1,64}")
_SENT_CHARS = 8
"""A shorter code may be a word of the prompt by chance."""
_OF_MODE = re.compile(
    r"response_?format|\bjson[ _]?(?:mode|schema|object)|structured output|grammar|schema|jinja"
    r"|\btools?\b|\btool_\w+|function[ _]?call|chat[ _]template",
    re.IGNORECASE,
)
_OF_SIZE = re.compile(
    r"too (?:long|large)\b|context[ _](?:length|size|window)|batch[ _]?size"
    r"|maximum (?:\w+ )?length|than [\d,]+ tokens",
    re.IGNORECASE,
)
_OF_ANSWER = re.compile(
    r"max\w*[ _]?tokens|(?:completion|output|new) tokens|context (?:length|size|window)",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"unsupported|unrecogni[sz]ed|unknown|unexpected|not (?:supported|permitted|allowed)|\bextra\b"
    r"|\binstead\b",
    re.IGNORECASE,
)
_CONTEXT = re.compile(r"context (?:length|size|window)\D{0,24}(\d[\d,]*)", re.IGNORECASE)
_PROMPT = re.compile(
    r"(\d[\d,]*) (?:tokens )?(?:(?:in|from) the (?:messages|prompt|input)|(?:input|prompt) tokens)"
    r"|(?:prompt|input|request) (?:has|contains)\D{0,24}(\d[\d,]*)",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,-])(?<!code )(?<!code: )(?<!HTTP )(\d[\d,]*)(?![\w-])( \(exclusive\))?"
)
_LEAST_TOKENS = 16
_OTHER_NAME = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}


@dataclass(frozen=True)
class Words:
    """A provider's error; `code` and `kind` are its own.

    Attributes:
        message: at most 200 characters; nothing of the prompt, and no key.
        sent: the form of the reply, where it is not the one that was requested.
        whole: all of the text but what it repeats of the request, to search for what is refused;
            never shown.
    """

    message: str = ""
    code: str | None = None
    kind: str | None = None
    sent: str = ""
    whole: str = field(default="", repr=False)

    @property
    def sentence(self) -> str:
        """The words as a further sentence of an error."""
        verb = f"sends {self.sent}" if self.sent else "says"
        if self.message:
            return f" It {verb}: {self.message}"
        return f" It {verb}." if self.sent else ""


SILENCE = Words()


@dataclass(frozen=True)
class ProviderRequest:
    """The parts of a request that a reply may repeat."""

    texts: Collection[str]
    secrets: Collection[str]
    model: str


async def words_of(response_head: ResponseHead, texts: Collection[str], model: str) -> Words:
    """Parse the beginning of a reply to these texts; aside if they are long."""
    request = ProviderRequest(texts, response_head.secrets, model)
    return await offloaded(sum(map(len, texts)), read, response_head.content, request)


def read(head: bytes, request: ProviderRequest) -> Words:
    """Parse the beginning of a reply."""
    text = head.decode(errors="replace")
    if _PAGE.match(text):
        title = _TITLE.search(text)
        body = unescape(_MARKUP.sub(" ", text))
        said = f"{unescape(title[1])}: {body}" if title else body
        return Words(_redacted(said, request), sent="a page")
    if _EVENTS.match(text):
        # Of an answer, which would be shown else, not even the beginning.
        faults = [
            line for line in text.splitlines() if line.startswith("data:") and "error" in line
        ]
        if not faults or (error := _error(faults[0].removeprefix("data:"))) is None:
            return Words(sent="a stream of events, which was not requested")
    elif (error := _error(text)) is None:
        return Words(_redacted(text, request), whole=_own(text, request))
    code, said = error.get("code"), _text(error.get("message") or error.get("detail"))
    return Words(
        _redacted(said, request),
        _name(code if isinstance(code, str) else error.get("status") or code, request),
        _name(error.get("type"), request),
        whole=_own(f"{said} {_text(error.get('param'))}", request),
    )


def _own(said: str, request: ProviderRequest) -> str:
    """Return a provider's own words, without the words of the prompt and the model's name.

    They would be taken for words about what is refused: a user's "max_tokens 20" for a limit.
    """
    text = re.sub(rf"(?<!\w){re.escape(request.model)}(?!\w)", "", _plain(said))
    return re.sub("\0+", " ", _blanked(text, _repeated(text, request.texts)))


def _error(text: str) -> Mapping[str, Any] | None:
    try:
        reply = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(reply, list) and reply:
        reply = reply[0]
    if not isinstance(reply, dict):
        return None
    inner = reply.get("error") or reply.get("errors")
    if isinstance(inner, list):
        inner = next(iter(inner), None)
    if isinstance(inner, dict):
        return inner
    return {"message": inner} if isinstance(inner, str) else reply


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value) if value else ""


def _name(value: object, request: ProviderRequest) -> str | None:
    """Return a code for logs; None if it is no plain name, holds a key or repeats the request."""
    shown = str(value) if isinstance(value, str | int) else ""
    is_plain = _NAME.fullmatch(shown) is not None and not any(True for _ in _keys(shown, request))
    is_sent = len(shown) >= _SENT_CHARS and any(shown in text for text in request.texts)
    return shown if is_plain and not is_sent else None


def _redacted(said: str, request: ProviderRequest) -> str:
    text = _plain(said)[:_READ_CHARS]
    spans = [*_keys(text, request), *_repeated(text, request.texts)]
    text = re.sub("\0+", CUT, _blanked(text, spans))
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1].rstrip() + "\u2026"


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    signs = list(text)
    for start, end in spans:
        signs[start:end] = "\0" * (end - start)
    return "".join(signs)


def _plain(text: str) -> str:
    words = " ".join(text.split())
    return "".join(sign for sign in words if sign.isprintable())


def _keys(text: str, request: ProviderRequest) -> Iterator[tuple[int, int]]:
    """Yield the spans of keys: those that were sent, and those that look like one."""
    for secret in request.secrets:
        yield from (match.span() for match in re.finditer(re.escape(secret), text))
    for match in _TOKEN.finditer(text):
        if _is_key(match[0].strip(".\u2026"), request.model):
            yield match.span()


def _is_key(token: str, model: str) -> bool:
    if token in model:
        return False
    is_masked = "**" in token or "..." in token or "\u2026" in token
    is_mixed = any(map(str.isdigit, token)) and any(map(str.isalpha, token))
    is_random = is_mixed and len(token) >= _LONG_CHARS
    return is_masked or is_random or _KEY_BEGINS.match(token) is not None


def _repeated(text: str, sent: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield spans of 20 characters that were sent, or of a whole shorter text, plain or as JSON."""
    places: dict[str, list[int]] = {}
    for start in range(len(text) - _RUN_CHARS + 1):
        places.setdefault(text[start : start + _RUN_CHARS], []).append(start)
    for sent_text in sent:
        for shown in {_plain(sent_text), _plain(json.dumps(sent_text)[1:-1])}:
            if _SENT_CHARS <= len(shown) < _RUN_CHARS:
                yield from (match.span() for match in re.finditer(re.escape(shown), text))
            runs = {shown[at : at + _RUN_CHARS] for at in range(len(shown) - _RUN_CHARS + 1)}
            for run in runs & places.keys():
                yield from ((start, start + _RUN_CHARS) for start in places[run])


def is_of_mode(words: str) -> bool:
    """Return True if the words are about the way in which a structure was requested."""
    return _OF_MODE.search(words) is not None


def is_of_size(words: str) -> bool:
    """Return True if the words are about the length of a text or the number of texts."""
    return _OF_SIZE.search(words) is not None


@dataclass(frozen=True)
class OutputLimit:
    """The longest answer, as a request states it.

    Attributes:
        name: the field that has it. None: the vendor has only one.
        later: the number for later prompts, where this one depends on the length of one prompt.
    """

    tokens: int
    name: str | None = None
    later: int | None = None

    @property
    def lasting(self) -> "OutputLimit":
        """The limit for other prompts."""
        return replace(self, tokens=self.later or self.tokens, later=None)

    def after(self, words: str) -> "OutputLimit | None":
        """Return what a server that has refused this takes, or None if its words do not say."""
        other = _OTHER_NAME.get(self.name or "", "")
        is_named = self.name is not None and (self.name in words or other in words)
        if is_named and _UNKNOWN.search(words):
            return replace(self, name=other)
        limit = self._within_context(words) or self._named(words)
        if limit is None or limit.tokens >= _LEAST_TOKENS:
            return limit
        return replace(self, name=other) if other and other in words else None

    def _within_context(self, words: str) -> "OutputLimit | None":
        if (whole := _CONTEXT.search(words)) is None:
            return None
        context, prompt = _number(whole[1]), _PROMPT.search(words)
        left = context - _number(prompt[1] or prompt[2]) if prompt else context // 2
        later = min(self.tokens, context // 2)
        return replace(self, tokens=left if left < self.tokens else 0, later=later)

    def _named(self, words: str) -> "OutputLimit | None":
        if not _OF_ANSWER.search(words):
            return None
        named = [_number(match[1]) - bool(match[2]) for match in _NUMBER.finditer(words)]
        lower = [number for number in named if _LEAST_TOKENS <= number < self.tokens]
        return replace(self, tokens=max(lower, default=0), later=None)


def _number(text: str) -> int:
    return int(text.replace(",", "") or 0)

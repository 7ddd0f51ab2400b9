"""The part of a request that a provider refuses, by its words (pure).

Statuses differ from server to server, and so do words; these are of OpenAI, Azure, Anthropic,
Google, Mistral, Groq, vLLM, llama.cpp, LM Studio, Ollama and text-embeddings-inference.
"""

import re
from dataclasses import dataclass, replace

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
        tokens: the number.
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
        found = self._within_context(words) or self._named(words)
        if found is None or found.tokens >= _LEAST_TOKENS:
            return found
        return replace(self, name=other) if other and other in words else None

    def _within_context(self, words: str) -> "OutputLimit | None":
        """Return the part of the model's context that a prompt leaves; None: it is not named."""
        if (whole := _CONTEXT.search(words)) is None:
            return None
        context, prompt = _number(whole[1]), _PROMPT.search(words)
        left = context - _number(prompt[1] or prompt[2]) if prompt else context // 2
        later = min(self.tokens, context // 2)
        return replace(self, tokens=left if left < self.tokens else 0, later=later)

    def _named(self, words: str) -> "OutputLimit | None":
        """Return the greatest lower number; None: the words are not about the answer's length."""
        if not _OF_ANSWER.search(words):
            return None
        named = [_number(match[1]) - bool(match[2]) for match in _NUMBER.finditer(words)]
        lower = [number for number in named if _LEAST_TOKENS <= number < self.tokens]
        return replace(self, tokens=max(lower, default=0), later=None)


def _number(text: str) -> int:
    return int(text.replace(",", "") or 0)

"""A scripted model that follows its prompts to the letter, and knows nothing else.

It takes first-person sentences for facts, and two of one slot, such as two homes, for versions of
one statement. Lines are read, dates compared and verdicts chosen as the prompts say.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.scripted import SecondPrompt, fact, forget, verdict
from tests.support.scripted_models import Reply, ScriptedQuery, ScriptedTextModel

Json = dict[str, Any]

_LINE = re.compile(r"^(\d+) U(?: (\d{4}-\d\d-\d\d) \w{3})?: (.*)$", re.MULTILINE)
_SENTENCE = re.compile(r"\S.*?(?:[.!?]+(?=\s|$)|$)")
_OF_MINE = re.compile(r"((?:my|meine?|mi|mon|ma) .+?) (?:is|ist|es|est)\b", re.IGNORECASE)
_FIRST = re.compile(
    r"(?:I|I'm|My|We|Today|Ich|Mein[es]?|Hoy|Vivo|Ahora vivo|Trabajo|Toco|Mi|Me|Soy"
    r"|J'habite|Je|Mon|Ma)\b"
)
_ASKED = re.compile(
    r"(?:Please |Bitte )?(?:forget|vergiss|olvida|oublie)(?: that| what I said about)?,?"
    r"(?: dass| que)? (.+?)[.!]*$",
    re.IGNORECASE,
)
_CODE = re.compile(r"</?\w+>|\bSELECT\b|\w+ = |\{|\}|^\s*[-*] ")
_TODAY = re.compile(r"\b(?:today|heute|hoy|aujourd'hui)\b", re.IGNORECASE)
_SLOTS = {
    slot: re.compile(words, re.IGNORECASE)
    for slot, words in {
        "home": r"\b(?:I live in|I moved to|wohne|vivo en|j'habite)\b",
        "job": r"\b(?:work as|arbeite als|trabajo como|travaille comme)\b",
        "marriage": r"\b(?:married|divorced|single|widowed|verheiratet|geschieden|casad[oa])\b",
        "age": r"\b(?:years old|jahre alt|años)\b",
        "car": r"\bI drive\b",
        "diet": r"\bI am (?:vegetarian|vegan)\b",
    }.items()
}


@dataclass(frozen=True)
class _Statement:
    line: int
    text: str
    quote: str
    is_request: bool = False


def obedient_model(**options: Any) -> ScriptedTextModel:
    """Return a model that follows its prompts."""
    return ScriptedTextModel(obeyed, **options)


def obeyed(asked: ScriptedQuery) -> Reply:
    """Answer a request, be it for facts or for verdicts."""
    second = SecondPrompt.read(asked.prompt.text)
    if second is not None:
        return {"verdicts": list(_verdicts(second))}
    return {"facts": [_reply(one) for one in _latest(list(_statements(asked.prompt.text)))]}


def slot_of(text: str) -> str:
    """Return the slot of a fact; one that has none is a slot of its own."""
    named = next((slot for slot, words in _SLOTS.items() if words.search(text)), None)
    mine = _OF_MINE.match(text)
    return named or _folded(mine[1] if mine else text)


def _statements(prompt: str) -> Iterator[_Statement]:
    for number, day, text in _LINE.findall(prompt):
        if _CODE.search(text):
            continue
        for quote in _SENTENCE.findall(text):
            if (asked := _ASKED.match(quote)) is not None:
                yield _Statement(int(number), asked[1], quote, is_request=True)
            elif _FIRST.match(quote) and not quote.endswith("?"):
                yield _Statement(int(number), _TODAY.sub(f"On {day}", quote), quote)


def _latest(said: list[_Statement]) -> list[_Statement]:
    """Return the statements without those of which a later version follows."""
    last = {(slot_of(one.text), one.is_request): one for one in said}
    return [one for one in said if last[slot_of(one.text), one.is_request] is one]


def _reply(said: _Statement) -> Json:
    made = forget if said.is_request else fact
    return made(said.text, said.quote, said.line)


def _verdicts(shown: SecondPrompt) -> Iterator[Json]:
    for number, (text, said) in enumerate(zip(shown.facts, shown.said, strict=True)):
        alike = [name for name, known in shown.memories.items() if slot_of(known) == slot_of(text)]
        if number in shown.forgets:
            yield from (verdict("delete", name, number=number) for name in alike)
            yield from (
                verdict("delete", str(n), number=number)
                for n, other in enumerate(shown.facts)
                if n not in shown.forgets and slot_of(other) == slot_of(text)
            )
        elif not alike:
            yield verdict("add", number=number)
        elif any(_folded(shown.memories[name]) == _folded(text) for name in alike):
            name = next(name for name in alike if _folded(shown.memories[name]) == _folded(text))
            yield verdict("same", name, number=number)
        else:
            # "Text: what is true now", and "the later date wins".
            wins = text if said >= shown.rests_on[alike[0]] else shown.memories[alike[0]]
            yield verdict("replace", alike[0], wins, number)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).strip(".!? ")

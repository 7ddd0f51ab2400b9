"""The corpora: memories of four shapes, with questions and the memories that answer them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from benchmarks.recall import sources
from benchmarks.recall.bank import Bank, Memory, Question

FIRST_PERSON = Path(__file__).parent / "first_person.json"
CONVERSATIONS = range(1, 11)
"""Of BEAM-100K; those after them are left to whoever wants to measure unseen ones."""

_CATEGORIES = (1, 2, 3, 4)
"""Of LoCoMo's questions that have an answer."""
_DAY = date(2026, 3, 4)
"""Of questions that have none of their own."""
_MARK = re.compile(r"\s*->->[\s\d,]*\Z")
"""What BEAM's generator left at the end of messages."""


@dataclass(frozen=True)
class Corpus:
    """Scopes of one shape."""

    name: str
    banks: Sequence[Bank]


def locomo(data: Path, tools: Path) -> Iterator[Corpus]:
    """Yield turns and short facts, with their place and time and without."""
    corpus = sources.script(tools, "corpus")
    for unit in ("turns", "facts"):
        collections = corpus.load(data, unit=unit)["collections"]
        for is_told, name in ((True, f"LoCoMo {unit}"), (False, f"LoCoMo {unit}, bare")):
            yield Corpus(name, [_conversation(one, is_told=is_told) for one in collections])


def _conversation(collection: Mapping[str, Any], *, is_told: bool) -> Bank:
    questions = [
        Question(one["id"], one["text"], one["gold"], datetime.fromisoformat(one["time"]).date())
        for one in collection["queries"]
        if one["category"] in _CATEGORIES
    ]
    memories = []
    for turn in collection["memories"]:
        fact = f"{turn['speaker']}: {turn['text']}"
        told = ((f"session {turn['session']}", turn["pos"]), f"{turn['time']}Z") if is_told else ()
        memories.append(Memory.of(turn["id"], fact, *told))
    return Bank(collection["id"], memories, questions)


def first_person() -> Iterator[Corpus]:
    """Yield the people who write in English, and the others."""
    people = json.loads(FIRST_PERSON.read_text())["people"]
    english = [one for one in people if one["language"] == "en"]
    others = [one for one in people if one["language"] != "en"]
    yield Corpus("first person, English", [_person(one) for one in english])
    yield Corpus("first person, others", [_person(one) for one in others])


def _person(person: Mapping[str, Any]) -> Bank:
    memories = [Memory.of(str(n), fact) for n, fact in enumerate(person["memories"])]
    questions = [
        Question(f"{person['name']} {n}", one["text"], [str(gold) for gold in one["gold"]], _DAY)
        for n, one in enumerate(person["questions"])
    ]
    return Bank(person["name"], memories, questions)


def beam(folder: Path) -> Iterator[Corpus]:
    """Yield BEAM's messages, with their place and without."""
    chats = [folder / "chats" / "100K" / str(number) for number in CONVERSATIONS]
    yield Corpus("BEAM-100K", [_chat(one, is_told=True) for one in chats])
    yield Corpus("BEAM-100K, bare", [_chat(one, is_told=False) for one in chats])


def _chat(folder: Path, *, is_told: bool) -> Bank:
    memories = []
    for batch in json.loads((folder / "chat.json").read_text()):
        for message in (one for turn in batch["turns"] for one in turn):
            fact = _MARK.sub("", message["content"])
            place = (f"batch {batch['batch_number']}", message["id"]) if is_told else None
            memories.append(Memory.of(str(message["id"]), fact, place))
    known = {one.memory_id for one in memories}
    probing = json.loads((folder / "probing_questions" / "probing_questions.json").read_text())
    questions = [
        Question(f"{folder.name} {kind} {n}", one["question"], gold, _DAY)
        for kind, asked in probing.items()
        for n, one in enumerate(asked)
        if (gold := _gold(one.get("source_chat_ids"), known))
    ]
    return Bank(folder.name, memories, questions)


def _gold(told: object, known: set[str]) -> list[str]:
    """Return the ids that a question names, in lists or in maps of lists."""
    if isinstance(told, Mapping):
        told = list(told.values())
    if isinstance(told, list):
        return list(dict.fromkeys(gold for one in told for gold in _gold(one, known)))
    return [str(told)] if str(told) in known else []

"""A weak model: one entry in five is broken in a way that reports of small models describe."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

Json = dict[str, Any]

_BROKEN = 0.2
"""Share of the entries, and of the replies, that are broken."""
_LEAST_WORDS = 6
"""Words of a quote that a gap is made in."""


def _without_quote(entry: Json) -> Json:
    return {name: value for name, value in entry.items() if name not in {"quote", "fact"}}


def _topics_as_text(entry: Json) -> Json:
    return {**entry, "topics": ", ".join(entry.get("topics", []))}


def _nulls(entry: Json) -> Json:
    return {**entry, "line": None, "topics": None}


def _numbers_as_text(entry: Json) -> Json:
    texts = {
        name: str(entry[name]) for name in ("line", "fact") if isinstance(entry.get(name), int)
    }
    return {**entry, **texts}


def _memory_as_number(entry: Json) -> Json:
    memory = str(entry.get("memory", ""))
    return {**entry, "memory": int(memory[1:])} if memory[1:].isdecimal() else {**entry}


def _another_word(entry: Json) -> Json:
    words = {
        "add": "NONE",
        "same": "noop",
        "merge": "MERGE",
        "replace": "Update",
        "delete": "DELETE",
    }
    return {**entry, **({"action": words[entry["action"]]} if "action" in entry else {})}


def _unstorable(entry: Json) -> Json:
    return {
        name: f"{value}\u0000" if isinstance(value, str) else value for name, value in entry.items()
    }


def _quote_as_list(entry: Json) -> Json:
    return {**entry, "quote": [entry["quote"]]} if "quote" in entry else entry


def _labelled(entry: Json) -> Json:
    return {**entry, "quote": f"U: {entry['quote']}"} if "quote" in entry else entry


def _with_gap(entry: Json) -> Json:
    words = entry.get("quote", "").split()
    if len(words) < _LEAST_WORDS:
        return entry
    third = len(words) // 3
    return {**entry, "quote": " ".join([*words[: 2 * third], "...", *words[-third:]])}


def _with_slip(entry: Json) -> Json:
    quote = entry.get("quote", "")
    middle = len(quote) // 2
    return {**entry, "quote": quote[:middle] + quote[middle : middle + 1] + quote[middle:]}


_Entry = Callable[[Json], Json]
ENTRIES: Mapping[str, _Entry] = {
    "without what it rests on": _without_quote,
    "topics as text": _topics_as_text,
    "nulls": _nulls,
    "numbers as text": _numbers_as_text,
    "memory as a number": _memory_as_number,
    "another word": _another_word,
    "a character that no text holds": _unstorable,
    "quote as a list": _quote_as_list,
    "label before the quote": _labelled,
    "quote with a gap": _with_gap,
    "quote with a slip": _with_slip,
}
_Reply = Callable[[str, Sequence[Json]], str]
REPLIES: Mapping[str, _Reply] = {
    "several objects": lambda name, rows: "\n".join(json.dumps({name: [row]}) for row in rows),
    "JSON lines": lambda _, rows: "\n".join(map(json.dumps, rows)),
    "empty after full": lambda name, rows: f"{json.dumps({name: rows})}\n{json.dumps({name: []})}",
    "bare list": lambda _, rows: json.dumps(rows),
    "wrapped": lambda name, rows: json.dumps({"answer": {name: rows}}),
    "schema with values": lambda name, rows: json.dumps(
        {"type": "object", "properties": {name: rows}}
    ),
    "trailing comma": lambda name, rows: json.dumps({name: rows}).removesuffix("]}") + ",]}",
    "comment": lambda name, rows: json.dumps({name: rows}).replace("[", "[ // all of them\n", 1),
    "single quotes": lambda name, rows: repr({name: rows}),
    "no last brace": lambda name, rows: json.dumps({name: rows})[:-1],
}


@dataclass
class Weakness:
    """Breaks entries and replies at random; the same seed breaks the same ones."""

    seed: int
    broken: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    def spoil(self, answer: Mapping[str, Any]) -> str:
        """Return a structure of one list as the weak model writes it."""
        ((name, rows),) = answer.items()
        rows = [self._entry(row) for row in rows]
        if not rows or self._random.random() >= _BROKEN:
            return json.dumps({name: rows})
        kind = self._random.choice(sorted(REPLIES))
        self.broken[kind] += 1
        return REPLIES[kind](name, rows)

    def _entry(self, row: Json) -> Json:
        if self._random.random() >= _BROKEN:
            return row
        kind = self._random.choice(sorted(ENTRIES))
        self.broken[kind] += 1
        return ENTRIES[kind](row)

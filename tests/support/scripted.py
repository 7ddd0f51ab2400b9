"""Replies of a scripted model, and banks that it writes for."""

import re
from dataclasses import dataclass, replace
from typing import Any

from app.adapters.llm.models import TextModels
from app.adapters.llm.ports import TextModel
from app.adapters.resources import Resources

Json = dict[str, Any]

_TIME = r"((?: \d{4}-\d\d-\d\d)?(?: \d\d:\d\d)?)"
_NEW = re.compile(rf"^(\d+)( FORGET)?{_TIME}(?: <[^<>]*>)*: (.*)$")
_MEMORY = re.compile(rf"^(m\d+){_TIME}: (.*?)(?: \(before: .*\))?$")
_MARKS = re.compile(r"[\[\]]")


@dataclass(frozen=True)
class SecondPrompt:
    """The prompt of the second call, read.

    Attributes:
        facts: the texts of new facts, in the order of their numbers, without the marks in them.
        said: their days, with the time of day where it is shown.
        forgets: the numbers of those that are requests to forget.
        memories: the texts of memories, by the ids that they are shown under.
        rests_on: the days of memories, as those of facts.
    """

    facts: list[str]
    said: list[str]
    forgets: frozenset[int]
    memories: dict[str, str]
    rests_on: dict[str, str]

    @classmethod
    def read(cls, text: str) -> "SecondPrompt | None":
        """Read a prompt; None: it is none of the second call.

        Raises:
            ValueError: a line is not as the service writes it.
        """
        _, is_second, shown = text.partition("New facts:\n")
        if not is_second:
            return None
        new, _, known = shown.partition("\nMemories:")
        facts = [_read(_NEW, line) for line in new.splitlines()]
        memories = [_read(_MEMORY, line) for line in known.strip("\n").splitlines()]
        return cls(
            [_MARKS.sub("", fact) for _, _, _, fact in facts],
            [said.strip() for _, _, said, _ in facts],
            frozenset(int(number) for number, forget, _, _ in facts if forget),
            {name: fact for name, _, fact in memories},
            {name: rests_on.strip() for name, rests_on, _ in memories},
        )


def _read(pattern: re.Pattern[str], line: str) -> tuple[Any, ...]:
    found = pattern.match(line)
    if found is None:
        raise ValueError(f"cannot read the line: {line[:300]}")
    return found.groups()


def fact(text: str, quote: str | None = None, line: int = 0, **fields: object) -> Json:
    """Return a fact as a model replies it; it rests on its own words unless told otherwise."""
    return {
        "fact": text,
        "quote": text if quote is None else quote,
        "line": line,
        "topics": ["USER_PREFERENCES"],
        **fields,
    }


def facts(*found: str | Json) -> Json:
    """Return the reply to an extraction."""
    return {"facts": [fact(one) if isinstance(one, str) else one for one in found]}


def forget(thing: str, quote: str | None = None, line: int = 0) -> Json:
    """Return a request to forget as a model replies it."""
    return fact(thing, quote, line, topics=[], forget=True)


def verdict(
    action: str, memory: str = "", text: str = "", number: int = 0, *, holds: bool = True
) -> Json:
    """Return a verdict about a fact as a model replies it."""
    return {"fact": number, "holds": holds, "action": action, "memory": memory, "text": text}


def verdicts(*found: Json) -> Json:
    """Return the reply to the second call."""
    return {"verdicts": list(found)}


def confirmed(number: int = 1) -> Json:
    """Return the reply to the second call that confirms so many facts and changes no memory."""
    return verdicts(*(verdict("add", number=n) for n in range(number)))


def field(profile: str, name: str, value: str, quote: str, **fields: object) -> Json:
    """Return a change of a profile's field as a model replies it."""
    return {"profile": profile, "field": name, "value": value, "quote": quote, "line": 0, **fields}


def written_by(resources: Resources, model: TextModel | None, **aliases: TextModel) -> Resources:
    """Return the resources of a bank that the model writes for."""
    return replace(resources, models=TextModels(model, aliases))

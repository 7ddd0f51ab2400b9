"""Replies of a scripted model, and banks that it writes for."""

from dataclasses import replace
from typing import Any

from app.llm.models import TextModels
from app.llm.ports import TextModel
from app.resources import Resources

Json = dict[str, Any]


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


def field(profile: str, name: str, value: str, quote: str, **fields: object) -> Json:
    """Return the value of a profile's field as a model replies it."""
    return {"profile": profile, "field": name, "value": value, "quote": quote, "line": 0, **fields}


def written_by(resources: Resources, model: TextModel | None, **aliases: TextModel) -> Resources:
    """Return the resources of a bank that the model writes for."""
    return replace(resources, models=TextModels(model, aliases))

"""Short forms of arguments, turned into those of the wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Turns = Iterable[tuple[str, str]]
"""Who said it, `user` or `model`, and the text, the oldest first."""


def source(
    texts: Iterable[str] | None, turns: Turns | None, facts: Iterable[str] | None = None
) -> dict[str, Any]:
    """Return the source of a generation that short forms stand for; empty if none is given.

    Raises:
        ValueError: there are several, or one text in place of many.
    """
    given = [value for value in (texts, turns, facts) if value is not None]
    if len(given) > 1:
        raise ValueError("Give one of texts, turns and facts.")
    if any(isinstance(value, str) for value in given):
        raise ValueError("texts, turns and facts must be lists; got one text.")
    if facts is not None:
        return {"direct_memories_source": {"directMemories": [{"fact": fact} for fact in facts]}}
    if texts is not None:
        turns = [("user", text) for text in texts]
    if turns is None:
        return {}
    events = [{"content": _content(role, text)} for role, text in turns]
    return {"direct_contents_source": {"events": events}}


def _content(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": text}]}


def search(
    options: Mapping[str, Any], query: str | None, top_k: int | None, max_distance: float | None
) -> dict[str, Any]:
    """Return options of a retrieval, with the search that short forms stand for.

    Raises:
        ValueError: there is a limit, but nothing to search for.
    """
    limits = {"topK": top_k, "maxDistance": max_distance}
    chosen = {name: value for name, value in limits.items() if value is not None}
    if query is None:
        if chosen:
            raise ValueError("top_k and max_distance go with a query.")
        return dict(options)
    return {**options, "similarity_search_params": {"searchQuery": query, **chosen}}

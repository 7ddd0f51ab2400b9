"""What searches by words are told of a memory when it is written. Pure."""

from collections.abc import Mapping
from typing import Any


def traits_of(content: Mapping[str, Any], language: str | None) -> dict[str, Any]:
    """Return the values of the columns `language` and `cues` for a memory's content.

    Args:
        content: a value for each of `ledger.CONTENT_FIELDS`.
        language: the text-search configuration of the engine; None: what the fact seems to be in.
    """
    return {"language": language or "english", "cues": []}

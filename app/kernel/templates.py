"""Prompt templates: texts with placeholders in braces."""

import string
from collections.abc import Sequence


def places_of(text: str) -> Sequence[str] | None:
    """Return the placeholders of a template in order; None if one has a format or a conversion.

    Raises:
        ValueError: the braces are not in pairs.
    """
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        raise ValueError("must have its braces in pairs; write {{ for a brace") from None
    if any(spec or conversion for _, _, spec, conversion in parts):
        return None
    return [name for _, name, _, _ in parts if name is not None]

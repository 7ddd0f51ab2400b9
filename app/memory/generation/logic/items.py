"""Items of a list in a profile, distinguished by a key (pure)."""

from collections.abc import Sequence

from pydantic import JsonValue

from app.kernel.text import fold
from app.kernel.wire.json_values import spelled


def name_of(item: JsonValue, key: str | None) -> str:
    """Return the name of an item: the value of its key, or the whole item."""
    if isinstance(item, dict) and key is not None and key in item:
        return spelled(item[key])
    return spelled(item)


def found(items: Sequence[JsonValue], name: str, key: str | None) -> list[int]:
    """Return the positions of items by name; case and punctuation only count if they must."""
    names = [name_of(item, key) for item in items]
    exact = [at for at, other in enumerate(names) if other.casefold() == name.strip().casefold()]
    return exact or [at for at, other in enumerate(names) if fold(other) == fold(name)]


def merged(item: JsonValue, new: JsonValue) -> JsonValue:
    """Return an item with new parts; a value that is not an object is replaced."""
    return {**item, **new} if isinstance(item, dict) and isinstance(new, dict) else new


def joined(
    present: Sequence[JsonValue], new: Sequence[JsonValue], key: str | None
) -> tuple[list[JsonValue], list[JsonValue]]:
    """Return the present items, changed by the objects that name them, and the other new items."""
    changed, others = list(present), []
    for item in new:
        at = found(changed, name_of(item, key), key) if isinstance(item, dict) else []
        if len(at) == 1 and isinstance(changed[at[0]], dict):
            changed[at[0]] = merged(changed[at[0]], item)
        else:
            others.append(item)
    return changed, others

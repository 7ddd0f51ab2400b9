"""Facts about settings from their definitions: variable, unit, choices and bounds."""

from collections.abc import Iterator
from enum import Enum
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from app.settings.environment import PREFIX

_UNITS = {"seconds": "seconds", "bytes": "bytes", "chars": "characters", "rows": "rows"}
_STEPS = {
    "seconds": ((86_400, "day"), (3_600, "hour"), (60, "minute")),
    "bytes": ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")),
}
_BOUNDS = ("ge", "gt", "le", "lt")


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def unit(name: str) -> str:
    """Return the unit of a setting, which is part of its name."""
    counted, is_rate, _ = name.partition("_per_second")
    word = counted.removesuffix("_per_key").removesuffix("_held").rpartition("_")[2]
    found = _UNITS.get(word, "")
    return f"{found or word} a second" if is_rate else found


def choices(setting: FieldInfo) -> list[str]:
    """Return the allowed values of a setting; empty if it is not an enumeration."""
    return [str(choice) for part in _parts(setting.annotation) for choice in _choices(part)]


def bounds(setting: FieldInfo) -> list[tuple[str, int | float]]:
    """Return the bounds of a number as pairs of `ge`, `gt`, `le` or `lt` and the bound."""
    return [
        (name, bound)
        for limit in setting.metadata
        for name in _BOUNDS
        if isinstance(bound := getattr(limit, name, None), int | float)
    ]


def rounded(word: str, value: float) -> str:
    """Return seconds or bytes in a larger unit, in brackets; empty if none divides them evenly."""
    for size, larger in _STEPS.get(word, ()):
        if value >= size and value % size == 0:
            count = round(value / size)
            plural = "s" if word == "seconds" and count != 1 else ""
            return f" ({count:,} {larger}{plural})"
    return ""


def _parts(annotation: object) -> Iterator[object]:
    if get_origin(annotation) in {None, Literal}:
        yield annotation
        return
    for part in get_args(annotation):
        yield from _parts(part)


def _choices(annotation: object) -> list[object]:
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [member.value for member in annotation]
    return []

"""The page of settings, from the classes that read them."""

import json
import re
from collections.abc import Iterator
from enum import Enum
from typing import Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from app.settings import Settings
from scripts.reference.markdown import code, page, table
from scripts.reference.source import field_headings

_UNITS = {"seconds": "seconds", "bytes": "bytes", "chars": "characters", "rows": "rows"}
_STEPS = {
    "seconds": ((86_400, "day"), (3_600, "hour"), (60, "minute")),
    "bytes": ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")),
}
_BOUNDS = {"ge": "≥ ", "gt": "> ", "le": "≤ ", "lt": "< "}
_INTRODUCTION = """\
Every setting is an environment variable, read once at the start. All of them are optional. A
variable whose name is one or two letters away from a setting stops the start, and the message
names the setting; other unknown `MEMORY_BANK_` variables are listed in one warning.

Lists and objects are written as JSON. `none` stands for "no bound" where a setting allows it.
"""


def settings_page() -> str:
    """Return the page of settings."""
    parts = [_INTRODUCTION]
    for (title, text), names in _groups().items():
        fields = Settings.model_fields
        parts += [f"## {title}\n", text, settings_table({name: fields[name] for name in names})]
    return page("Settings", *(part for part in parts if part))


def settings_table(fields: dict[str, FieldInfo]) -> str:
    """Return a table of some of the settings."""
    return table(
        ("Setting", "Default", "Unit", "Accepts", "Meaning"),
        (
            (
                code(variable(name)),
                _shown(name, field.get_default(call_default_factory=True)),
                unit(name),
                accepted(field),
                field.description or "",
            )
            for name, field in fields.items()
        ),
    )


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"MEMORY_BANK_{name.upper()}"


def unit(name: str) -> str:
    """Return the unit of a setting, which its name carries."""
    counted, is_rate, _ = name.partition("_per_second")
    word = counted.removesuffix("_per_key").removesuffix("_held").rpartition("_")[2]
    found = _UNITS.get(word, "")
    return f"{found or word} a second" if is_rate else found


def accepted(field: FieldInfo) -> str:
    """Return the choices and bounds of a setting."""
    choices = [choice for part in _parts(field.annotation) for choice in _choices(part)]
    bounds = [
        f"{sign}{bound:,}"
        for limit in field.metadata
        for name, sign in _BOUNDS.items()
        if isinstance(bound := getattr(limit, name, None), int | float)
    ]
    return ", ".join([*(code(choice) for choice in choices), *bounds])


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


def _shown(name: str, default: object) -> str:
    match default:
        case None | SecretStr():
            return ""
        case bool() | list() | dict():
            return code(json.dumps(default))
        case Enum():
            return code(default.value)
        case int() | float():
            return code(default) + rounded(unit(name), default)
        case _:
            return code(default)


def rounded(word: str, value: float) -> str:
    """Return a large number of seconds or bytes in a larger unit, in brackets."""
    for size, larger in _STEPS.get(word, ()):
        if value >= size and value % size == 0:
            count = round(value / size)
            plural = "s" if word == "seconds" and count != 1 else ""
            return f" ({count:,} {larger}{plural})"
    return ""


def _groups() -> dict[tuple[str, str], list[str]]:
    """Return the names of the settings by the title and the description of their group."""
    groups: dict[tuple[str, str], list[str]] = {}
    for owner in (Settings, *Settings.__mro__[1:]):
        headings = field_headings(owner) if "__annotations__" in vars(owner) else {}
        own = (_title(owner), _sentence(owner))
        for name in Settings.model_fields:
            if name in vars(owner).get("__annotations__", {}):
                heading = headings.get(name)
                groups.setdefault((heading, "") if heading else own, []).append(name)
    return groups


def _title(owner: type) -> str:
    words = re.findall("[A-Z][a-z]+", owner.__name__.removesuffix("Settings"))
    return " ".join(words).capitalize() or "General"


def _sentence(owner: type) -> str:
    return (owner.__doc__ or "").split("\n\n")[0]

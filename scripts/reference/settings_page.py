"""The page of settings, from the classes that read them."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from app.kernel.tuning import Tuning
from app.settings.described import bounds, choices, rounded, unit, variable
from app.settings.settings import Settings
from scripts.reference.markdown import code, page, table
from scripts.reference.source import field_headings

_BOUNDS = {"ge": "≥ ", "gt": "> ", "le": "≤ ", "lt": "< "}
_INTRODUCTION = """\
Every setting is an environment variable, read once at the start. All of them are optional. A
variable whose name is one or two letters away from a setting stops the start, and the message
names the setting; other unknown `MEMORY_BANK_` variables are listed in one warning.

Keys, addresses of databases, and the variables with which model providers take their keys, may be
read from a file: `MEMORY_BANK_ADMIN_KEY_FILE=/run/secrets/admin-key`. A line break at its end is
cut. A variable together with its file is refused. A file that others may read causes a warning.

Lists and objects are written as JSON. `none` stands for "no bound" where a setting allows it.
"""


def settings_page() -> str:
    """Return the page of settings."""
    parts = [_INTRODUCTION]
    for group in groups():
        parts += [f"## {group.title}\n", group.text, settings_table(group.names)]
    return page("Settings", *(part for part in parts if part))


def settings_table(names: Iterable[str]) -> str:
    """Return a table of some of the settings."""
    fields = {name: Settings.model_fields[name] for name in names}
    return table(
        ("Setting", "Default", "Unit", "Accepts", "Meaning"),
        (
            (
                code(variable(name)),
                shown(name, setting.get_default(call_default_factory=True)),
                unit(name),
                accepted(setting),
                setting.description or "",
            )
            for name, setting in fields.items()
        ),
    )


def accepted(setting: FieldInfo) -> str:
    """Return the choices and bounds of a setting."""
    limits = (f"{_BOUNDS[name]}{bound:,}" for name, bound in bounds(setting))
    return ", ".join([*(code(choice) for choice in choices(setting)), *limits])


def shown(name: str, default: object) -> str:
    """Return a default as inline code, and large numbers in a larger unit too."""
    if isinstance(default, tuple):
        # A variable of the environment has them with commas.
        default = ",".join(map(str, default))
    match default:
        case None | SecretStr() | Tuning():
            return ""
        case bool() | list() | dict() | BaseModel():
            return code(json.dumps(to_jsonable_python(default, exclude_none=True)))
        case Enum():
            return code(default.value)
        case int() | float():
            return code(default) + rounded(unit(name), default)
        case _:
            return code(default)


@dataclass
class Group:
    """Settings that stand together."""

    title: str
    text: str
    names: list[str] = field(default_factory=list)


def groups() -> list[Group]:
    """Return the groups of settings, those of the class itself first."""
    found: dict[str, Group] = {}
    for owner in (Settings, *Settings.__mro__[1:]):
        own = vars(owner).get("__annotations__", {})
        names = [name for name in Settings.model_fields if name in own]
        headings = field_headings(owner) if names else {}
        for name in names:
            heading = headings.get(name)
            group = Group(heading, "") if heading else Group(_title(owner), _sentence(owner))
            found.setdefault(group.title, group).names.append(name)
    return list(found.values())


def _title(owner: type) -> str:
    words = re.findall("[A-Z][a-z]+", owner.__name__.removesuffix("Settings"))
    return " ".join(words).capitalize() or "General"


def _sentence(owner: type) -> str:
    return (owner.__doc__ or "").split("\n\n")[0]

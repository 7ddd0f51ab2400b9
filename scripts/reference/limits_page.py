"""The page of limits, from the settings that bound something and from the OpenAPI document."""

import re
from dataclasses import fields
from itertools import groupby

from app.kernel.tuning import Tuning
from app.settings.described import unit
from scripts.reference.markdown import anchor, code, page, table
from scripts.reference.openapi import bounds, kind, schemas
from scripts.reference.settings_page import groups, settings_table, shown
from scripts.reference.source import field_headings, member_docstrings

_LIMITS = re.compile(
    r"(?:^|_)max_|_rate_units_|^rate_|_min_bytes_|(?:idle|header|body|send|timeout)_seconds$"
)
_INTRODUCTION = """\
There are three kinds of limits:

- Limits that an operator may have to choose are [settings](settings.md).
- [Constants](#constants) change only by `MEMORY_BANK_TUNING`, a JSON object.
- The limits of [fields](#fields) are part of the API and cannot be changed.

The service refuses a request beyond a limit with a [reason](errors.md) that names the kind of the
limit: `QUOTA_EXHAUSTED` for the content of an engine, `RATE_LIMIT_EXCEEDED` for units a second,
`TOO_MANY_AT_ONCE` for concurrency. The [permissions](permissions.md#methods) page has the cost of
each method in units. Deleting and purging always work, also at a quota.
"""
_CONSTANTS = """\
Operators normally have no reason to choose these numbers. If one proves wrong, change it by
`MEMORY_BANK_TUNING`, a JSON object such as `{"idle_seconds": 30}`. Names and meanings may change in
any release.
"""


def limits_page() -> str:
    """Return the page of limits."""
    parts = []
    for group in groups():
        if names := [name for name in group.names if _LIMITS.search(name)]:
            parts += [f"### {group.title}\n", settings_table(names)]
    return page(
        "Limits",
        _INTRODUCTION,
        "## Settings\n",
        *parts,
        "## Constants\n",
        _CONSTANTS,
        *_constants_tables(),
        "## Fields\n",
        _fields_table(),
    )


def _constants_tables() -> list[str]:
    headings, meanings = field_headings(Tuning), member_docstrings(Tuning)
    parts = []
    for heading, group in groupby(fields(Tuning), key=lambda field: headings[field.name]):
        rows = (
            (
                code(field.name),
                shown(field.name, field.default),
                unit(field.name),
                meanings[field.name],
            )
            for field in group
        )
        parts += [f"### {heading}\n", table(("Constant", "Value", "Unit", "Meaning"), rows)]
    return parts


def _fields_table() -> str:
    return table(
        ("Type", "Field", "Holds", "Bounds"),
        (
            (
                f"[{name}](types.md#{anchor(name)})",
                code(field),
                kind(schema),
                bounds(schema),
            )
            for name, owner in sorted(schemas().items())
            for field, schema in owner.get("properties", {}).items()
            if bounds(schema)
        ),
    )

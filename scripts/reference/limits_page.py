"""The page of limits, from the settings that bound something and from the OpenAPI document."""

import re

from scripts.reference.markdown import anchor, code, page, table
from scripts.reference.openapi import bounds, kind, schemas, title
from scripts.reference.settings_page import groups, settings_table

_LIMITS = re.compile(
    r"(?:^|_)max_|_rate_units_|^rate_|_min_bytes_|(?:idle|header|body|send|timeout)_seconds$"
)
_INTRODUCTION = """\
Limits that an operator can change are [settings](settings.md). A request beyond one is refused
with a [reason](errors.md) that says which limit it was: `QUOTA_EXHAUSTED` for what an engine
holds, `RATE_LIMIT_EXCEEDED` for units a second, `TOO_MANY_AT_ONCE` for concurrency. The
[permissions](permissions.md#methods) page has the cost of each method.

Deleting and purging always work, also at a quota.
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
        "## Fields\n",
        "These are part of the API and cannot be changed.\n",
        _fields_table(),
    )


def _fields_table() -> str:
    return table(
        ("Type", "Field", "Holds", "Bounds"),
        (
            (
                f"[{title(name)}](types.md#{anchor(title(name))})",
                code(field),
                kind(schema),
                bounds(schema),
            )
            for name, owner in sorted(schemas().items(), key=lambda item: title(item[0]))
            for field, schema in owner.get("properties", {}).items()
            if bounds(schema)
        ),
    )

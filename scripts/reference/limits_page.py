"""The page of limits, from the settings that bound something and from the OpenAPI document."""

import re

from app.settings import Settings
from scripts.reference.markdown import anchor, code, page, table
from scripts.reference.openapi import bounds, kind, schemas, title
from scripts.reference.settings_page import settings_table

_LIMITS = re.compile(r"(?:^|_)max_|_rate_units_|^rate_|(?:idle|header|body|send|timeout)_seconds$")
_PER_ENGINE = re.compile(r"^engine_max_|^engine_rate_")
_PER_KEY = re.compile(r"_per_key$|^key_rate_|^rate_")
_INTRODUCTION = """\
Limits that an operator can change are [settings](settings.md). A request beyond one is refused
with a [reason](errors.md) that says which limit it was: `QUOTA_EXHAUSTED` for what an engine
holds, `RATE_LIMIT_EXCEEDED` for units a second, `TOO_MANY_AT_ONCE` for concurrency. The
[permissions](permissions.md#methods) page has the cost of each method.

Deleting and purging always work, also at a quota.
"""


def limits_page() -> str:
    """Return the page of limits."""
    fields = Settings.model_fields
    engine = {name: field for name, field in fields.items() if _PER_ENGINE.search(name)}
    key = {name: field for name, field in fields.items() if _PER_KEY.search(name)}
    rest = {
        name: field
        for name, field in fields.items()
        if _LIMITS.search(name) and name not in engine | key
    }
    return page(
        "Limits",
        _INTRODUCTION,
        "## Of one engine\n",
        settings_table(engine),
        "## Of one key\n",
        settings_table(key),
        "## Of one request, one process or one piece of work\n",
        settings_table(rest),
        "## Of fields\n",
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

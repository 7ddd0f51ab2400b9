"""List settings with their defaults, bounds, and values here; secrets are hidden."""

import json
import shutil
import textwrap
from typing import Annotated

import typer
from pydantic import JsonValue

from app.adapters.terminal import fail, read_settings
from app.settings.described import (
    HIDDEN,
    ShownSetting,
    bounds,
    choices,
    rounded,
    shown_settings,
    unit,
)
from app.settings.settings import Settings

_INDENT = "    "
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def run(
    word: Annotated[
        str | None, typer.Argument(help="A part of the name or of the description.")
    ] = None,
) -> None:
    wanted = (word or "").lower()
    entries = [
        _entry(name, shown)
        for name, shown in zip(Settings.model_fields, shown_settings(read_settings()), strict=True)
        if wanted in f"{shown.name} {shown.description}".lower()
    ]
    if not entries:
        fail(f"No setting has {word} in its name or description.")
    typer.echo("\n".join(sorted(entries)))


def _entry(name: str, shown: ShownSetting) -> str:
    # The setting `tuning` lists only the constants that were changed.
    default = {} if name == "tuning" else shown.default
    value = _changed(shown) if name == "tuning" else shown.value
    origin = "default" if shown.is_default else f"default: {_text(name, default)}"
    meaning = textwrap.fill(
        " ".join([shown.description, *_limits(name)]),
        shutil.get_terminal_size().columns,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return f"{shown.name} = {_text(name, value)} ({origin})\n{meaning}"


def _changed(shown: ShownSetting) -> JsonValue:
    assert isinstance(shown.value, dict)
    assert isinstance(shown.default, dict)
    return {key: value for key, value in shown.value.items() if value != shown.default[key]}


def _text(name: str, value: JsonValue) -> str:
    if value is None:
        return "not set"
    if value == HIDDEN:
        return "set, and not shown"
    if isinstance(value, str) and value:
        return value
    size = rounded(unit(name), value) if isinstance(value, int | float) else ""
    return json.dumps(value, ensure_ascii=False).removesuffix(".0") + size


def _limits(name: str) -> list[str]:
    field = Settings.model_fields[name]
    limits = [f"{_BOUNDS[kind]} {bound:,}".removesuffix(".0") for kind, bound in bounds(field)]
    if accepted := ", ".join([*choices(field), *limits]):
        return [f"Accepts: {accepted}."]
    return []

"""The template environment and the filters that format values."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.runtime import Macro
from markupsafe import Markup, escape
from starlette.responses import Response

from app.kernel.text import is_hidden
from app.surfaces.console.texts import TEXTS
from app.surfaces.filters import written_pair

LONG_CHARS = 2_000
"""Number of characters after which a fact is cut and linked to its full text."""
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))
_RELATIVE = timedelta(days=30)
"""A time farther away than this is shown as a date."""
_WHOLE = 9_999
"""Largest number that is shown with all its digits."""
_THOUSAND, _BINARY = 1_000, 1_024
_DIGITS = 6
"""Last digits of an id that tell it from others: ids share their beginning."""
_KEPT_MARKS = 1_024
_KEPT = frozenset("\n\t")
_IN_PATHS = re.compile(r"[\x00-\x20\x7f%&=/?#\\]")
"""Characters that mean something in a path, or in the part of it that names a scope."""
STATIC = "/console/static"
_FOLDER = Path(__file__).parent / "static"
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_DIGEST_CHARS = 16
_FOR_A_YEAR = "public, max-age=31536000, immutable"


@cache
def environment() -> Environment:
    """Return the environment with all templates compiled, once per process."""
    env = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    env.globals.update(t=TEXTS, static=path_of, icons=path_of("icons.svg"), long_chars=LONG_CHARS)
    env.filters.update(plain=plain, moment=moment, countdown=countdown, last=last_part)
    env.filters.update(memory_id=memory_id, pretty=pretty, pairs=pairs, number=number)
    env.filters.update(counted=counted, short=short, size=size, share=share, money=money)
    env.filters.update(short_id=short_id, scope_path=scope_path)
    absent = ("session", "engine", "engine_url", "places", "older", "newer")
    env.globals.update(dict.fromkeys(absent))
    env.globals.update(find_text="", curls=(), spans=(), meant=(), key_names={}, carried={})
    marks = env.get_template("marks.html").module
    # Much of the time of a page would go into drawing the same marks in each row. Filters of
    # constants are drawn once, when their template is compiled.
    drawn = {name: mark for name, mark in vars(marks).items() if isinstance(mark, Macro)}
    env.filters.update({name: lru_cache(_KEPT_MARKS)(mark) for name, mark in drawn.items()})
    for name in env.list_templates():
        env.get_template(name)
    return env


def plain(text: str) -> str:
    """Return a text with invisible and direction-changing characters replaced by code points."""
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in _KEPT or not is_hidden(character):
        return character
    return f"[U+{ord(character):04X}]"


def moment(written: str | None, now: datetime) -> Markup:
    """Return a time relative to now, with the exact time as its tooltip."""
    if not written:
        return escape(TEXTS.never)
    time = datetime.fromisoformat(written)
    if abs(time - now) < _RELATIVE:
        return _timed(time, written, _relative(time - now))
    year = "" if time.year == now.year else f" {time.year}"
    return _timed(time, written, f"{time.day} {time:%b}{year}")


def countdown(written: str | None, now: datetime) -> Markup:
    """Return the hours and minutes until a time, with the exact time as the tooltip."""
    if not written:
        return escape(TEXTS.never)
    time = datetime.fromisoformat(written)
    hours, minutes = divmod(int(max((time - now).total_seconds(), 0) // 60), 60)
    left = TEXTS.hours_left if hours else TEXTS.minutes_left
    return _timed(time, written, left.format(hours=hours, minutes=minutes))


def _timed(time: datetime, written: str, shown: str) -> Markup:
    # Each row has times, and Markup's formatting would dominate the cost of a page.
    opened = f'<time datetime="{escape(written)}" title="{time:%Y-%m-%d %H:%M:%S} UTC">'
    return Markup(f"{opened}{escape(shown)}</time>")  # noqa: S704 - all parts are escaped


def _relative(ahead: timedelta) -> str:
    seconds = abs(int(ahead.total_seconds()))
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), (1, "s"))
    amount = f"{seconds // size} {unit}"
    return f"in {amount}" if ahead > timedelta() else f"{amount} ago"


def last_part(name: str) -> str:
    """Return the id at the end of a resource's name."""
    return name.rpartition("/")[2]


def memory_id(revision: str) -> str:
    """Return the id of the memory in a revision's name."""
    return last_part(revision.rpartition("/revisions/")[0])


def pretty(value: Any) -> str:  # noqa: ANN401 - any JSON
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def pairs(values: dict[str, str]) -> list[str]:
    """Return a map as pairs `key=value`, sorted by key."""
    return [written_pair(key, value) for key, value in sorted(values.items())]


def scope_path(scope: Mapping[str, str]) -> str:
    """Return a scope as a part of a path: `key=value`, several joined by `&`.

    Servers decode a path before they split it, so characters that mean something there are encoded
    twice.
    """
    pairs_ = (f"{_escaped(key)}={_escaped(value)}" for key, value in sorted(scope.items()))
    return quote("&".join(pairs_), safe="=&")


def _escaped(text: str) -> str:
    return _IN_PATHS.sub(lambda match: f"%{ord(match[0]):02X}", text)


def read_scope(part: str) -> dict[str, str]:
    """Return the scope that a decoded part of a path names; empty: it is not one."""
    split = [pair.partition("=") for pair in part.split("&")]
    if not all(key and mark for key, mark, _ in split):
        return {}
    return {unquote(key): unquote(value) for key, _, value in split}


def number(value: float) -> str:
    """Return a number with thousands separators and at most nine decimal places."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.9f}".rstrip("0").rstrip(".")


def counted(forms: Sequence[str], count: int, more: str = "", **values: object) -> str:
    """Return the form of a text for a number: the first for one, the last for any other."""
    return forms[count != 1].format(count=number(count) + more, **values)


def short(value: float) -> str:
    """Return a number with three digits and a unit; up to 9,999 it is written out."""
    if abs(value) <= _WHOLE:
        return number(value)
    return _scaled(value / _THOUSAND, _THOUSAND, " k", " M", " G", " T")


def size(value: float) -> str:
    """Return a number of bytes with three digits and a unit of 1,024."""
    return _scaled(value, _BINARY, " B", " kB", " MB", " GB", " TB")


def _scaled(value: float, step: int, *units: str) -> str:
    """Return a number in the largest unit of which it has at least one."""
    scaled, exponent = float(value), 0
    while round(abs(scaled)) >= step and exponent < len(units) - 1:
        scaled /= step
        exponent += 1
    places = 0 if abs(scaled) >= 100 else 1
    return f"{scaled:,.{places}f}".removesuffix(".0") + units[exponent]


def share(amount: float, limit: float | None) -> float:
    """Return how many percent of a limit are used; 0: there is no limit."""
    return 100 * amount / limit if limit else 0.0


def money(cost: Any) -> str:  # noqa: ANN401 - any JSON
    """Return a sum with two decimals, or two significant digits below one unit."""
    amount = float(cost["amount"])
    written = f"{amount:,.2f}" if amount >= 1 or not amount else f"{float(f'{amount:.2g}'):.10f}"
    shown = written if amount >= 1 else written.rstrip("0").rstrip(".")
    return f"${shown}" if cost["currency"] == "USD" else f"{shown} {cost['currency']}"


def short_id(name: str) -> str:
    """Return the last digits of a long number; other ids are whole."""
    return f"…{name[-_DIGITS:]}" if name.isdecimal() and len(name) > _DIGITS + 2 else name


@cache
def served() -> dict[str, tuple[bytes, str]]:
    """Return the content and the media type of each file, by path."""
    files = {}
    for path in sorted(_FOLDER.iterdir()):
        if path.suffix in _KINDS:
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()[:_DIGEST_CHARS]
            files[f"{STATIC}/{digest}/{path.name}"] = (content, _KINDS[path.suffix])
    return files


@cache
def path_of(name: str) -> str:
    """Return the path at which a file is served."""
    return next(path for path in served() if path.endswith(f"/{name}"))


def answer(path: str) -> Response | None:
    """Return the response to a request for a file; None: there is no such file."""
    if path not in served():
        return None
    content, kind = served()[path]
    return Response(content, media_type=kind, headers={"Cache-Control": _FOR_A_YEAR})

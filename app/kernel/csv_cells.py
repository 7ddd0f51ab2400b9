"""Tables as CSV that spreadsheets open without computing a cell."""

import csv
import json
from collections.abc import Iterable, Sequence
from io import StringIO

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""First characters that make a spreadsheet treat a cell as a formula, the wide ones too."""


def cell(value: object) -> object:
    """Return a value as a cell that no spreadsheet computes; objects and lists are JSON."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return json_of(value) if isinstance(value, bool | dict | list) else value


def csv_of(rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV."""
    text = StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def json_of(value: object) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

"""Environment variables with this service's prefix that are not settings."""

import os
import re
from collections.abc import Iterable, Mapping, MutableMapping

from app.settings.setting_types import is_of_a_link

PREFIX = "MEMORY_BANK_"
_MOST_EDITS = 2
_OF_OTHERS = re.compile(
    r"(?:TEST|CLIENT)_.*|PUBLISH|(?:.*_)?SERVICE_HOST|(?:.*_)?SERVICE_PORT(?:_.*)?|(?:.*_)?PORT_.*"
)
"""Names that tests, clients, compose and container platforms use."""


def environment() -> MutableMapping[str, str]:
    """Return the environment variables of this process."""
    return os.environ


def misspelt(variables: Mapping[str, str], settings: Iterable[str]) -> dict[str, str]:
    """Map each misspelt name to the nearest setting, which is at most two edits away.

    `settings` are names of fields and of files with secrets. An edit inserts, deletes or replaces
    one letter, or swaps two neighbours.
    """
    names = [name.upper() for name in settings]
    nearest_settings = {}
    for given in unknown(variables, names):
        distance, nearest = min((_edits(given.removeprefix(PREFIX), name), name) for name in names)
        if distance <= _MOST_EDITS:
            nearest_settings[given] = PREFIX + nearest
    return nearest_settings


def unknown(variables: Mapping[str, str], settings: Iterable[str]) -> list[str]:
    """Return the names of unknown variables, in capitals; the case of names is ignored."""
    known = {name.upper() for name in settings}
    return sorted(
        name.upper()
        for name, value in variables.items()
        if (given := name.upper()).startswith(PREFIX)
        and (own := given.removeprefix(PREFIX)) not in known
        and not _OF_OTHERS.fullmatch(own)
        and not is_of_a_link(value)
    )


def _edits(name: str, other: str) -> int:
    """Return the number of edits between two names: insert, delete, replace, swap neighbours.

    Source: the optimal string alignment distance.
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, sign in enumerate(name, start=1):
        before, last, row = row, before, [at]
        for place, wanted in enumerate(other, start=1):
            cost = min(row[-1] + 1, before[place] + 1, before[place - 1] + (sign != wanted))
            is_swapped = (
                at > 1 and place > 1 and sign == other[place - 2] and name[at - 2] == wanted
            )
            row.append(min(cost, last[place - 2] + 1) if is_swapped else cost)
    return row[-1]

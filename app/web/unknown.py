"""Paths that are not served: which part of one is unknown, and what is served in its place.

It speaks of the paths of the API alone, which are the same for every key: whether what a path names
is there is not looked at.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

_SHOWN_CHARS = 80
_IN_EVERY_VERSION = ("auditEvents", "keys", "memoryBanks", "projects", "reasoningEngines")
REWRITTEN = tuple(
    f"{version}/{name}" for version in ("/v1", "/v1beta1") for name in _IN_EVERY_VERSION
)
"""Beginnings of paths that are rewritten before they are routed."""


@dataclass
class _Place:
    """Where a path may lead.

    Attributes:
        below: the places that follow, by their names; any id leads to one in braces.
        verbs: what may stand behind a colon.
    """

    below: "dict[str, _Place]" = field(default_factory=dict)
    verbs: set[str] = field(default_factory=set)

    def next(self, name: str) -> "tuple[str, _Place] | None":
        """Return where a part of a path leads, with its name in the API."""
        if name in self.below:
            return name, self.below[name]
        any_id = next((known for known in self.below if known.startswith("{")), None)
        return (any_id, self.below[any_id]) if any_id is not None and name else None


class Paths:
    """All paths that are served.

    Args:
        templates: as the routes have them, with ids in braces.
    """

    def __init__(self, templates: Iterable[str]) -> None:
        self._root = _Place()
        for template in templates:
            self._add(template)

    def _add(self, template: str) -> None:
        place = self._root
        for part in filter(None, template.split("/")):
            name, _, verb = part.partition(":")
            place = place.below.setdefault(name, _Place())
            if verb:
                place.verbs.add(f":{verb}")

    def explain(self, path: str) -> str:
        """Return what is wrong with a path that is not served, as a sentence."""
        place, passed = self._root, list[str]()
        *parts, last = path.removeprefix("/").split("/")
        name, colon, verb = last.partition(":")
        for part in (*parts, name):
            found = place.next(part)
            if found is None:
                return _sentence(f"{_shown(part)} is unknown", passed, place.below)
            passed.append(found[0])
            place = found[1]
        if colon:
            return _sentence(f"{_shown(colon + verb)} is unknown", passed, place.verbs)
        return _sentence("something is missing", passed, {*place.below, *place.verbs})


def _shown(part: str) -> str:
    return json.dumps(part[:_SHOWN_CHARS])


def _sentence(fault: str, passed: list[str], known: Iterable[str]) -> str:
    # The last two tell the place: the collection, and the id in it.
    where = f"after {'/'.join(passed[-2:])}" if passed else "at the beginning"
    listed = ", ".join(sorted(known)) or "nothing"
    return f"No such path: {fault} {where}, where the API has {listed}."

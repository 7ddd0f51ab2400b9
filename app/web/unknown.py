"""Unknown paths: explanations of the unknown part, with the alternatives.

The explanation covers only the API's paths, which are the same for every key. It does not check
that the named resources exist.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

_SHOWN_CHARS = 80
_IN_EVERY_VERSION = ("auditEvents", "keys", "memoryBanks", "projects", "reasoningEngines", "server")
REWRITTEN = tuple(
    f"{version}/{name}" for version in ("/v1", "/v1beta1") for name in _IN_EVERY_VERSION
)
"""Prefixes of paths that are rewritten before routing."""


@dataclass
class _Place:
    """A node in the tree of paths.

    Attributes:
        below: the child nodes by name; a name in braces stands for any id.
        verbs: the verbs allowed after a colon.
    """

    below: "dict[str, _Place]" = field(default_factory=dict)
    verbs: set[str] = field(default_factory=set)

    def next(self, name: str) -> "tuple[str, _Place] | None":
        """Return the child node of a path segment, with its name in the API."""
        if name in self.below:
            return name, self.below[name]
        any_id = next((known for known in self.below if known.startswith("{")), None)
        return (any_id, self.below[any_id]) if any_id is not None and name else None


class Paths:
    """All served paths."""

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
        """Return a sentence that explains why a path is not served."""
        place, passed = self._root, list[str]()
        *parts, last = path.removeprefix("/").split("/")
        name, colon, verb = last.partition(":")
        for part in (*parts, name):
            step = place.next(part)
            if step is None:
                return _sentence(f"{_quoted(part)} is unknown", passed, place.below)
            passed.append(step[0])
            place = step[1]
        if colon:
            return _sentence(f"{_quoted(colon + verb)} is unknown", passed, place.verbs)
        return _sentence("something is missing", passed, {*place.below, *place.verbs})


def _quoted(part: str) -> str:
    return json.dumps(part[:_SHOWN_CHARS])


def _sentence(fault: str, passed: list[str], known: Iterable[str]) -> str:
    # The last two segments show the position: the collection and the id.
    where = f"after {'/'.join(passed[-2:])}" if passed else "at the beginning"
    listed = ", ".join(sorted(known)) or "nothing"
    return f"No such path: {fault} {where}, where the API has {listed}."

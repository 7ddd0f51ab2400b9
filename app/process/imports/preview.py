"""The preview of an import: the items to send, to reject and to omit."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.process.imports.items import Conversation
from app.process.imports.products import Converted, ItemLine, Rejected

_SAMPLES = 5
_SHOWN_CHARS = 400


@dataclass
class Preview:
    """Counts of converted items, with the first items as samples.

    Attributes:
        scopes: the numbers of memories, by the keys of their scopes.
        conversations: the numbers of sessions and events.
        reasons: the numbers of rejected items, by reason.
        losses: the numbers of omitted items, by kind.
    """

    losses: Counter[str]
    with_ended: bool
    scopes: Counter[str] = field(default_factory=Counter)
    conversations: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    _samples: list[ItemLine] = field(default_factory=list)

    def add(self, made: Converted) -> None:
        """Count an item."""
        if isinstance(made, Rejected):
            self.reasons[made.reason] += 1
        elif isinstance(made, Conversation):
            self.conversations.update(sessions=1, events=len(made.events))
        elif made.ended and not self.with_ended:
            self.losses["ended facts"] += 1
        else:
            self.scopes[", ".join(sorted(made.line["scope"]))] += 1
            if len(self._samples) < _SAMPLES:
                self._samples.append(made)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the preview."""
        yield f"Would import: {self.scopes.total():,}"
        yield from listed("By the keys of their scopes", self.scopes)
        yield from listed("Conversations", self.conversations)
        yield from listed("Would reject", self.reasons)
        yield from listed("Left out", self.losses)
        for made in self._samples:
            yield f"\nBefore: {_shown(made.item)}\nAfter:  {_shown(made.line)}"


def listed(title: str, counts: Counter[str]) -> Iterator[str]:
    """Yield a title and the counts above zero, sorted by name; no lines if all are zero."""
    told = sorted(+counts)
    if told:
        yield f"{title}:"
    yield from (f"  {name}: {counts[name]:,}" for name in told)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    # A lone surrogate cannot be printed.
    text = text.encode(errors="replace").decode()
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."

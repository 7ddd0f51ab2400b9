"""Token counts of the parts of a prompt."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.conversation.strategies.logic.forms import Format, SourceField
from app.conversation.strategies.logic.policies import Rules
from app.conversation.strategies.logic.rendering import (
    bare_summary,
    least,
    memory_block,
    memory_line,
    piece,
    piece_of,
)
from app.conversation.strategies.logic.shapes import messages_of
from app.conversation.strategies.services.counters import Counter, counted
from app.platform.sessions.logic.event_text import EventText

WORK_PER_TEXT = 100
"""Fixed work of counting a text, expressed in characters."""


@dataclass(frozen=True)
class Scale:
    """Rules, counter and format that determine token counts."""

    rules: Rules
    counter: Counter
    form: Format = Format.MESSAGES

    @property
    def plain(self) -> "Scale":
        """The same scale for plain messages, which decide whether summaries are due."""
        return replace(self, form=Format.MESSAGES)

    def of_event(self, said: EventText) -> int:
        """Return the tokens of an event; 0 if the format does not show it."""
        shown = piece(said, self.rules, self.form)
        if not shown:
            return 0
        messages = messages_of(said) if self.form is Format.OPENAI else 1
        return counted(said, shown, self.counter) + messages * self._overhead

    def least(self, said: EventText) -> int:
        """Return the tokens of the shortest cut of an event."""
        return least(said, self.rules, self.form, self.counter.count)

    def of_part(self, kind: SourceField, text: str) -> int:
        """Return the tokens of a part of another kind; 0 if it is empty."""
        shown = piece_of(kind, text, self.rules, self.form)
        return self.counter.count(shown) + self._overhead if shown else 0

    def of_summary(self, text: str) -> tuple[int, int]:
        """Return the tokens of a summary's text and of its marks; both 0 if the text is empty."""
        if not text:
            return 0, 0
        bare = self.counter.count(bare_summary(text, self.rules, self.form)) + self._overhead
        return bare, self.of_part(SourceField.SUMMARY, text) - bare

    def of_facts(self, facts: Sequence[str]) -> int:
        """Return the tokens of the memory block with these facts; 0 without facts."""
        return self.of_part(SourceField.MEMORY, memory_block(facts))

    def of_fact(self, fact: str) -> int:
        """Return an upper bound, at most slightly too high, of the tokens that a fact adds."""
        return self.counter.count(f"{memory_line(fact)}\n")

    @property
    def has_files(self) -> bool:
        """True if the format includes files themselves instead of only mentioning them."""
        return self.form is Format.GEMINI

    @property
    def _overhead(self) -> int:
        return 0 if self.form is Format.TEXT else self.rules.overhead

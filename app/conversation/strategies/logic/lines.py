"""Conversations as lines that begin with the speaker's label (pure)."""

import re
from collections.abc import Iterable

from app.conversation.strategies.logic.marks import begins_as_other
from app.conversation.strategies.logic.policies import Rules
from app.platform.sessions.logic.event_text import EventText, Speaker

_LABELS = {Speaker.TOOL: "Tool", Speaker.SYSTEM: "System"}
_BREAK = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""Any line end, as `str.splitlines` defines it."""
_INDENT = "  "
_HEAD_CHARS = 200


def lines_of(said: Iterable[EventText], rules: Rules) -> list[str]:
    """Return a conversation as labelled lines; events without text are skipped.

    Continuation lines of an event are indented to prevent a text from imitating another speaker.
    """
    return [line_of(event.speaker, event.text, rules) for event in said if event.text]


def line_of(speaker: Speaker, text: str, rules: Rules) -> str:
    """Return one labelled line; a text without a label is indented if it looks labelled."""
    label = label_of(speaker, rules)
    is_forged = not label and (begins_as_line(text, rules) or begins_as_other(text))
    return (_INDENT if is_forged else "") + line(label, text)


def line(label: str, text: str) -> str:
    """Return a labelled line, or only the text if the label is empty."""
    shown = _BREAK.sub("\n" + _INDENT, text)
    return f"{label}: {shown}" if label else shown


def begins_as_line(text: str, rules: Rules) -> bool:
    """Return True if a text begins like a labelled line."""
    head = text.lstrip()[:_HEAD_CHARS].casefold()
    labels = (label_of(speaker, rules).strip().casefold() for speaker in Speaker)
    return any(
        label and head.startswith(label) and head[len(label) :].lstrip()[:1] in {":", "\uff1a"}
        for label in labels
    )


def label_of(speaker: Speaker, rules: Rules) -> str:
    """Return a speaker's label in a conversation."""
    labels = {Speaker.USER: rules.human_label, Speaker.AGENT: rules.ai_label, **_LABELS}
    return labels[speaker]

"""A conversation as lines that say who speaks (pure)."""

import re
from collections.abc import Iterable

from app.conversation.strategies.logic.marks import begins_as_other
from app.conversation.strategies.logic.policies import Rules
from app.platform.sessions.logic.spoken import Said, Speaker

_LABELS = {Speaker.TOOL: "Tool", Speaker.SYSTEM: "System"}
_BREAK = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""What ends a line to anyone, as `str.splitlines` has it."""
_INDENT = "  "
_HEAD_CHARS = 200


def lines_of(said: Iterable[Said], rules: Rules) -> list[str]:
    """Return a conversation in lines that say who speaks; events that show nothing have none.

    Further lines of one event are indented, so that nobody speaks in another's name.
    """
    return [line_of(one.speaker, one.text, rules) for one in said if one.text]


def line_of(speaker: Speaker, text: str, rules: Rules) -> str:
    """Return what somebody says; one without a label does not begin with that of another."""
    label = label_of(speaker, rules)
    is_forged = not label and (begins_as_line(text, rules) or begins_as_other(text))
    return (_INDENT if is_forged else "") + line(label, text)


def line(label: str, text: str) -> str:
    """Return what somebody says; without a label, that alone."""
    shown = _BREAK.sub("\n" + _INDENT, text)
    return f"{label}: {shown}" if label else shown


def begins_as_line(text: str, rules: Rules) -> bool:
    """Say whether a text begins as a line that says who speaks."""
    head = text.lstrip()[:_HEAD_CHARS].casefold()
    labels = (label_of(speaker, rules).strip().casefold() for speaker in Speaker)
    return any(
        label and head.startswith(label) and head[len(label) :].lstrip()[:1] in {":", "\uff1a"}
        for label in labels
    )


def label_of(speaker: Speaker, rules: Rules) -> str:
    """Return who speaks, as a conversation shows it."""
    labels = {Speaker.USER: rules.human_label, Speaker.AGENT: rules.ai_label, **_LABELS}
    return labels[speaker]

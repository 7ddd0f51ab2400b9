"""A conversation as lines that say who speaks (pure)."""

from collections.abc import Iterable

from app.sessions.spoken import Said, Speaker
from app.strategies.policies import Rules

_LABELS = {Speaker.TOOL: "Tool", Speaker.SYSTEM: "System"}


def lines_of(said: Iterable[Said], rules: Rules) -> list[str]:
    """Return a conversation in lines that say who speaks; events that show nothing have none.

    Further lines of one event are indented, so that nobody speaks in another's name.
    """
    return [line(label_of(one.speaker, rules), one.text) for one in said if one.text]


def line(label: str, text: str) -> str:
    """Return what somebody says; without a label, that alone."""
    shown = text.replace("\r\n", "\n").replace("\n", "\n  ")
    return f"{label}: {shown}" if label else shown


def label_of(speaker: Speaker, rules: Rules) -> str:
    """Return who speaks, as a conversation shows it."""
    labels = {Speaker.USER: rules.human_label, Speaker.AGENT: rules.ai_label, **_LABELS}
    return labels[speaker]

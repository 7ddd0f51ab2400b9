"""Results of tools as short lines, to save tokens in prompts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.kernel.text import is_hidden

Entry = Mapping[str, Any]

NOTHING_STORED = "No memories are stored for this scope."
NOTHING_NEAR = "Memories are stored, but none is near enough to this; list_memories shows them."
NOTHING_MORE = "No memories, or no more."
NOT_ALL_SEARCHED = "\nOlder conversations were not searched."
NO_REVISIONS = "No history of this memory is kept."
NO_CANDIDATES = "No memory matches."
_DAY = len("2030-01-31")


def one_line(text: str) -> str:
    """Return a text on one line, with hidden characters replaced by spaces."""
    return " ".join("".join(" " if is_hidden(sign) else sign for sign in text).split())


def day_of(moment: str) -> str:
    """Return the UTC day of a timestamp of the API."""
    return moment[:_DAY]


def fact_of(memory: Entry) -> str:
    """Return the fact of a memory, or the values of a profile's field as JSON.

    The result is empty if there is no content, as in the revision of a deletion.
    """
    fact = memory.get("fact")
    if fact is not None:
        return str(fact)
    content = memory.get("structuredContent")
    return json.dumps(content["data"], ensure_ascii=False) if content else ""


def numbered(lines: Iterable[str]) -> str:
    """Join lines, numbered from 1."""
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def memory_line(memory: Entry) -> str:
    """Return a memory as a line with its id and the day of its last change."""
    return f"{one_line(memory['fact'])} (id {memory['id']}, {day_of(memory['changed'])})"


def memory_lines(memories: Sequence[Entry], more: Mapping[str, Any]) -> str:
    """Return memories, best first, with notes on omitted ones and the next page."""
    text = numbered(map(memory_line, memories))
    if more.get("omitted"):
        text += f"\n{more['omitted']} more are not near enough to this, or too long for one answer."
    if more.get("next_page_token"):
        text += f"\nThere are more: page_token {more['next_page_token']}"
    return text


def revision_lines(revisions: Sequence[Entry]) -> str:
    """Return the revisions of a memory, newest first."""
    return numbered(map(_revision_line, revisions)) or NO_REVISIONS


def _revision_line(revision: Entry) -> str:
    line = f"{day_of(revision['time'])} {revision['action']}"
    if revision["fact"]:
        line += f": {one_line(revision['fact'])}"
    return f"{line} (revision {revision['id']})"


_CHANGES = {
    "CREATED": "Stored: {fact} (id {id})",
    "UPDATED": "Updated: {fact} (id {id}; was: {was})",
    "ALREADY_KNOWN": "Known already: {fact} (id {id})",
    "DELETED": "Deleted: {fact} (id {id})",
}


def change_lines(changes: Sequence[Entry], not_stored: int, reasons: Mapping[str, int]) -> str:
    """Return the changes that a generation made, and the number of facts not stored."""
    lines = [_change_line(change) for change in changes]
    if not_stored:
        listed = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
        lines.append(f"Not stored: {not_stored}{f' ({listed})' if listed else ''}.")
    return "\n".join(lines) or "Nothing was stored."


def read_before(lines: int) -> str:
    """Return the sentence about conversation lines that were read before."""
    return f"Lines that were read before, and change nothing: {lines}."


def masked_line(counts: Mapping[str, int]) -> str:
    """Return the sentence about sensitive values that were left out."""
    listed = ", ".join(f"{kind} {count}" for kind, count in counts.items())
    return f"Masked as sensitive, and not stored: {listed}."


def _change_line(change: Entry) -> str:
    values = {"was": "unknown", **change}
    shown = {name: one_line(str(value)) for name, value in values.items()}
    return _CHANGES[change["action"]].format_map(shown)


def under_way(operation: str) -> str:
    """Return the sentence about a running operation."""
    return f"Under way: operation {operation}. Read memory://operation/{operation}."


def updated(before: str, after: str, memory: str) -> str:
    """Return the sentence about a changed memory."""
    return f"Updated: {one_line(after)} (id {memory}; was: {one_line(before)})"


def candidate_lines(candidates: Sequence[Entry]) -> str:
    """Return the candidates for deletion; the model must call again with their ids."""
    if not candidates:
        return NO_CANDIDATES
    return (
        f"{numbered(map(memory_line, candidates))}\nNothing is forgotten yet. Call again with ids."
    )


def forgotten_lines(forgotten: Sequence[Entry], recover_until: str | None) -> str:
    """Return the deleted memories and the last day on which they can be restored."""
    lines = [f"Forgotten: {one_line(memory['fact'])} (id {memory['id']})" for memory in forgotten]
    if recover_until is not None:
        lines.append(f"restore_memory brings them back until {day_of(recover_until)}.")
    return "\n".join(lines)


def restored(fact: str, memory: str) -> str:
    """Return the sentence about a restored memory."""
    return f"Restored: {one_line(fact)} (id {memory})"


def passage_lines(spans: Sequence[Entry]) -> str:
    """Return passages of conversations, best first."""
    return numbered(map(_passage_line, spans)) or "Nothing in the conversations matches."


def _passage_line(span: Entry) -> str:
    place = f"session {span['session']}, event {span['seq']}"
    if "time" in span:
        place += f", {day_of(span['time'])}"
    return f"{span['speaker']}: {one_line(span['text'])} ({place})"

"""Text shown in a prompt in place of stored output; it reveals no content (pure)."""

from collections.abc import Sequence

from app.artifacts.tasks.logic.kinds import Reader, Warned
from app.artifacts.tasks.schemas.tasks import Reference

MAX_PROMPT_CHARS = 400
_CUT = "\u2026"
_LEAST = 2
"""Minimum length of a name that is cut: its first character and the ellipsis."""
_TEXT = (
    "{who}: stored off prompt as memory={memory} namespace={namespace}; {count} {noun} ({types}),"
    " {total_bytes} bytes; readers: {readers}"
)


def readable_with(*, has_text: bool, has_reader: bool, has_sinks: bool) -> list[Reader]:
    """Return the readers that can use the artifacts.

    Args:
        has_text: whether any artifact has a text for readers.
        has_reader: whether any reader may read their namespace.
        has_sinks: whether the service has a sink to export to.
    """
    reading = [Reader.QUERY, Reader.SUMMARIZE] if has_text and has_reader else []
    return [*reading, Reader.EXPORT] if has_sinks else reading


def warned(reference: Reference, *, may_derive: bool) -> list[Warned]:
    """Return the warnings for an agent's developer about a stored output.

    `may_derive`: whether the caller may query and summarise.
    """
    can_read = may_derive and Reader.QUERY in reference.readable_with
    return [] if can_read else [Warned.NO_READER]


def prompt_text(reference: Reference, tool: str, activity: str, *, may_derive: bool) -> str:
    """Return the prompt text for a stored output: at most 400 characters.

    Without `may_derive`, the caller may use no reader, and the text names none. The names of memory
    and namespace are never cut, since tools need them. Tool, activity and media types share the
    remaining room. Names are at most 128 characters long.
    """
    types = (
        ", ".join(dict.fromkeys(artifact.media_type for artifact in reference.artifacts)) or "none"
    )
    if not may_derive:
        reference = reference.model_copy(update={"readable_with": []})
    room = MAX_PROMPT_CHARS - len(_filled(reference, "", "", ""))
    return _filled(reference, *_shortened((tool, activity, types), room))


def _filled(reference: Reference, tool: str, activity: str, types: str) -> str:
    return _TEXT.format(
        who=f"{tool}.{activity}",
        memory=reference.memory,
        namespace=reference.namespace,
        count=reference.count,
        noun="artifact" if reference.count == 1 else "artifacts",
        types=types,
        total_bytes=reference.total_bytes,
        readers=", ".join(reference.readable_with) or "none",
    )


def _shortened(texts: Sequence[str], room: int) -> list[str]:
    shares: dict[int, int] = {}
    # Shortest first: room that short texts do not use goes to longer ones.
    for number, place in enumerate(sorted(range(len(texts)), key=lambda n: len(texts[n]))):
        share = max(room // (len(texts) - number), _LEAST)
        shares[place] = min(len(texts[place]), share)
        room -= shares[place]
    return [_cut(text, shares[place]) for place, text in enumerate(texts)]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + _CUT

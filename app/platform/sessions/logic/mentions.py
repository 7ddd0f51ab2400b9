"""References to task memory in prompts: one line of names and figures (pure).

Contexts, summaries and recall contain no other data of task memory.
"""

from collections.abc import Mapping, Sequence
from typing import Any

MAX_CHARS = 400
_CUT = "\u2026"


def mention_of(reference: Mapping[str, Any]) -> str:
    """Return the single line for a stored `artifactRef`, at most 400 characters long.

    Example: `[kept off prompt: memory=m namespace=n artifact=a, 1 artifact (text/html), 9 bytes,
    readers: query]`; fields that the reference lacks are left out. Memory, namespace and figures
    are always complete, as readers need them. The artifact is named if it is the only one and its
    name fits; media types are listed as far as they fit.
    """
    artifacts: Sequence[Mapping[str, Any]] = reference.get("artifacts") or ()
    name = f" artifact={artifacts[0]['name']}" if len(artifacts) == 1 else ""
    types = dict.fromkeys(
        artifact["mediaType"].partition(";")[0] for artifact in artifacts if "mediaType" in artifact
    )
    room = MAX_CHARS - len(_render(reference, "", ""))
    name = name if len(name) <= room else ""
    return _render(reference, name, _render_types([*types], room - len(name)))


def _render(reference: Mapping[str, Any], name: str, types: str) -> str:
    listed = len(reference.get("artifacts") or ())
    count = reference.get("count", listed or None)
    # One sentence without semicolons: extractive selection must not cut it.
    fields = [f"memory={reference['memory']} namespace={reference['namespace']}{name}"]
    if count is not None:
        fields.append(f"{count} {'artifact' if count == 1 else 'artifacts'}{types}")
    if "totalBytes" in reference:
        fields.append(f"{reference['totalBytes']} bytes")
    if "readableWith" in reference:
        fields.append(f"readers: {', '.join(dict.fromkeys(reference['readableWith'])) or 'none'}")
    return f"[kept off prompt: {', '.join(fields)}]"


def _render_types(types: Sequence[str], room: int) -> str:
    """Return as many types as fit, in brackets; an empty text if none fits."""
    whole = ", ".join(types)
    if not whole or len(f" ({whole})") <= room:
        return whole and f" ({whole})"
    most = max(room - len(f" (, {_CUT})"), 0)
    kept = whole[: most + len(", ")].rpartition(", ")[0]
    return kept and f" ({kept}, {_CUT})"

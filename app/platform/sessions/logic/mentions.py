"""How prompts show a reference to task memory: one line of its names and figures (pure).

Nothing else ever stands for what task memory holds: not in contexts, summaries or recall.
"""

from collections.abc import Mapping, Sequence
from typing import Any

MAX_CHARS = 400
_CUT = "\u2026"


def mention_of(reference: Mapping[str, Any]) -> str:
    """Return the line for a stored `artifactRef`: a single one, of at most 400 characters.

    Such as `[kept off prompt: memory=m namespace=n artifact=a, 1 artifact (text/html), 9 bytes,
    readers: query]`, of which there is only what the reference has. Memory, namespace and figures
    are always whole, as readers need them. The artifact is named if it is the only one, and there
    is room; of the media types there are as many as there is room for.
    """
    artifacts: Sequence[Mapping[str, Any]] = reference.get("artifacts") or ()
    name = f" artifact={artifacts[0]['name']}" if len(artifacts) == 1 else ""
    types = dict.fromkeys(
        one["mediaType"].partition(";")[0] for one in artifacts if "mediaType" in one
    )
    room = MAX_CHARS - len(_filled(reference, "", ""))
    name = name if len(name) <= room else ""
    return _filled(reference, name, _listed([*types], room - len(name)))


def _filled(reference: Mapping[str, Any], name: str, types: str) -> str:
    listed = len(reference.get("artifacts") or ())
    count = reference.get("count", listed or None)
    # It is one sentence: without semicolons, it is not cut where a few of many are chosen.
    told = [f"memory={reference['memory']} namespace={reference['namespace']}{name}"]
    if count is not None:
        told.append(f"{count} {'artifact' if count == 1 else 'artifacts'}{types}")
    if "totalBytes" in reference:
        told.append(f"{reference['totalBytes']} bytes")
    if "readableWith" in reference:
        told.append(f"readers: {', '.join(dict.fromkeys(reference['readableWith'])) or 'none'}")
    return f"[kept off prompt: {', '.join(told)}]"


def _listed(types: Sequence[str], room: int) -> str:
    """Return as many of the types as there is room for, in brackets; none: nothing."""
    whole = ", ".join(types)
    if not whole or len(f" ({whole})") <= room:
        return whole and f" ({whole})"
    most = max(room - len(f" (, {_CUT})"), 0)
    kept = whole[: most + len(", ")].rpartition(", ")[0]
    return kept and f" ({kept}, {_CUT})"

"""Outcomes of a generation: facts dropped, refused and counted, and the sum of its rounds."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Any, Literal

from app.platform.usage import logic as costs

MAX_LISTED_OUTCOMES = 100
"""Maximum of dropped facts, and of refused decisions, in a preview; the rest is only counted."""

DropReason = Literal[
    "NO_QUOTE",
    "FOREIGN_NUMBER",
    "FOREIGN_DATE",
    "BAD_LENGTH",
    "OFF_TOPIC",
    "NOT_SAID",
    "NOT_VERIFIED",
    "FORGOTTEN",
    "NOT_CONVERTED",
    "OLDER",
    "ALREADY_READ",
    "UNREADABLE",
]
RefusalReason = Literal[
    "UNKNOWN_MEMORY",
    "UNKNOWN_FACT",
    "MEMORY_CUT",
    "CONFLICT",
    "FOREIGN_NUMBER",
    "FOREIGN_DATE",
    "FOREIGN_NAME",
    "BAD_LENGTH",
    "UNRELATED_TEXT",
    "TOO_MANY_DELETES",
]
FieldReason = Literal[
    "UNKNOWN_FIELD",
    "NO_QUOTE",
    "BAD_VALUE",
    "FOREIGN_NUMBER",
    "FOREIGN_DATE",
    "NOT_PRESENT",
    "TOO_MANY_DELETES",
    "OLDER",
    "ALREADY_READ",
]
UnmetReason = Literal["NOTHING_FOUND", "OLDER", "TOO_MANY", "REFUSED"]

GENERATED = "generatedMemories"
"""Field of a response that lists the changes."""


@dataclass(frozen=True)
class Dropped:
    """A fact that does not become a memory.

    Attributes:
        detail: the number or date that has no source.
        memory_id: the memory that rests on a later time.
        turn: position in the input of an understood line; the line is not read again.
    """

    fact: str
    quote: str
    reason: DropReason
    detail: str = ""
    memory_id: str | None = None
    turn: int | None = None


@dataclass(frozen=True)
class DroppedValue:
    """A statement about a profile's field that has no effect; see `Dropped`."""

    schema_id: str
    field: str
    quote: str
    reason: FieldReason
    memory_id: str | None = None
    turn: int | None = None


@dataclass(frozen=True)
class Refused:
    """A refused decision of a model; `memory_id` is None if it names no memory of the prompt."""

    fact: str
    action: str
    memory_id: str | None
    text: str
    reason: RefusalReason


@dataclass(frozen=True)
class Unmet:
    """A request to forget that was not completely carried out; `nearest` has memory ids."""

    request: str
    reason: UnmetReason
    nearest: tuple[str, ...] = ()
    has_more: bool = False


def counted(outcomes: Iterable[Dropped | DroppedValue | Refused]) -> dict[str, int]:
    """Return the number of outcomes for each reason."""
    return dict(sorted(Counter(outcome.reason for outcome in outcomes).items()))


def fates(response: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of memories in a response by action, for the operation's metadata."""
    counts = Counter(
        str(generated["action"]) for generated in response.get("generatedMemories", ())
    )
    return {f"{action.lower()}Count": counts[action] for action in sorted(counts)}


_NOT_DOUBTED = frozenset({"OFF_TOPIC", "FORGOTTEN", "OLDER", "ALREADY_READ", "UNREADABLE"})
"""Reasons to drop a fact that do not put in question that the user stated and meant it."""


def sums(
    dropped: Sequence[Dropped], refused: Sequence[Refused], fields: Sequence[DroppedValue] = ()
) -> dict[str, Any]:
    """Return the counts for the operation's metadata, without zeros."""
    off_topic = sum(fact.reason == "OFF_TOPIC" for fact in dropped)
    unsupported = sum(fact.reason not in _NOT_DOUBTED for fact in dropped)
    counts = {
        "unsupportedFactCount": unsupported,
        "offTopicFactCount": off_topic,
        "refusedVerdictCount": len(refused),
        "droppedFactCounts": counted(dropped),
        "droppedFieldCounts": counted(fields),
        "refusedDecisionCounts": counted(refused),
    }
    return {name: value for name, value in counts.items() if value}


def count_fitting(sizes: Iterable[int], most: int) -> int:
    """Return the number of leading sizes whose sum stays within a bound."""
    return sum(1 for _ in takewhile(lambda total: total <= most, accumulate(sizes)))


def response_of_both(own: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response of a round joined with the response of the rounds before."""
    generated = [memory for part in (earlier, own) for memory in part.get(GENERATED, [])]
    return {**earlier, **own, **({GENERATED: generated} if generated else {})}


def together(own: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata joined with the metadata of the earlier rounds: counts, costs, lists."""
    joined = {key: _join(value, earlier[key]) for key, value in own.items() if key in earlier}
    sums = {key: value for key, value in joined.items() if value is not None}
    return {**costs.with_earlier(own, earlier), **sums}


def _join(own: object, earlier: object) -> object:
    """Return two counts, maps of counts, sources or lists as one, or None for other values."""
    match own, earlier:
        case {"events": {"last": last}}, {"session": session, "events": {"first": first}}:
            return {"session": session, "events": {"first": first, "last": last}}
        case int(), int() if not isinstance(own, bool):
            return own + earlier
        case dict(), dict() if all(
            type(count) is int for count in (*own.values(), *earlier.values())
        ):
            return dict(Counter(own) + Counter(earlier))
        case list(), list():
            return [*earlier, *own]
        case _:
            return None

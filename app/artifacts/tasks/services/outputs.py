"""Decides what becomes of a tool's output: prompt, store, or neither (pure).

No error tells anything of the content: it names the kind, the place, and what would be accepted.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from app.artifacts.tasks.logic.kinds import PASSING, STORABLE, Disposition, Kind, OffPrompt
from app.artifacts.tasks.schemas import Output, Passed
from app.kernel import media_types
from app.kernel.errors import FieldViolation, InvalidArgument, Reason
from app.kernel.media_types import MediaType
from app.language.chunking import tokens_in, tokens_of

EMPTY_TEXT = "The output of the tool is empty."
_STRICTNESS = tuple(OffPrompt)
_JOINER = "\n\n"
_FIELD = "output"


@dataclass(frozen=True)
class Limits:
    """What the service takes.

    Attributes:
        storable: the kinds that it stores.
        max_passing_bytes: of all that an output says for the prompt, as information or error.
        max_elements: of a list, and of artifacts that are stored at once.
    """

    storable: frozenset[Kind] = STORABLE
    max_inline_tokens: int = 1_000
    max_passing_bytes: int = 4_096
    max_elements: int = 1_000


@dataclass(frozen=True)
class Wishes:
    """What a policy, or a request, says of outputs; None: nothing."""

    off_prompt: OffPrompt | None = None
    sensitive: bool | None = None
    ttl: timedelta | None = None
    max_inline_tokens: int | None = None


@dataclass(frozen=True)
class Handling:
    """What holds for an output; `ttl` None: as the service is set."""

    off_prompt: OffPrompt
    sensitive: bool
    ttl: timedelta | None
    max_inline_tokens: int


@dataclass(frozen=True)
class Item:
    """What is stored as one artifact.

    Attributes:
        name: chosen by the caller; None: one is to be made.
        index: its place in the list, from 0.
        tokens: a quarter of its characters, or of its bytes if it is a blob.
    """

    kind: Kind
    media_type: str
    data: bytes
    tokens: int
    name: str | None
    index: int
    text: str | None = None


@dataclass(frozen=True)
class Decided:
    """What becomes of an output.

    Attributes:
        prompt_text: what to put into the prompt; with `STORED`, that is the reference's text.
        items: what to store, in order.
        passed: what is for the prompt beside the reference.
    """

    disposition: Disposition
    prompt_text: str = ""
    items: Sequence[Item] = ()
    passed: Sequence[Passed] = ()


def handling(policy: Wishes, request: Wishes, limits: Limits) -> Handling:
    """Return what holds for an output by the policy of its tool and by the request.

    The request goes before the policy. Of one that is sensitive it can only tighten: what is
    stricter of both holds, and the shorter life.
    """
    off_prompt = request.off_prompt or policy.off_prompt or OffPrompt.NEVER
    ttl = request.ttl if request.ttl is not None else policy.ttl
    if policy.sensitive:
        off_prompt = max(off_prompt, policy.off_prompt or off_prompt, key=_STRICTNESS.index)
        ttl = min((one for one in (request.ttl, policy.ttl) if one is not None), default=None)
    most = policy.max_inline_tokens
    return Handling(
        off_prompt=off_prompt,
        sensitive=bool(policy.sensitive or request.sensitive),
        ttl=ttl,
        max_inline_tokens=limits.max_inline_tokens if most is None else most,
    )


def decide(output: Output, held: Handling, limits: Limits) -> Decided:
    """Say what becomes of an output. What is sensitive is stored, whatever else is said.

    Raises:
        InvalidArgument: it is of a kind that is not taken, holds a list in a list, more elements
            than are taken, two of one name, or more for the prompt than may pass.
    """
    elements = _elements(output, limits)
    passed = [
        Passed(kind=Kind(one.kind), index=_index(output, place), text=one.text or "")
        for place, one in enumerate(elements)
        if one.kind in PASSING
    ]
    _check_passed(passed, limits)
    items = [_item(one, place) for place, one in enumerate(elements) if one.kind not in PASSING]
    if all(_is_blank(one) for one in items):
        told = _JOINER.join(one.text for one in passed if one.text.strip())
        return Decided(Disposition.PASSTHROUGH if told else Disposition.EMPTY, told or EMPTY_TEXT)
    if not _is_stored(items, held):
        return Decided(Disposition.INLINE, _JOINER.join(map(_shown, elements)))
    _check_storable(items, limits, _place_of(output))
    return Decided(Disposition.STORED, items=_named_apart(items, _place_of(output)), passed=passed)


def items_of(artifacts: Sequence[Output], limits: Limits) -> list[Item]:
    """Return what is to be stored of artifacts that are sent to be.

    Raises:
        InvalidArgument: as for `decide`; information and errors are not stored, either.
    """
    field = "artifacts"
    _check_number(artifacts, limits, field)
    for place, one in enumerate(artifacts):
        if one.kind == Kind.LIST:
            raise _nested(f"{field}[{place}]", place)
        if one.kind not in limits.storable:
            raise _unsupported(one.kind, f"{field}[{place}]", place, limits)
    return _named_apart([_item(one, place) for place, one in enumerate(artifacts)], field)


def _elements(output: Output, limits: Limits) -> Sequence[Output]:
    """Return what an output is made of: itself, if it is no list."""
    is_list = output.kind == Kind.LIST
    elements = output.elements or [] if is_list else [output]
    _check_number(elements, limits, f"{_FIELD}.elements")
    for place, one in enumerate(elements):
        index = place if is_list else None
        field = f"{_FIELD}.elements[{place}]" if is_list else _FIELD
        if is_list and one.kind == Kind.LIST:
            raise _nested(field, place)
        if one.kind not in STORABLE | PASSING:
            raise _unsupported(one.kind, field, index, limits)
    return elements


def _check_number(elements: Sequence[Output], limits: Limits, field: str) -> None:
    if len(elements) > limits.max_elements:
        raise InvalidArgument.of_field(field, f"must be at most {limits.max_elements}.")


def _check_passed(passed: Iterable[Passed], limits: Limits) -> None:
    if sum(len(one.text.encode()) for one in passed) > limits.max_passing_bytes:
        description = (
            f"must have at most {limits.max_passing_bytes} bytes of info and error in all; what is"
            " longer can be stored as text."
        )
        violation = FieldViolation(_FIELD, description)
        message = f"{_FIELD}: {description}"
        raise InvalidArgument(message, Reason.INFO_TOO_LARGE, violations=[violation])


def _check_storable(items: Iterable[Item], limits: Limits, field: str) -> None:
    for one in items:
        if one.kind not in limits.storable:
            is_listed = field != _FIELD
            place = f"{field}[{one.index}]" if is_listed else field
            raise _unsupported(one.kind, place, one.index if is_listed else None, limits)


def _named_apart(items: list[Item], field: str) -> list[Item]:
    names: set[str] = set()
    for one in items:
        if one.name in names:
            place = f"{field}[{one.index}].name"
            raise InvalidArgument.of_field(place, "must be another than those before it.")
        names |= {one.name} if one.name else set()
    return items


def _nested(field: str, index: int) -> InvalidArgument:
    description = "must not be a list: a list holds texts, JSON, blobs, info and errors."
    return InvalidArgument(
        f"{field}: {description}",
        Reason.NESTED_LIST,
        violations=[FieldViolation(field, description)],
        metadata={"index": str(index)},
    )


def _unsupported(kind: str, field: str, index: int | None, limits: Limits) -> InvalidArgument:
    """Say which kind is refused; `kind` is one that may be repeated (`kinds.shown_kind`)."""
    stored = ", ".join(sorted(limits.storable)) or "nothing"
    description = f"is of kind {kind}, which is not stored here; {stored} can be."
    return InvalidArgument(
        f"{field}: {description}",
        Reason.UNSUPPORTED_ARTIFACT_TYPE,
        violations=[FieldViolation(f"{field}.kind", description)],
        metadata={"kind": kind} | ({} if index is None else {"index": str(index)}),
    )


def _place_of(output: Output) -> str:
    return f"{_FIELD}.elements" if output.kind == Kind.LIST else _FIELD


def _index(output: Output, place: int) -> int | None:
    return place if output.kind == Kind.LIST else None


def _item(output: Output, place: int) -> Item:
    kind = Kind(output.kind)
    if kind is Kind.BLOB:
        data = output.data or b""
        declared = output.media_type or media_types.BYTES
        return Item(kind, declared, data, tokens_in(len(data)), output.name, place)
    text = _text(output)
    declared = media_types.JSON if kind is Kind.JSON else output.media_type or media_types.TEXT
    # It came as text: whatever it was written in elsewhere, here it is UTF-8.
    essence = MediaType.parse(declared).essence
    return Item(kind, essence, text.encode(), tokens_of(text), output.name, place, text)


def _text(output: Output) -> str:
    if output.kind == Kind.JSON:
        return json.dumps(output.json_value, ensure_ascii=False, separators=(",", ":"))
    return output.text or ""


def _is_blank(item: Item) -> bool:
    return not (item.data if item.text is None else item.text.strip())


def _is_stored(items: Sequence[Item], held: Handling) -> bool:
    if held.sensitive or held.off_prompt is OffPrompt.ALWAYS:
        return True
    if held.off_prompt is OffPrompt.NEVER:
        return False
    is_long = sum(one.tokens for one in items) > held.max_inline_tokens
    return is_long or any(one.kind is Kind.BLOB for one in items)


def _shown(output: Output) -> str:
    """Return an output as a prompt shows it that it is not kept off: of a blob, what it is."""
    if output.kind == Kind.BLOB:
        declared = output.media_type or media_types.BYTES
        return f"[blob of {declared}, {len(output.data or b'')} bytes]"
    return _text(output)

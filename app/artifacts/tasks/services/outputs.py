"""Rules for routing a tool's output to the prompt, to storage, or to neither (pure).

Errors reveal no content: they give the kind, the position, and the accepted values.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from app.artifacts.tasks.logic import PASSING, STORABLE, Disposition, Kind, OffPrompt, chosen_name
from app.artifacts.tasks.schemas import Output, Passed
from app.kernel import media_types
from app.kernel.errors import FieldViolation, InvalidArgument, Reason
from app.kernel.media_types import MediaType
from app.language.tokens import estimate_tokens

EMPTY_TEXT = "The output of the tool is empty."
_STRICTNESS = tuple(OffPrompt)
_JOINER = "\n\n"
_FIELD = "output"


@dataclass(frozen=True)
class OutputLimits:
    """Limits of the service for outputs.

    Attributes:
        max_passing_bytes: maximum total size of an output's info and errors in the prompt.
        max_elements: maximum elements of a list, and maximum artifacts of one request.
    """

    storable: frozenset[Kind] = STORABLE
    max_inline_tokens: int = 1_000
    max_passing_bytes: int = 4_096
    max_elements: int = 1_000


@dataclass(frozen=True)
class OutputPreferences:
    """Handling requested by a policy or a request, or rules for readers; None: not specified."""

    off_prompt: OffPrompt | None = None
    sensitive: bool | None = None
    ttl: timedelta | None = None
    max_inline_tokens: int | None = None
    local_only: bool | None = None
    allowed_models: Sequence[str] | None = None
    readers: Sequence[str] | None = None


@dataclass(frozen=True)
class OutputPolicy:
    """Handling that applies to an output; `ttl` None: the configured default."""

    off_prompt: OffPrompt
    sensitive: bool
    ttl: timedelta | None
    max_inline_tokens: int


@dataclass(frozen=True)
class OutputItem:
    """Content to store as one artifact.

    Attributes:
        name: name chosen by the caller; None: the service generates one.
        tokens: estimate: a quarter of the characters, or of the bytes of a blob.
    """

    kind: Kind
    media_type: str
    data: bytes
    tokens: int
    name: str | None
    index: int
    text: str | None = None


@dataclass(frozen=True)
class OutputDecision:
    """Decision about an output.

    Attributes:
        prompt_text: text for the prompt; empty with `STORED`, as the reference has the text.
        passed: info and errors for the prompt, in addition to the reference.
    """

    disposition: Disposition
    prompt_text: str = ""
    items: Sequence[OutputItem] = ()
    passed: Sequence[Passed] = ()


def handling(
    policy: OutputPreferences, request: OutputPreferences, limits: OutputLimits
) -> OutputPolicy:
    """Return the handling of an output, combined from its tool's policy and the request.

    The request overrides the policy. For a sensitive tool it can only be stricter: the stricter
    rule and the shorter lifetime apply.
    """
    off_prompt = request.off_prompt or policy.off_prompt or OffPrompt.NEVER
    ttl = request.ttl if request.ttl is not None else policy.ttl
    if policy.sensitive:
        off_prompt = max(off_prompt, policy.off_prompt or off_prompt, key=_STRICTNESS.index)
        ttl = min((life for life in (request.ttl, policy.ttl) if life is not None), default=None)
    most = policy.max_inline_tokens
    return OutputPolicy(
        off_prompt=off_prompt,
        sensitive=bool(policy.sensitive or request.sensitive),
        ttl=ttl,
        max_inline_tokens=limits.max_inline_tokens if most is None else most,
    )


def decide(output: Output, held: OutputPolicy, limits: OutputLimits) -> OutputDecision:
    """Decide whether to show or store an output. Sensitive content is always stored.

    Raises:
        InvalidArgument: the output has an unsupported kind, a nested list, too many elements,
            duplicate names, or too much info and errors for the prompt.
    """
    elements = _elements(output, limits)
    passed = [
        Passed(kind=Kind(element.kind), index=_index(output, place), text=element.text or "")
        for place, element in enumerate(elements)
        if element.kind in PASSING
    ]
    _check_passed(passed, limits)
    items = [
        _item(element, place)
        for place, element in enumerate(elements)
        if element.kind not in PASSING
    ]
    if all(_is_blank(item) for item in items):
        joined = _JOINER.join(info.text for info in passed if info.text.strip())
        return OutputDecision(
            Disposition.PASSTHROUGH if joined else Disposition.EMPTY, joined or EMPTY_TEXT
        )
    if not _is_stored(items, held):
        return OutputDecision(Disposition.INLINE, _JOINER.join(map(_render_inline, elements)))
    _check_storable(items, limits, _place_of(output))
    return OutputDecision(
        Disposition.STORED, items=_with_unique_names(items, _place_of(output)), passed=passed
    )


def named_as(items: Sequence[OutputItem], name: str | None) -> Sequence[OutputItem]:
    """Return the items to store of an output, the only one with the name chosen for it.

    Raises:
        InvalidArgument: a name is chosen for several artifacts, or for one that has another name.
    """
    if name is None:
        return items
    if len(items) > 1:
        raise InvalidArgument.of_field(
            "as", f"names one artifact, and {len(items)} are stored; name each in its element."
        )
    if items[0].name is not None:
        raise InvalidArgument.of_field("as", "must be absent where the output has a name.")
    return [replace(items[0], name=chosen_name(name, items[0].media_type))]


def items_of(artifacts: Sequence[Output], limits: OutputLimits) -> list[OutputItem]:
    """Return the items to store for a request's artifacts; errors are as for `decide`."""
    field = "artifacts"
    _check_number(artifacts, limits, field)
    for place, artifact in enumerate(artifacts):
        if artifact.kind == Kind.LIST:
            raise _nested(f"{field}[{place}]", place)
        if artifact.kind not in limits.storable:
            raise _unsupported(artifact.kind, f"{field}[{place}]", place, limits)
    return _with_unique_names(
        [_item(artifact, place) for place, artifact in enumerate(artifacts)], field
    )


def _elements(output: Output, limits: OutputLimits) -> Sequence[Output]:
    is_list = output.kind == Kind.LIST
    elements = output.elements or [] if is_list else [output]
    _check_number(elements, limits, f"{_FIELD}.elements")
    for place, element in enumerate(elements):
        index = place if is_list else None
        field = f"{_FIELD}.elements[{place}]" if is_list else _FIELD
        if is_list and element.kind == Kind.LIST:
            raise _nested(field, place)
        if element.kind not in STORABLE | PASSING:
            raise _unsupported(element.kind, field, index, limits)
    return elements


def _check_number(elements: Sequence[Output], limits: OutputLimits, field: str) -> None:
    if len(elements) > limits.max_elements:
        raise InvalidArgument.of_field(field, f"must have at most {limits.max_elements} elements.")


def _check_passed(passed: Iterable[Passed], limits: OutputLimits) -> None:
    if sum(len(info.text.encode()) for info in passed) > limits.max_passing_bytes:
        description = (
            f"must have at most {limits.max_passing_bytes} bytes of info and error in all;"
            " longer ones can be stored as text."
        )
        violation = FieldViolation(_FIELD, description)
        message = f"{_FIELD}: {description}"
        raise InvalidArgument(message, Reason.INFO_TOO_LARGE, violations=[violation])


def _check_storable(items: Iterable[OutputItem], limits: OutputLimits, field: str) -> None:
    for item in items:
        if item.kind not in limits.storable:
            is_listed = field != _FIELD
            place = f"{field}[{item.index}]" if is_listed else field
            raise _unsupported(item.kind, place, item.index if is_listed else None, limits)


def _with_unique_names(items: list[OutputItem], field: str) -> list[OutputItem]:
    names: set[str] = set()
    for item in items:
        if item.name in names:
            place = f"{field}[{item.index}].name"
            raise InvalidArgument.of_field(
                place, "must be unique; an earlier artifact has the same name."
            )
        names |= {item.name} if item.name else set()
    return items


def _nested(field: str, index: int) -> InvalidArgument:
    description = "must not be a list: a list holds texts, JSON, blobs, info and errors."
    return InvalidArgument(
        f"{field}: {description}",
        Reason.NESTED_LIST,
        violations=[FieldViolation(field, description)],
        metadata={"index": str(index)},
    )


def _unsupported(kind: str, field: str, index: int | None, limits: OutputLimits) -> InvalidArgument:
    stored = ", ".join(sorted(limits.storable)) or "nothing"
    description = f"must be of a kind that is stored here ({stored}); got {kind}."
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


def _item(output: Output, place: int) -> OutputItem:
    kind = Kind(output.kind)
    if kind is Kind.BLOB:
        data = output.data or b""
        declared = output.media_type or media_types.BYTES
        return OutputItem(kind, declared, data, estimate_tokens(data), output.name, place)
    text = _text(output)
    declared = media_types.JSON if kind is Kind.JSON else output.media_type or media_types.TEXT
    # The declared charset is dropped: the text is stored as UTF-8.
    essence = MediaType.parse(declared).essence
    return OutputItem(kind, essence, text.encode(), estimate_tokens(text), output.name, place, text)


def _text(output: Output) -> str:
    if output.kind == Kind.JSON:
        return json.dumps(output.json_value, ensure_ascii=False, separators=(",", ":"))
    return output.text or ""


def _is_blank(item: OutputItem) -> bool:
    return not (item.data if item.text is None else item.text.strip())


def _is_stored(items: Sequence[OutputItem], held: OutputPolicy) -> bool:
    if held.sensitive or held.off_prompt is OffPrompt.ALWAYS:
        return True
    if held.off_prompt is OffPrompt.NEVER:
        return False
    is_long = sum(item.tokens for item in items) > held.max_inline_tokens
    return is_long or any(item.kind is Kind.BLOB for item in items)


def _render_inline(output: Output) -> str:
    """Return an output as inline text for a prompt; a blob is only described."""
    if output.kind == Kind.BLOB:
        declared = output.media_type or media_types.BYTES
        return f"[blob of {declared}, {len(output.data or b'')} bytes]"
    return _text(output)

"""What becomes of a tool's output: the table of dispositions, case by case."""

import base64
from datetime import timedelta
from typing import Any

import pytest

from app.artifacts.tasks.logic import Disposition, Kind, OffPrompt
from app.artifacts.tasks.schemas import Output
from app.artifacts.tasks.services.outputs import (
    EMPTY_TEXT,
    OutputDecision,
    OutputLimits,
    OutputPolicy,
    OutputPreferences,
    decide,
    handling,
    items_of,
)
from app.kernel.errors import InvalidArgument, Reason

CANARY = "canary-91b2"
OFF, ON, AUTO = OffPrompt.NEVER, OffPrompt.ALWAYS, OffPrompt.AUTO
LIMITS = OutputLimits()


def text(value: str = CANARY, **fields: Any) -> dict[str, Any]:
    return {"kind": "text", "text": value, **fields}


def blob(data: bytes = b"\x00\x01", **fields: Any) -> dict[str, Any]:
    return {"kind": "blob", "data": base64.b64encode(data).decode(), **fields}


def listed(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "list", "elements": list(elements)}


def held(off_prompt: OffPrompt, **fields: Any) -> OutputPolicy:
    given = {"sensitive": False, "ttl": None, "max_inline_tokens": 1_000, **fields}
    return OutputPolicy(off_prompt=off_prompt, **given)


def done(output: dict[str, Any], off_prompt: OffPrompt = ON, **fields: Any) -> OutputDecision:
    return decide(Output.model_validate(output), held(off_prompt, **fields), LIMITS)


def refused(
    output: dict[str, Any], limits: OutputLimits = LIMITS, off_prompt: OffPrompt = ON
) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as error:
        decide(Output.model_validate(output), held(off_prompt), limits)
    assert CANARY not in str(error.value.as_http_body())
    return error.value


def test_an_output_is_for_the_prompt_by_default() -> None:
    nothing = handling(OutputPreferences(), OutputPreferences(), LIMITS)
    assert nothing.off_prompt is OFF
    found = decide(Output.model_validate(text("111.108")), nothing, LIMITS)
    assert found == OutputDecision(Disposition.INLINE, "111.108")


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ({"kind": "json", "json": {"a": [1, "\u00e9"]}}, '{"a":[1,"\u00e9"]}'),
        (blob(b"12345", mediaType="image/png"), "[blob of image/png, 5 bytes]"),
        (blob(), "[blob of application/octet-stream, 2 bytes]"),
        (listed(text("a"), {"kind": "info", "text": "b"}, text("c")), "a\n\nb\n\nc"),
    ],
)
def test_what_stays_in_the_prompt_is_text(output: dict[str, Any], shown: str) -> None:
    assert done(output, OFF) == OutputDecision(Disposition.INLINE, shown)


def test_what_is_kept_off_is_stored_and_not_shown() -> None:
    found = done(text())
    assert found.disposition is Disposition.STORED
    assert found.prompt_text == ""
    (item,) = found.items
    assert item.data == CANARY.encode()
    assert (item.kind, item.media_type, item.index) == (Kind.TEXT, "text/plain", 0)


def test_items_bear_their_types_and_estimates() -> None:
    found = done(
        listed(
            text("\u00e9" * 5, mediaType="text/csv; charset=latin-1", name="t"),
            {"kind": "json", "json": {"a": 1}},
            blob(b"x" * 9),
        )
    )
    told = [(one.kind, one.media_type, one.tokens, len(one.data), one.name) for one in found.items]
    assert told == [
        # Its bytes are those of UTF-8 here, whatever it was before.
        ("text", "text/csv", 2, 10, "t"),
        ("json", "application/json", 2, 7, None),
        ("blob", "application/octet-stream", 3, 9, None),
    ]


@pytest.mark.parametrize(
    ("tokens", "expected"), [(999, "inline"), (1_000, "inline"), (1_001, "stored")]
)
def test_auto_goes_by_length(tokens: int, expected: str) -> None:
    assert done(text("x" * (4 * tokens)), AUTO).disposition == expected
    halves = listed(text("x" * (2 * tokens)), text("x" * (2 * tokens)))
    assert done(halves, AUTO).disposition == expected


def test_auto_stores_what_is_no_text_and_what_is_sensitive() -> None:
    assert done(blob(), AUTO).disposition == "stored"
    assert done(listed(text("a"), blob()), AUTO).disposition == "stored"
    assert done(text("a"), AUTO, sensitive=True).disposition == "stored"
    assert done({"kind": "json", "json": {}}, AUTO).disposition == "inline"
    assert done(text("abcde"), AUTO, max_inline_tokens=1).disposition == "stored"


def test_what_is_sensitive_is_stored_whatever_is_said() -> None:
    assert done(text("a"), OFF, sensitive=True).disposition == "stored"


@pytest.mark.parametrize("kind", ["info", "error"])
@pytest.mark.parametrize("off_prompt", list(OffPrompt))
def test_information_and_errors_pass(kind: str, off_prompt: OffPrompt) -> None:
    found = done({"kind": kind, "text": "x" * 4_096}, off_prompt, sensitive=True)
    assert found == OutputDecision(Disposition.PASSTHROUGH, "x" * 4_096)


@pytest.mark.parametrize(
    "output",
    [
        {"kind": "info", "text": CANARY + "x" * 4_096},
        {"kind": "error", "text": "\u00e9" * 2_049},
        listed(*[{"kind": "info", "text": CANARY * 100}] * 4),
    ],
)
def test_information_is_no_side_door_for_data(output: dict[str, Any]) -> None:
    assert refused(output).reason is Reason.INFO_TOO_LARGE
    assert refused(output, off_prompt=OFF).reason is Reason.INFO_TOO_LARGE


@pytest.mark.parametrize(
    "output",
    [text(""), text(" \n\t"), listed(), listed(text(""), text(" ")), blob(b""), listed(blob(b""))],
)
@pytest.mark.parametrize("off_prompt", list(OffPrompt))
def test_what_is_empty_is_told_to_be(output: dict[str, Any], off_prompt: OffPrompt) -> None:
    assert done(output, off_prompt) == OutputDecision(Disposition.EMPTY, EMPTY_TEXT)


def test_elements_are_stored_in_order_and_equal_ones_each() -> None:
    found = done(listed(text("one"), text("two"), text("one")))
    assert [one.data for one in found.items] == [b"one", b"two", b"one"]


def test_information_in_a_list_comes_beside_what_is_stored() -> None:
    found = done(
        listed(text("one"), {"kind": "info", "text": "i"}, text(""), {"kind": "error", "text": "e"})
    )
    assert [one.data for one in found.items] == [b"one", b""]
    assert [one.index for one in found.items] == [0, 2]
    assert [(one.kind, one.index, one.text) for one in found.passed] == [
        ("info", 1, "i"),
        ("error", 3, "e"),
    ]


def test_a_list_of_information_only_passes() -> None:
    found = done(listed({"kind": "info", "text": "a"}, {"kind": "error", "text": "b"}, text(" ")))
    assert found == OutputDecision(Disposition.PASSTHROUGH, "a\n\nb")


@pytest.mark.parametrize("off_prompt", list(OffPrompt))
def test_a_list_in_a_list_is_refused(off_prompt: OffPrompt) -> None:
    error = refused(listed(text(), listed(text())), off_prompt=off_prompt)
    assert error.reason is Reason.NESTED_LIST
    assert error.metadata == {"index": "1"}
    assert error.violations[0].field == "output.elements[1]"


def test_a_kind_that_is_not_stored_is_refused() -> None:
    only_text = OutputLimits(storable=frozenset({Kind.TEXT}))
    error = refused(blob(CANARY.encode()), only_text)
    assert error.reason is Reason.UNSUPPORTED_ARTIFACT_TYPE
    assert error.metadata == {"kind": "blob"}
    assert error.violations[0].field == "output.kind"
    # In a prompt it would be harmless: it is no question of storing there.
    assert done(blob(), OFF).disposition == "inline"


@pytest.mark.parametrize("bad", [blob(CANARY.encode()), {"kind": "json", "json": CANARY}])
@pytest.mark.parametrize("off_prompt", [ON, AUTO])
def test_one_bad_element_is_named_and_refuses_the_whole_list(
    bad: dict[str, Any], off_prompt: OffPrompt
) -> None:
    only_text = OutputLimits(storable=frozenset({Kind.TEXT}), max_inline_tokens=0)
    with pytest.raises(InvalidArgument) as error:
        decide(
            Output.model_validate(listed(text(), bad)),
            held(off_prompt, max_inline_tokens=0),
            only_text,
        )
    assert error.value.metadata == {"kind": bad["kind"], "index": "1"}
    assert error.value.violations[0].field == "output.elements[1].kind"
    assert CANARY not in str(error.value.as_http_body())


@pytest.mark.parametrize("off_prompt", list(OffPrompt))
def test_a_strange_kind_is_refused_and_only_repeated_if_it_is_a_known_one(
    off_prompt: OffPrompt,
) -> None:
    known = refused(listed(text(), {"kind": "image", "url": CANARY}), off_prompt=off_prompt)
    assert known.metadata == {"kind": "image", "index": "1"}
    unknown = refused({"kind": CANARY, CANARY: CANARY}, off_prompt=off_prompt)
    assert unknown.metadata == {"kind": "unknown"}
    assert unknown.reason is Reason.UNSUPPORTED_ARTIFACT_TYPE


def test_a_list_has_an_end() -> None:
    assert len(done(listed(*[text("x")] * 1_000)).items) == 1_000
    error = refused(listed(*[text()] * 1_001))
    assert error.violations[0].field == "output.elements"


def test_names_are_taken_once() -> None:
    error = refused(listed(text(name="a"), text(), text(name="a")))
    assert error.violations[0].field == "output.elements[2].name"
    assert len(done(listed(text(name="a"), text(name="b"))).items) == 2


def test_a_request_goes_before_a_policy() -> None:
    policy = OutputPreferences(off_prompt=ON, ttl=timedelta(hours=1), max_inline_tokens=7)
    found = handling(policy, OutputPreferences(off_prompt=OFF, ttl=timedelta(days=9)), LIMITS)
    assert found == OutputPolicy(OFF, sensitive=False, ttl=timedelta(days=9), max_inline_tokens=7)
    assert handling(policy, OutputPreferences(), LIMITS).off_prompt is ON
    assert handling(OutputPreferences(), OutputPreferences(sensitive=True), LIMITS).sensitive
    assert handling(OutputPreferences(), OutputPreferences(), LIMITS).max_inline_tokens == 1_000


@pytest.mark.parametrize(
    ("policys", "requests", "expected"),
    [(OFF, ON, ON), (ON, OFF, ON), (AUTO, OFF, AUTO), (AUTO, ON, ON), (None, OFF, OFF)],
)
def test_a_sensitive_policy_is_tightened_and_not_loosened(
    policys: OffPrompt | None, requests: OffPrompt, expected: OffPrompt
) -> None:
    policy = OutputPreferences(off_prompt=policys, sensitive=True, ttl=timedelta(hours=2))
    loose = OutputPreferences(off_prompt=requests, sensitive=False, ttl=timedelta(hours=3))
    found = handling(policy, loose, LIMITS)
    assert found.off_prompt is expected
    assert found.sensitive
    assert found.ttl == timedelta(hours=2)
    strict = OutputPreferences(ttl=timedelta(hours=1))
    assert handling(policy, strict, LIMITS).ttl == timedelta(hours=1)


def test_artifacts_that_are_sent_to_be_stored_are() -> None:
    sent = [Output.model_validate(one) for one in (text("a"), blob(b"b"), text(" "))]
    assert [one.data for one in items_of(sent, LIMITS)] == [b"a", b"b", b" "]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"kind": "info", "text": CANARY}, Reason.UNSUPPORTED_ARTIFACT_TYPE),
        ({"kind": "error", "text": CANARY}, Reason.UNSUPPORTED_ARTIFACT_TYPE),
        ({"kind": "image"}, Reason.UNSUPPORTED_ARTIFACT_TYPE),
        (listed(text()), Reason.NESTED_LIST),
    ],
)
def test_what_cannot_be_an_artifact_is_refused(bad: dict[str, Any], reason: Reason) -> None:
    sent = [Output.model_validate(one) for one in (text(), bad)]
    with pytest.raises(InvalidArgument) as error:
        items_of(sent, LIMITS)
    assert error.value.reason is reason
    assert error.value.metadata["index"] == "1"
    assert CANARY not in str(error.value.as_http_body())

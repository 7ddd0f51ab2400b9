"""What callers send to task memory: what is read, and errors that tell nothing of it."""

from typing import Any

import pytest
from pydantic import ValidationError

from app.artifacts.readers.schemas import QueryNamespaceRequest, SummarizeNamespaceRequest
from app.artifacts.tasks.logic import OffPrompt
from app.artifacts.tasks.schemas import (
    ExportNamespaceRequest,
    Output,
    ProcessOutputRequest,
    StoreArtifactsRequest,
    ToolPolicy,
    UpdateToolPolicyRequest,
)
from app.kernel.wire.base import WireModel
from app.kernel.wire.violations import invalid_fields

CANARY = "canary-6f1d"
TEXT = {"kind": "text", "text": CANARY}


def sent(**fields: Any) -> dict[str, Any]:
    return {"tool": "web", "activity": "fetch", "output": TEXT, **fields}


def refused(model: type[WireModel], body: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as error:
        model.model_validate(body)
    told = invalid_fields(error.value.errors())
    return f"{told.message} {told.details()}"


def test_both_spellings_are_read() -> None:
    camel = ProcessOutputRequest.model_validate(sent(offPrompt="auto", callId="1"))
    assert camel == ProcessOutputRequest.model_validate(sent(off_prompt="auto", call_id="1"))
    assert camel.off_prompt is OffPrompt.AUTO


@pytest.mark.parametrize(
    ("value", "read", "written"),
    [(True, OffPrompt.ALWAYS, True), (False, OffPrompt.NEVER, False), ("auto", "auto", "auto")],
)
def test_off_prompt_is_a_truth_value_or_auto(value: object, read: object, written: object) -> None:
    policy = UpdateToolPolicyRequest.model_validate({"offPrompt": value})
    assert policy.off_prompt == read
    assert policy.wire()["offPrompt"] == written


@pytest.mark.parametrize("value", ["yes", 1, None, "", ["auto"], {"auto": 1}, 0.5])
def test_other_values_of_off_prompt_are_refused(value: object) -> None:
    told = refused(UpdateToolPolicyRequest, {"offPrompt": value})
    assert 'must be true, false or "auto"' in told


def test_a_policy_is_off_by_default() -> None:
    policy = UpdateToolPolicyRequest.model_validate({"name": "x", "updateTime": "y"})
    assert policy.off_prompt is OffPrompt.NEVER
    assert not policy.sensitive
    assert "etag" in ToolPolicy.model_fields


@pytest.mark.parametrize(
    "body",
    [
        sent(tool=f"{CANARY} tool"),
        sent(namespace=".."),
        sent(namespace=f"{CANARY}/x"),
        sent(activity=CANARY * 20),
        sent(**{CANARY: 1}),
        sent(ttl=CANARY),
        sent(sensitive=CANARY),
        sent(allowedModels=[CANARY, ""]),
        sent(output={"kind": "text", "text": CANARY, CANARY: CANARY}),
        sent(output={"kind": "text", "data": CANARY}),
        sent(output={"kind": "blob", "data": f"{CANARY}%"}),
        sent(output={"kind": "blob", "text": CANARY}),
        sent(output={"kind": "json", "text": CANARY}),
        sent(output={"kind": "list", "elements": [{"text": CANARY}]}),
        sent(output={"kind": "list", "elements": CANARY}),
        sent(output={"kind": "text", "text": 1, "mediaType": CANARY}),
        sent(output=CANARY),
        {"tool": "web", "output": TEXT},
    ],
)
def test_errors_do_not_repeat_what_was_sent(body: dict[str, Any]) -> None:
    told = refused(ProcessOutputRequest, body)
    assert CANARY not in told


def test_an_unknown_field_is_refused_by_telling_which_there_are() -> None:
    told = refused(UpdateToolPolicyRequest, {CANARY: True})
    assert "has a field that this message does not have" in told
    assert "maxInlineTokens" in told


@pytest.mark.parametrize(
    "output",
    [
        {"kind": "text", "text": "x", "name": "a.b-c_d", "mediaType": "Text/CSV"},
        {"kind": "json", "json": None},
        {"kind": "json", "json": {"a": [1, None]}, "name": "a"},
        {"kind": "blob", "data": "AAEC", "media_type": "image/png"},
        {"kind": "list", "elements": []},
        {"kind": "info", "text": "done"},
        {"kind": "error", "text": "failed"},
    ],
)
def test_each_kind_has_its_own_field(output: dict[str, Any]) -> None:
    assert Output.model_validate(output).kind == output["kind"]


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ({"kind": "text"}, "must have text where its kind is text"),
        ({"kind": "json"}, "must have json where its kind is json"),
        ({"kind": "text", "text": "x", "json": 1}, "nothing else"),
        ({"kind": "info", "text": "x", "name": "n"}, "nothing else"),
        ({"kind": "json", "json": 1, "mediaType": "text/csv"}, "and may have name; nothing else"),
        ({"kind": "list", "elements": [], "text": "x"}, "nothing else"),
        ({"text": "x"}, "is required"),
        ({"kind": 5}, "string"),
    ],
)
def test_fields_of_other_kinds_are_refused(output: dict[str, Any], told: str) -> None:
    assert told in refused(Output, output)


def test_a_strange_kind_is_left_to_whoever_knows_its_place() -> None:
    found = Output.model_validate({"kind": "image", "url": CANARY, CANARY: 1})
    assert found.kind == "image"
    assert Output.model_validate({"kind": CANARY}).kind == "unknown"


def test_media_types_are_checked_and_made_plain() -> None:
    found = Output.model_validate(
        {"kind": "text", "text": "x", "mediaType": 'Text/Plain; a=b; Charset="UTF-8"'}
    )
    assert found.media_type == "text/plain; charset=utf-8"


def test_artifacts_to_store_are_at_least_one() -> None:
    assert "artifacts" in refused(StoreArtifactsRequest, {"artifacts": []})
    assert StoreArtifactsRequest.model_validate({"artifacts": [TEXT]}).artifacts[0].text == CANARY


def test_a_query_has_words() -> None:
    for query in ("", "  \n ", "x" * 4_097):
        assert "query" in refused(QueryNamespaceRequest, {"query": query})
    found = QueryNamespaceRequest.model_validate({"query": "x"})
    assert not found.off_prompt
    assert found.answer_tokens == 400


@pytest.mark.parametrize(
    "template",
    [
        "no place",
        "{text} {text}",
        "{text.__class__}",
        "{text!r}",
        "{text:>9}",
        "{",
        "{0}",
        "{text}{x}",
    ],
)
def test_a_template_has_the_text_once_and_no_place_but_those_known(template: str) -> None:
    assert "template" in refused(SummarizeNamespaceRequest, {"template": template})


def test_a_summary_is_wanted_by_instructions_or_by_a_template() -> None:
    good = "Make {char_limit} of {text} after {previous_summary}"
    assert SummarizeNamespaceRequest.model_validate({"template": good}).template == good
    both = {"template": good, "instructions": "short"}
    assert "at most one of" in refused(SummarizeNamespaceRequest, both)


@pytest.mark.parametrize(
    "directory", ["..", "a/../b", "/a", "a//b", "a/", "", "a\\b", "a/.", "a b", "x" * 600]
)
def test_no_path_leads_out_of_a_sink(directory: str) -> None:
    told = refused(ExportNamespaceRequest, {"sink": "out", "directory": directory})
    assert "directory" in told


def test_a_path_in_a_sink_is_names() -> None:
    body = {"sink": "out", "directory": "2026/november"}
    assert ExportNamespaceRequest.model_validate(body).directory == "2026/november"

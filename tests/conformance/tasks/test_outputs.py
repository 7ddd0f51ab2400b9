"""T1, T2, T8 to T12, T14, T16: what becomes of outputs. Source: design of task memory, 1.4."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.kernel.errors import Reason
from tests.support.bank import Json, ok
from tests.support.errors import BAD_FIELD, refusal
from tests.support.task_desk import AGENT, Desk, Models, Service, serving, shown
from tests.support.tasks import NOTHING

ADDRESS = "111.108.7.42 is the address of the printer on the third floor."


def _text(content: str, **said: str) -> Json:
    return {"kind": "text", "text": content, **said}


def _blob(content: bytes) -> Json:
    return {"kind": "blob", "data": base64.b64encode(content).decode()}


def _bad(reason: Reason) -> tuple[int, str, Reason]:
    return (400, "INVALID_ARGUMENT", reason)


def test_t1_an_output_is_for_the_prompt_by_default(desk: Desk) -> None:
    answer = ok(desk.process(_text(ADDRESS)))
    assert (answer["disposition"], answer["promptText"]) == ("inline", ADDRESS)
    assert "reference" not in answer
    assert desk.rows() == NOTHING


def test_t2_off_the_prompt_only_a_reference_reaches_the_model(
    desk: Desk, canary: str, models: Models
) -> None:
    with desk.holding(*AGENT) as agent:
        processed = desk.process(
            _text(f"The code is {canary}."), agent, offPrompt=True, callId="call-1"
        )
        answer = ok(processed)
        place = desk.namespace(answer["reference"]["namespace"])
        reads = [place, f"{place}/artifacts", desk.memory, f"{desk.memory}/namespaces"]
        reads += [f"{place}/artifacts/{one['name']}" for one in answer["reference"]["artifacts"]]
        seen = [processed, *map(agent.get, reads)]
    assert [one.status_code for one in seen] == [200] * 6
    assert [one for one in seen if canary in shown(one)] == []
    assert canary not in desk.service.lines
    assert '"event": "request"' in desk.service.lines
    told = answer["promptText"]
    assert answer["disposition"] == "stored"
    assert len(told) <= 400
    size = len(f"The code is {canary}.")
    named = ("web", "fetch", "tools", answer["reference"]["namespace"])
    for one in (*named, "1 artifact", "text/plain", f"{size} bytes", "query", "export"):
        assert one in told
    assert desk.rows()["task_artifacts"] == 1
    assert models.embedding.seen == models.main.seen == []


def test_t2_its_text_stays_short_whatever_the_names_are(desk: Desk) -> None:
    long = "n" * 128
    memory = f"{desk.engine}/taskMemories/{long}"
    body = {
        "tool": "t" * 128,
        "activity": "a" * 128,
        "namespace": long,
        "offPrompt": True,
        "output": _text("x", media_type=f"text/{'m' * 60}"),
    }
    answer = ok(desk.http.post(f"{memory}:processOutput", json=body))
    assert len(answer["promptText"]) <= 400
    assert answer["promptText"].count(long) == 2


@pytest.fixture(scope="module")
def texts_alone(folder: Path, service: Service) -> Iterator[Service]:
    """A service that stores texts, and nothing else, beside the other."""
    settings = {"EMBEDDER": "hash", "TASK_STORABLE": '["text"]'}
    with serving(folder / "b", service.database_url, **settings) as found:
        yield found


@pytest.fixture
def texts_desk(texts_alone: Service) -> Iterator[Desk]:
    with texts_alone.admin as http:
        yield Desk.of(texts_alone, http)


def test_t8_another_kind_is_refused_and_does_not_come_back(texts_desk: Desk, canary: str) -> None:
    desk, place = texts_desk, texts_desk.namespace("n")
    document = {"kind": "json", "json": {"code": canary}}
    png = {"Content-Type": "image/png"}
    refused = [
        desk.process(_blob(canary.encode()), offPrompt=True),
        desk.process(document, offPrompt=True),
        desk.process(_blob(canary.encode()), offPrompt="auto"),
        desk.http.post(f"{place}:store", json={"artifacts": [document]}),
        desk.http.put(f"{place}/artifacts/a", content=canary.encode(), headers=png),
    ]
    for answer in refused:
        assert refusal(answer) == _bad(Reason.UNSUPPORTED_ARTIFACT_TYPE)
        assert canary not in shown(answer)
        assert base64.b64encode(canary.encode()).decode() not in shown(answer)
    assert desk.rows() == NOTHING
    assert canary not in desk.service.lines
    assert ok(desk.process(_text(canary), offPrompt=True))["disposition"] == "stored"


@pytest.mark.parametrize("kind", ["info", "error"])
def test_t9_information_and_errors_are_never_stored(desk: Desk, kind: str) -> None:
    answer = ok(desk.process({"kind": kind, "text": "3 files written."}, offPrompt=True))
    assert (answer["disposition"], answer["promptText"]) == ("passthrough", "3 files written.")
    edge = desk.process({"kind": kind, "text": "é" * 2_048}, offPrompt=True)
    assert ok(edge)["disposition"] == "passthrough"
    longer = desk.process({"kind": kind, "text": "é" * 2_048 + "x"}, offPrompt=True)
    assert refusal(longer) == _bad(Reason.INFO_TOO_LARGE)
    assert desk.rows() == NOTHING


def test_t10_all_elements_of_a_list_are_stored_in_their_order(desk: Desk) -> None:
    elements = [_text(one) for one in ("tea", "coffee", "tea")]
    answer = ok(desk.process({"kind": "list", "elements": elements}, offPrompt=True))
    assert answer["reference"]["count"] == 3
    place = desk.namespace(answer["reference"]["namespace"])
    names = [one["name"] for one in answer["reference"]["artifacts"]]
    assert len(set(names)) == 3
    stored = [desk.http.get(f"{place}/artifacts/{one}/content").text for one in names]
    assert stored == ["tea", "coffee", "tea"]


@pytest.mark.parametrize("kind", ["action", "boolean", "nobody-knows", "url"])
def test_t11_a_list_is_refused_whole_for_one_element(desk: Desk, canary: str, kind: str) -> None:
    elements = [_text(canary), {"kind": kind, "text": canary}]
    answer = desk.process({"kind": "list", "elements": elements}, offPrompt=True)
    assert refusal(answer) == _bad(Reason.UNSUPPORTED_ARTIFACT_TYPE)
    assert answer.json()["error"]["details"][0]["metadata"]["index"] == "1"
    assert canary not in shown(answer)
    assert desk.rows() == NOTHING


def test_t11_so_is_one_with_a_list_in_it(desk: Desk, canary: str) -> None:
    inner = {"kind": "list", "elements": [_text(canary)]}
    answer = desk.process({"kind": "list", "elements": [_text("tea"), inner]}, offPrompt=True)
    assert refusal(answer) == _bad(Reason.NESTED_LIST)
    assert canary not in shown(answer)
    assert desk.rows() == NOTHING


@pytest.mark.parametrize("output", [_text(" \n\t "), {"kind": "list", "elements": []}])
def test_what_is_empty_is_told_and_not_stored(desk: Desk, output: Json) -> None:
    answer = ok(desk.process(output, offPrompt=True))
    assert answer["disposition"] == "empty"
    assert answer["promptText"].strip()
    assert desk.rows() == NOTHING


def test_t12_who_has_no_reader_is_warned(desk: Desk) -> None:
    with desk.holding("artifacts.write") as writer:
        assert ok(desk.process(_text("tea"), writer, offPrompt=True))["warnings"] == ["no_reader"]
    with desk.holding(*AGENT) as agent:
        assert "warnings" not in ok(desk.process(_text("tea"), agent, offPrompt=True))
        picture = _blob(b"\x89PNG\r\n\x1a\n\x00\x01")
        assert ok(desk.process(picture, agent, offPrompt=True))["warnings"] == ["no_reader"]


@pytest.mark.parametrize(
    ("tokens", "disposition"), [(999, "inline"), (1_000, "inline"), (1_001, "stored")]
)
def test_t14_with_auto_what_is_long_is_stored(desk: Desk, tokens: int, disposition: str) -> None:
    answer = ok(desk.process(_text("word" * tokens), offPrompt="auto"))
    assert answer["disposition"] == disposition
    assert desk.rows()["task_artifacts"] == (disposition == "stored")


def test_t14_with_auto_what_is_sensitive_or_no_text_is_stored(desk: Desk) -> None:
    assert ok(desk.process(_blob(b"\x00\x01"), offPrompt="auto"))["disposition"] == "stored"
    short = desk.process(_text("tea"), offPrompt="auto", sensitive=True)
    assert ok(short)["disposition"] == "stored"


def test_a_request_can_tighten_a_sensitive_policy_and_not_loosen_it(desk: Desk) -> None:
    policy = {"offPrompt": True, "sensitive": True, "ttl": "600s"}
    ok(desk.http.put(f"{desk.memory}/toolPolicies/web", json=policy))
    answer = ok(desk.process(_text("tea"), offPrompt=False, sensitive=False, ttl="6000s"))
    assert answer["disposition"] == "stored"
    place = desk.namespace(answer["reference"]["namespace"])
    kept = ok(desk.http.get(place))
    assert kept["sensitive"] is True
    again = ok(desk.process(_text("tea"), ttl="60s"))
    shorter = ok(desk.http.get(desk.namespace(again["reference"]["namespace"])))
    assert shorter["createTime"] > kept["createTime"]
    assert shorter["expireTime"] < kept["expireTime"]


@pytest.mark.parametrize("missing", ["tool", "activity", "output", "kind", "text"])
def test_t16_a_body_that_lacks_a_field_is_not_repeated(
    desk: Desk, canary: str, missing: str
) -> None:
    output = {"kind": "text", "text": canary}
    output.pop(missing, None)
    if "text" not in output:
        output["name"] = canary
    body = {"tool": "web", "activity": "fetch", "callId": canary, "output": output}
    body.pop(missing, None)
    answer = desk.http.post(f"{desk.memory}:processOutput", content=json.dumps(body))
    assert refusal(answer) == BAD_FIELD
    assert canary not in shown(answer)
    assert missing in answer.text
    assert canary not in desk.service.lines
    assert desk.rows() == NOTHING

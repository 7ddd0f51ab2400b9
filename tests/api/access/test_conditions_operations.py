"""Operations and request ids by keys that are bound to scopes: issue 4, section 1."""

from collections.abc import Mapping

import httpx
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from tests.support.bank import ENGINE_URL, GONE, Json, id_of, ok, refusal
from tests.support.bound import SCOPES, Bound, assert_alike, bound_client
from tests.support.cases import in_one_test
from tests.support.engines import update_engine
from tests.support.generation import said
from tests.support.operations import path_of

DENIED = (403, "PERMISSION_DENIED")


async def _named(client: httpx.AsyncClient, **params: str | int) -> list[str]:
    page = ok(await client.get("/operations", params=params))
    return [id_of(one) for one in page["operations"]]


async def _of_each_scope(bank: httpx.AsyncClient) -> dict[str, str]:
    """Start a generation in each scope; return the ids of the operations that wait."""
    started = {
        memory_id: await bank.post("/memories:generate", json={"scope": scope, **said("Hello.")})
        for memory_id, scope in SCOPES.items()
    }
    return {memory_id: id_of(ok(answer)) for memory_id, answer in started.items()}


async def test_a_list_has_what_the_key_sees(bound: Bound, bank: httpx.AsyncClient) -> None:
    await update_engine(bank, "reasoningEngines/1", displayName="Of all")
    started = await _of_each_scope(bank)
    page = ok(await bound.client.get("/operations"))
    # Those that made its memories and sessions, those that wait, and no other.
    assert len(page["operations"]) == 2 * len(bound.kind.memories) + len(bound.kind.users)
    seen = {one for one in started if started[one] in str(page)}
    assert seen == set(bound.kind.memories)
    assert "UpdateReasoningEngine" not in str(page)


async def test_pages_have_no_more(bound: Bound, bank: httpx.AsyncClient) -> None:
    whole = await _named(bound.client)
    found: list[str] = []
    token: str | None = ""
    while token is not None:
        params: dict[str, str | int] = {"pageSize": 1, "pageToken": token}
        page = ok(await bound.client.get("/operations", params=params))
        found += [id_of(one) for one in page["operations"]]
        token = page.get("nextPageToken")
    assert found == whole
    all_pages = ok(await bank.get("/operations", params={"pageSize": 1}))
    rest = await _named(bound.client, pageToken=all_pages["nextPageToken"])
    assert set(rest) <= set(whole)


REQUESTS: Mapping[str, tuple[str, str, Json]] = {
    "get": ("GET", "", {}),
    "wait": ("POST", ":wait", {"params": {"timeout": "0s"}}),
    "cancel": ("POST", ":cancel", {}),
    "delete": ("DELETE", "", {}),
    "undo": ("POST", ":undo", {"json": {}}),
    "cancel once": ("POST", ":cancel", {"params": {"requestId": "a"}}),
    "delete once": ("DELETE", "", {"params": {"requestId": "b"}}),
    "undo once": ("POST", ":undo", {"json": {}, "params": {"requestId": "c"}}),
}


@in_one_test("request_name", REQUESTS)
async def test_a_foreign_operation_is_told_as_one_that_is_not_there(
    bound: Bound, bank: httpx.AsyncClient, request_name: str
) -> None:
    method, tail, options = REQUESTS[request_name]
    started = await _of_each_scope(bank)
    ended = await bank.patch("/memories/theirs", json={"fact": "Changed."})
    engine = await bank.patch(ENGINE_URL, json={"displayName": "Of all"})
    hidden = [started[one] for one in bound.kind.hidden] + [id_of(ok(engine))]
    if "theirs" in bound.kind.hidden:
        hidden.append(id_of(ok(ended)))
    missing = await bound.client.request(method, f"/operations/1{tail}", **options)
    assert refusal(missing) == GONE
    for one in hidden:
        foreign = await bound.client.request(method, f"/operations/{one}{tail}", **options)
        assert_alike(foreign, missing, f"/{one} ", "/1 ")
        assert "error" not in ok(await bank.get(f"/operations/{one}"))


async def test_an_operation_is_used_where_the_key_sees_it(
    bound: Bound, bank: httpx.AsyncClient
) -> None:
    started = await _of_each_scope(bank)
    for one in bound.kind.memories:
        path = f"/operations/{started[one]}"
        assert not ok(await bound.client.post(f"{path}:wait", params={"timeout": "0s"}))["done"]
        assert ok(await bound.client.post(f"{path}:cancel")) == {}
        assert ok(await bound.client.get(path))["error"]["code"] == 1
        assert ok(await bound.client.delete(path)) == {}
        assert refusal(await bank.get(path)) == GONE


async def test_what_an_operation_answers_is_read_with_the_eyes_of_the_key(
    mine: httpx.AsyncClient,
) -> None:
    answer = ok(await mine.patch("/memories/mine", json={"fact": "Changed."}))
    found = ok(await mine.get(path_of(answer["name"])))
    assert found["response"]["fact"] == "Changed."
    session = ok(await mine.post("/sessions", json={"userId": "42", "displayName": "One"}))
    found = ok(await mine.get(path_of(session["name"])))
    assert found["response"]["displayName"] == "One"


async def test_a_request_id_is_known_to_its_own_key_alone(
    bank: httpx.AsyncClient,
    mine: httpx.AsyncClient,
    app: FastAPI,
    database: Database,
    clock: FixedClock,
) -> None:
    params = {"requestId": "same"}
    foreign = {"fact": "Theirs.", "scope": SCOPES["theirs"]}
    own = {"fact": "Mine.", "scope": SCOPES["mine"]}
    theirs = ok(await bank.post("/memories", params=params, json=foreign))
    # Neither their answer nor that the id was used with another request.
    assert refusal(await mine.post("/memories", params=params, json=foreign)) == GONE
    first = ok(await mine.post("/memories", params=params, json=own))
    again = ok(await mine.post("/memories", params=params, json=own))
    assert first["name"] == again["name"] != theirs["name"]
    async with await bound_client(app, database, clock, {"user_id": ["42"]}) as another:
        other = ok(await another.post("/memories", params=params, json=own))
        assert other["name"] not in {first["name"], theirs["name"]}


async def test_what_is_refused_does_not_use_up_its_request_id(mine: httpx.AsyncClient) -> None:
    params = {"requestId": "once"}
    for path, refused, taken in (
        (
            "/memories",
            {"fact": "a", "scope": SCOPES["theirs"]},
            {"fact": "a", "scope": SCOPES["mine"]},
        ),
        ("/sessions", {"userId": "7"}, {"userId": "42"}),
        (
            "/memories:ingestEvents",
            {"scope": SCOPES["theirs"], **said("a")},
            {"scope": SCOPES["mine"], **said("a")},
        ),
    ):
        asked = {"requestId": f"{params['requestId']}{path}"}
        assert refusal(await mine.post(path, params=asked, json=refused)) == GONE
        ok(await mine.post(path, params=asked, json=taken))


async def test_what_concerns_the_whole_engine_is_refused(bound: Bound) -> None:
    for method, path in (
        ("GET", ":usage"),
        ("PATCH", ""),
        ("DELETE", ""),
        ("GET", "/auditEvents"),
        ("GET", "/auditEvents:export"),
    ):
        answer = await bound.client.request(method, ENGINE_URL + path)
        assert refusal(answer) == DENIED, path
    engines = "http://test/v1/reasoningEngines"
    assert refusal(await bound.client.post(engines)) == DENIED
    assert refusal(await bound.client.get("http://test/v1/keys")) == DENIED
    assert refusal(await bound.client.get("http://test/metrics")) == DENIED


async def test_an_engine_is_read_as_by_anyone(bound: Bound, bank: httpx.AsyncClient) -> None:
    for url in (ENGINE_URL, "http://test/v1/reasoningEngines"):
        assert ok(await bound.client.get(url)) == ok(await bank.get(url))

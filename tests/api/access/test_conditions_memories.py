"""Memories by keys that are bound to scopes: issue 4, section 1."""

from typing import Any

import httpx

from app.adapters.resources import Resources
from app.kernel.errors import Reason, Unavailable
from app.memory.reembedding.service import Backlog
from tests.support.bank import GONE, Json, history, id_of, listed, ok, refusal, roll_back
from tests.support.bound import SCOPES, Bound, assert_alike, facts
from tests.support.cases import in_one_test
from tests.support.operations import create_memory
from tests.support.scripted_models import ScriptedEmbedder

GONE_SCOPE = "No such scope for this key, which is restricted to certain values of: {}."


async def test_a_list_has_what_the_key_sees(bound: Bound) -> None:
    assert await facts(bound.client) == [*bound.kind.memories]


@in_one_test(
    "params",
    [
        {"orderBy": "update_time"},
        {"orderBy": "create_time desc"},
        {"filter": 'fact:"About"'},
        {"filter": 'fact=~"^About .*[.]$"'},
        {"filter": 'scope.user_id:* OR scope.user_id!="42"'},
        {"filter": 'NOT fact="none"'},
        {"filter": 'fact!="none" OR fact="none"'},
    ],
)
async def test_no_filter_nor_order_adds_to_it(mine: httpx.AsyncClient, params: Json) -> None:
    assert set(await listed(mine, **params)) == {"About mine.", "About mine-app."}


async def test_a_filter_on_a_foreign_scope_finds_nothing(mine: httpx.AsyncClient) -> None:
    for text in ('{\\"user_id\\": \\"7\\"}', '{\\"user_id\\": \\"nobody\\"}'):
        answer = await mine.get("/memories", params={"filter": f'scope="{text}"'})
        assert ok(answer) == {"memories": []}


async def test_pages_have_what_the_key_sees_and_no_more(bound: Bound) -> None:
    found: list[str] = []
    token: str | None = ""
    while token is not None:
        page = ok(await bound.client.get("/memories", params={"pageSize": 1, "pageToken": token}))
        found += [id_of(one) for one in page["memories"]]
        token = page.get("nextPageToken")
    assert sorted(found) == sorted(bound.kind.memories)


async def test_the_page_token_of_another_key_is_only_a_place(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient
) -> None:
    whole = ok(await bank.get("/memories", params={"pageSize": 1}))
    page = ok(await mine.get("/memories", params={"pageToken": whole["nextPageToken"]}))
    assert {id_of(one) for one in page["memories"]} <= {"mine", "mine-app"}


async def test_a_memory_is_read_where_the_key_sees_it(bound: Bound) -> None:
    for memory_id in bound.kind.memories:
        found = ok(await bound.client.get(f"/memories/{memory_id}"))
        assert found["scope"] == SCOPES[memory_id]


REQUESTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "get": ("GET", "", {}),
    "revisions": ("GET", "/revisions", {}),
    "revisions by label": ("GET", "/revisions", {"params": {"filter": 'labels.run="first"'}}),
    "update": ("PATCH", "", {"json": {"fact": "Mine now."}}),
    "update by etag": ("PATCH", "", {"json": {"fact": "Mine now.", "etag": "1"}}),
    "move": ("PATCH", "", {"json": {"scope": {"user_id": "42"}}}),
    "delete": ("DELETE", "", {}),
    "delete by etag": ("DELETE", "", {"headers": {"If-Match": "999"}}),
    "delete for good": ("DELETE", "", {"params": {"permanent": "true"}}),
    "delete with labels": ("DELETE", "", {"json": {"revisionLabels": {"a": "b"}}}),
    "undelete": ("POST", ":undelete", {}),
    "plan to roll back": (
        "POST",
        ":rollback",
        {"json": {"targetRevisionId": "1", "validateOnly": True}},
    ),
    "roll back": ("POST", ":rollback", {"json": {"targetRevisionId": "1"}}),
}


@in_one_test("request_name", REQUESTS)
async def test_a_foreign_memory_is_told_as_one_that_is_not_there(
    bound: Bound, bank: httpx.AsyncClient, request_name: str
) -> None:
    method, tail, options = REQUESTS[request_name]
    missing = await bound.client.request(method, f"/memories/nothing{tail}", **options)
    assert refusal(missing) == GONE
    for memory_id in bound.kind.hidden:
        foreign = await bound.client.request(method, f"/memories/{memory_id}{tail}", **options)
        assert_alike(foreign, missing, f"/{memory_id} ", "/nothing ")
    assert await facts(bank) == [*SCOPES]


async def test_a_foreign_revision_is_told_as_one_that_is_not_there(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient
) -> None:
    (theirs,) = await history(bank, "/memories/theirs")
    (own,) = await history(mine, "/memories/mine")
    foreign, known = id_of(theirs), id_of(own)
    path = f"/memories/theirs/revisions/{foreign}"
    missing = await mine.get("/memories/nothing/revisions/1")
    assert refusal(missing) == GONE
    assert_alike(await mine.get(path), missing, "/theirs ", "/nothing ")
    # By the name of an own memory it is not there, either.
    missing = await mine.get("/memories/mine/revisions/1")
    found = await mine.get(f"/memories/mine/revisions/{foreign}")
    assert_alike(found, missing, f"/{foreign} ", "/1 ")
    missing = await roll_back(mine, "/memories/mine", "1")
    assert refusal(missing) == GONE
    found = await roll_back(mine, "/memories/mine", foreign)
    assert_alike(found, missing, f"/{foreign} ", "/1 ")
    ok(await mine.get(f"/memories/mine/revisions/{known}"))


async def test_revisions_of_all_memories_are_those_that_the_key_sees(bound: Bound) -> None:
    labelled = {"filter": 'labels.run="first"'}
    for params in ({}, labelled, {"pageSize": 100}):
        found = await history(bound.client, "/memories/-", **params)
        names = [one["name"].split("/memories/")[1].split("/")[0] for one in found]
        assert sorted(names) == sorted(bound.kind.memories)
    own = await history(bound.client, "/memories/mine-app", **labelled)
    assert [one["fact"] for one in own] == ["About mine-app."]
    assert await history(bound.client, "/memories/-", filter='labels.run="second"') == []


async def test_pages_of_all_revisions_have_no_more(bound: Bound) -> None:
    facts_found: list[str] = []
    token: str | None = ""
    while token is not None:
        params: Json = {"pageSize": 1, "pageToken": token}
        page = ok(await bound.client.get("/memories/-/revisions", params=params))
        facts_found += [one["fact"] for one in page["memoryRevisions"]]
        token = page.get("nextPageToken")
    assert sorted(facts_found) == sorted(f"About {one}." for one in bound.kind.memories)


async def test_a_memory_is_created_in_scopes_of_the_key_alone(bound: Bound) -> None:
    for memory_id, scope in SCOPES.items():
        body = {"fact": "New.", "scope": scope}
        answer = await bound.client.post("/memories", json=body)
        if memory_id in bound.kind.memories:
            assert ok(answer)["response"]["scope"] == scope
        else:
            assert refusal(answer) == GONE
            keys = ", ".join(sorted(bound.kind.conditions))
            assert answer.json()["error"]["message"] == GONE_SCOPE.format(keys)


async def test_a_foreign_scope_is_told_as_one_in_which_nothing_is(
    mine: httpx.AsyncClient, bank: httpx.AsyncClient
) -> None:
    chosen = {"memoryId": "theirs"}
    for params in ({}, chosen):
        known = await mine.post("/memories", params=params, json=_body("7"))
        unknown = await mine.post("/memories", params=params, json=_body("nobody"))
        assert refusal(known) == GONE
        assert known.text == unknown.text
    assert await facts(bank) == [*SCOPES]


def _body(user: str) -> Json:
    return {"fact": "New.", "scope": {"user_id": user}}


async def test_a_memory_with_labels_is_created_in_scopes_of_the_key_alone(
    mine: httpx.AsyncClient,
) -> None:
    labels = {"revisionLabels": {"run": "7"}}
    assert ok(await mine.post("/memories", json={**_body("42"), **labels}))["done"]
    assert refusal(await mine.post("/memories", json={**_body("7"), **labels})) == GONE


async def test_a_key_may_use_more_keys_in_its_scopes(mine: httpx.AsyncClient) -> None:
    made = await create_memory(mine, "New.", {"user_id": "42", "app": "z", "team": "9"})
    assert ok(await mine.get("/memories/" + id_of(made)))["fact"] == "New."


async def test_an_id_that_others_have_taken_says_nothing_but_that(
    mine: httpx.AsyncClient, bank: httpx.AsyncClient
) -> None:
    """Ids are unique in an engine, so that it cannot be hidden that one is taken."""
    foreign = await mine.post("/memories", params={"memoryId": "theirs"}, json=_body("42"))
    own = await mine.post("/memories", params={"memoryId": "mine"}, json=_body("42"))
    assert refusal(own) == (409, "ALREADY_EXISTS")
    assert_alike(foreign, own, "/theirs ", "/mine ")
    ok(await bank.delete("/memories/theirs"))
    deleted = await mine.post("/memories", params={"memoryId": "theirs"}, json=_body("42"))
    assert_alike(deleted, own, "/theirs ", "/mine ")


async def test_a_change_is_made_where_the_key_sees_the_memory(
    bound: Bound, bank: httpx.AsyncClient
) -> None:
    path = "/memories/mine-app"
    changed = await bound.client.patch(path, json={"fact": "Changed."})
    assert ok(changed)["response"]["fact"] == "Changed."
    newest, first = await history(bound.client, path)
    assert [newest["fact"], first["fact"]] == ["Changed.", "About mine-app."]
    ok(await roll_back(bound.client, path, id_of(first)))
    assert ok(await bound.client.get(path))["fact"] == "About mine-app."
    # Only its expiry: the vector stays, and gets it.
    ok(await bound.client.patch(path, json={"ttl": "3600s"}))
    ok(await bound.client.delete(path))
    newest = (await history(bound.client, path))[0]
    ok(await roll_back(bound.client, path, id_of(first)))
    assert "expireTime" in ok(await bank.get(path))
    ok(await bound.client.delete(path, params={"permanent": "true"}))
    assert refusal(await bank.get(f"{path}/revisions")) == GONE
    assert await facts(bank) == [one for one in SCOPES if one != "mine-app"]


async def test_what_the_key_writes_while_the_model_is_away_is_kept(
    mine: httpx.AsyncClient, embedder: ScriptedEmbedder, resources: Resources
) -> None:
    embedder.failure = Unavailable("Away.", Reason.MODEL_UNAVAILABLE)
    await create_memory(mine, "New.", SCOPES["mine"])
    ok(await mine.patch("/memories/mine", json={"fact": "Changed."}))
    embedder.failure = None
    assert await Backlog.of(resources).run() == 2

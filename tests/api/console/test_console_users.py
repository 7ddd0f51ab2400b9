"""The page of a user, or of any other scope: all that is known of it, for each caller; erasure."""

from datetime import timedelta
from urllib.parse import quote, urlencode

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.surfaces.console.templating import read_scope, scope_path
from tests.api.console.conftest import SignedIn
from tests.support.bank import ENGINE_URL, Json, id_of, ok
from tests.support.console import MEMORIES, Page, page, submit
from tests.support.generation import run
from tests.support.operations import create_memory, path_of
from tests.support.queue import overwrite
from tests.support.sessions import append, create_session, events

HERE = "/console/e/1"
USERS = f"{HERE}/users"
USER = "user-0042"
MINE = f"{USERS}/user_id={USER}"
TEA, COFFEE = "I like tea.", "I like coffee."
_SOURCE = "sessions/talk-5"
_HOSTILE = "<script>alert(1)</script>/&=?#%2F \u202e\nü"


@pytest.fixture
async def talk(client: httpx.AsyncClient, runner: Runner) -> Json:
    """A session of the user and the generation that read it."""
    session = (await create_session(client, "talk-5", userId=USER))["name"]
    await append(client, "/sessions/talk-5", TEA)
    return await run(client, runner, {"vertexSessionSource": {"session": session}}, scope=None)


def _url_of(operation: str) -> str:
    return f"{HERE}/operations/{operation.rpartition('/')[2]}"


async def test_the_page_shows_what_is_known_and_where_it_came_from(
    talk: Json, client: httpx.AsyncClient, clock: FixedClock, signed_in: SignedIn
) -> None:
    (made,) = talk["response"]["generatedMemories"]
    memory = path_of(made["memory"]["name"])
    clock.advance(timedelta(minutes=1))
    ok(await client.patch(memory, params={"updateMask": "fact"}, json={"fact": COFFEE}))
    gone = (await create_memory(client, "I like milk.", {"user_id": USER, "team": "x"}))["name"]
    ok(await client.delete(path_of(gone)))
    await create_memory(client, "Nothing of this.", {"user_id": "7"})
    body = {"displayName": "of theirs", "roles": ["user"], "scopeConditions": {"user_id": USER}}
    key = ok(await client.post("http://test/v1/keys", json=body))
    shown = await page(await signed_in("admin"), MINE)
    for words in (
        USER,
        "Memories",
        COFFEE,
        "I like tea coffee.",
        "Created",
        "Updated",
        "Deleted",
        "I like milk.",
        "h 0 min left",
        "of theirs",
    ):
        assert words in shown.text, words
    assert "Nothing of this" not in shown.text
    first = (await events(client, "/sessions/talk-5"))[0]["name"].rpartition("/")[2]
    assert {
        f"{HERE}/sessions/talk-5",
        f"{HERE}/sessions/talk-5#event-{first}",
        f"{HERE}/sessions?user={USER}",
        _url_of(talk["name"]),
        f"{MEMORIES}?scope=user_id%3D{USER}",
        f"{HERE}/deleted?scope=user_id%3D{USER}",
        f"{HERE}/revisions?scope=user_id%3D{USER}&export=ndjson",
        f"{MINE}/erase",
        f"/console/keys#key-{id_of(key)}",
    } <= set(shown.links)
    assert shown.text.count("curl -H") <= 12


async def test_the_timeline_is_paged(client: httpx.AsyncClient, signed_in: SignedIn) -> None:
    for number in range(25):
        await create_memory(client, f"fact {number:02}.", {"user_id": USER})
    viewer = await signed_in("viewer")
    first = await page(viewer, MINE)
    [older] = [link for link in first.links if "page=" in link]
    second = await page(viewer, older)
    revisions = [
        [link for link in shown.links if "#revision-" in link] for shown in (first, second)
    ]
    assert list(map(len, revisions)) == [20, 5]
    assert len({*revisions[0], *revisions[1]}) == 25
    assert MINE in second.links
    assert "25" in first.text


async def test_a_whole_scope_has_a_page(client: httpx.AsyncClient, signed_in: SignedIn) -> None:
    await create_memory(client, TEA, {"user_id": USER, "team": "x"})
    await create_memory(client, COFFEE, {"user_id": USER})
    viewer = await signed_in("viewer")
    part = await page(viewer, MINE)
    assert TEA in part.text
    assert COFFEE in part.text
    whole = f"{USERS}/team=x&user_id={USER}"
    assert whole in part.links
    shown = await page(viewer, whole)
    assert TEA in shown.text
    assert COFFEE not in shown.text
    assert f"{USERS}/team=x" in shown.links
    answer = await viewer.get(f"{USERS}/{USER}")
    assert answer.headers["location"] == f"{HERE}/find?q={USER}"


@pytest.mark.parametrize(
    "scope",
    [
        {"user_id": USER},
        {"user_id": _HOSTILE},
        {_HOSTILE: "", "b": "a=b&c", "%3D": "%26"},
        {"user_id": "..", "a": "x y"},
    ],
)
async def test_any_scope_is_a_part_of_a_path(
    client: httpx.AsyncClient, signed_in: SignedIn, scope: dict[str, str]
) -> None:
    assert read_scope(str(httpx.URL(f"/{scope_path(scope)}").path)[1:]) == scope
    ok(await client.post("/memories", json={"fact": TEA, "scope": scope}))
    await create_memory(client, COFFEE, {"user_id": "another"})
    viewer = await signed_in("viewer")
    answer = await viewer.get(f"{USERS}/{scope_path(scope)}")
    shown = Page(answer)
    assert answer.status_code == 200
    assert TEA in shown.text
    assert COFFEE not in shown.text
    assert "<script>alert" not in answer.text
    [link] = {link for link in shown.links if link.startswith(f"{MEMORIES}?scope")}
    assert TEA in (await page(viewer, link)).text


async def test_every_scope_and_user_leads_there(
    talk: Json, client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    (made,) = talk["response"]["generatedMemories"]
    memory = f"{MEMORIES}/{id_of(made['memory'])}"
    gone = await create_memory(client, TEA, {"user_id": USER})
    ok(await client.delete(path_of(gone["name"])))
    admin = await signed_in("admin")
    for url in (
        HERE,
        MEMORIES,
        memory,
        f"{memory}/delete",
        f"{HERE}/deletion?which=page",
        f"{HERE}/revisions",
        f"{HERE}/deleted",
        _url_of(talk["name"]),
        f"{HERE}/sessions",
        f"{HERE}/{_SOURCE}",
    ):
        assert MINE in (await page(admin, url)).links, url
    answer = await admin.get(f"{HERE}/find?q={USER}")
    assert (answer.status_code, answer.headers["location"]) == (303, MINE)


async def test_the_sum_tells_since_when_and_what_lacks_a_price(
    talk: Json, client: httpx.AsyncClient, database: Database, signed_in: SignedIn
) -> None:
    await overwrite(
        database,
        talk["name"].rpartition("/")[2],
        details={
            "@type": talk["metadata"]["@type"],
            "modelCallCount": 3,
            "inputTokenCount": 12_000,
            "outputTokenCount": 345,
            "cost": {"amount": 0.5, "currency": "USD"},
        },
    )
    viewer = await signed_in("viewer")
    shown = await page(viewer, MINE)
    found = ok(
        await client.get("/operations:usage", params={"filter": 'scope.user_id="user-0042"'})
    )
    assert f"Operations{found['operationCount']}that are still kept, since" in shown.text
    assert f'datetime="{found["firstTime"]}"' in (await viewer.get(MINE)).text
    assert "12.3 k" in shown.text
    assert "12 k in, 345 out" in shown.text
    assert "$0.5" in shown.text
    other = ok(await client.get("/operations"))["operations"][-1]["name"]
    type_url = talk["metadata"]["@type"]
    await overwrite(
        database, other.rpartition("/")[2], details={"@type": type_url, "modelCallCount": 7}
    )
    shown = await page(viewer, MINE)
    assert "≥ $0.5" in shown.text
    assert "7 calls without a price" in shown.text


async def test_parts_that_a_key_may_not_see_are_left_out(talk: Json, signed_in: SignedIn) -> None:
    assert (
        "No permission"
        in (await page(await signed_in(permissions=["engines.get"]), MINE, 403)).text
    )
    few = await signed_in(permissions=["memories.list"])
    shown = await page(few, MINE)
    assert TEA in shown.text
    assert "This key may not see revisions" in shown.text
    for words in ("Erase this person", "Export", "API keys", "Operations", "Sessions"):
        assert words not in shown.text, words
    assert "Not found" in (await page(few, f"/console/e/77/users/user_id={USER}", 404)).text
    del talk


async def test_a_bound_key_sees_nothing_of_others(
    talk: Json, client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    gone = await create_memory(client, "I like milk.", {"user_id": USER})
    ok(await client.delete(path_of(gone["name"])))
    bound = await signed_in("admin", scope_conditions={"user_id": ["42"]})
    theirs = (await page(bound, MINE)).text
    nothing = (await page(bound, f"{USERS}/user_id=user-9999")).text
    assert theirs == nothing.replace("user-9999", USER)
    for words in (TEA, "I like milk.", "talk-5", id_of(talk)):
        assert words not in theirs, words
    assert "Not found" in (await page(bound, f"{MINE}/erase", 404)).text


async def test_a_person_is_erased_after_a_dry_run_and_typed_words(
    talk: Json, client: httpx.AsyncClient, runner: Runner, signed_in: SignedIn
) -> None:
    admin, url = await signed_in("admin"), f"{MINE}/erase"
    asked = await page(admin, url)
    for words in (
        "memories 1",
        "memory revisions 1",
        "sessions 1",
        "Nothing brings them back",
    ):
        assert words in asked.text, words
    body = {"scope": {"user_id": USER}, "validateOnly": True}
    counts = ok(await client.post(f"{ENGINE_URL}:eraseScope", json=body))["response"]["counts"]
    assert f"Erase {sum(counts.values())} rows" in asked.text
    answer = await submit(admin, url, url, typed="user_id=user-0043")
    assert (answer.status_code, "This is not the scope" in answer.text) == (400, True)
    assert TEA in (await page(admin, MINE)).text
    # The value alone is enough where the scope has no other.
    answer = await submit(admin, url, url, typed=f" {USER} ")
    assert answer.status_code == 303
    operation = answer.headers["location"]
    assert USER not in operation
    await runner.run_pending()
    shown = await page(admin, operation)
    for words in ("Certificate", "A last count found nothingyes", "memories 1", "backups made"):
        assert words in shown.text, words
    assert "hmac-sha256:" in shown.text
    left = await page(admin, MINE)
    assert "No memory belongs to it" in left.text
    assert "talk-5" not in left.text
    assert TEA not in left.text
    del talk, client


async def test_only_who_may_purge_erases_a_person(talk: Json, signed_in: SignedIn) -> None:
    editor = await signed_in("editor")
    assert f"{MINE}/erase" not in (await page(editor, MINE)).links
    assert "No permission" in (await page(editor, f"{MINE}/erase", 403)).text
    admin = await signed_in("admin")
    answer = await admin.post(f"{MINE}/erase", data={"typed": f"user_id={USER}"})
    assert answer.status_code == 403, "without the session's token"
    del talk


@pytest.mark.parametrize("screen", ["memories", "revisions", "operations", "deleted", "streams"])
async def test_a_bare_value_is_asked_back(
    talk: Json, client: httpx.AsyncClient, signed_in: SignedIn, screen: str
) -> None:
    url = f"{HERE}/{screen}"
    viewer = await signed_in("viewer")
    query = urlencode([("scope", USER), ("scope", "team=x")])
    shown = await page(viewer, f"{url}?{query}")
    assert f"Did you mean user_id={USER}?" in shown.text
    meant = urlencode([("scope", "team=x"), ("scope", f"user_id={USER}")])
    assert f"{url}?{meant}" in shown.links
    for nothing in ("nobody", "user_id=nobody", quote("a" * 2_000)):
        assert "Did you mean" not in (await page(viewer, f"{url}?scope={nothing}")).text, nothing
    bound = await signed_in("viewer", scope_conditions={"user_id": ["42"]})
    assert "Did you mean" not in (await page(bound, f"{url}?scope={USER}")).text
    blind = await signed_in(permissions=["memories.list", "revisions.list", "operations.list"])
    assert "Did you mean" not in (await page(blind, f"{url}?scope={USER}")).text
    del talk, client

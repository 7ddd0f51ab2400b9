"""The search at the top: it leads to what an id or a user names, for each caller."""

from urllib.parse import quote, urlencode

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from tests.api.console.conftest import SignedIn
from tests.support.bank import id_of, ok
from tests.support.console import MEMORIES, Page, page
from tests.support.keys import id_of as key_of
from tests.support.keys import make_key
from tests.support.operations import create_memory, path_of
from tests.support.sessions import create_session

HERE = "/console/e/1"
FIND = f"{HERE}/find"
USERS = f"{HERE}/users"
_OTHERS = "a-secret-of-seven"
_HOSTILE = "<script>alert(1)</script>\"'{{ 'ev' ~ 'aluated' }}\u202eevil"


def _asked(text: str) -> str:
    return f"{FIND}?{urlencode({'q': text})}"


async def test_one_answer_leads_to_its_page(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, signed_in: SignedIn
) -> None:
    scope = {"user_id": "user-0042"}
    memory = (await create_memory(client, "I like tea.", scope))["name"]
    (revision,) = ok(await client.get(f"{path_of(memory)}/revisions"))["memoryRevisions"]
    session = (await create_session(client, "Talk_5", userId="user-0042"))["name"]
    key = key_of(await make_key(database, clock.now(), "viewer"))
    of_memory, of_revision = f"{MEMORIES}/{id_of({'name': memory})}", revision["name"]
    revision_id = of_revision.rpartition("/")[2]
    operation_id = revision["operation"].rpartition("/")[2]
    admin = await signed_in("admin")
    for text, url in (
        (memory, of_memory),
        (f"  {of_memory.rpartition('/')[2]} ", of_memory),
        (of_revision, f"{of_memory}#revision-{revision_id}"),
        (operation_id, f"{HERE}/operations/{operation_id}"),
        (session, f"{HERE}/sessions/Talk_5"),
        ("user-0042", f"{USERS}/user_id=user-0042"),
        (key, f"/console/keys#key-{key}"),
        ("1", HERE),
    ):
        answer = await admin.get(_asked(text))
        assert (answer.status_code, answer.headers.get("location")) == (303, url), text
        assert (await admin.get(url.partition("#")[0])).status_code == 200, url
    assert f'id="revision-{revision_id}"' in (await admin.get(of_memory)).text
    assert f'id="key-{key}"' in (await admin.get("/console/keys")).text


async def test_several_answers_are_listed(client: httpx.AsyncClient, signed_in: SignedIn) -> None:
    body = {"fact": "I like tea.", "scope": {"user_id": "tea", "team": "tea"}}
    ok(await client.post("/memories", params={"memoryId": "tea"}, json=body))
    await create_session(client, "tea", userId="tea")
    shown = await page(await signed_in("viewer"), _asked("tea"))
    assert {
        f"{MEMORIES}/tea",
        f"{HERE}/sessions/tea",
        f"{USERS}/team=tea",
        f"{USERS}/user_id=tea",
    } <= set(shown.links)
    for words in ("Memory tea", "Session tea", "Scope All about this scope team=tea"):
        assert words in shown.text, words


async def test_words_that_name_nothing_are_handed_on(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_memory(client, "I like green tea.")
    viewer, words = await signed_in("viewer"), "green tea & more"
    shown = await page(viewer, _asked(words))
    search = f"{HERE}/search?question={quote(words)}"
    assert {search, f"{MEMORIES}?text={quote(words)}"} <= set(shown.links)
    assert (await page(viewer, search)).forms[f"{HERE}/search"]["question"] == words
    answer = await viewer.get(_asked("user_id=42"))
    assert (answer.status_code, answer.headers["location"]) == (303, f"{USERS}/user_id=42")
    for empty in (FIND, _asked(" ")):
        assert "Write the id" in (await page(viewer, empty)).text
    assert "resources:find" not in (await page(viewer, FIND)).text
    answer = await viewer.get(_asked("x" * 1_025))
    assert (answer.status_code, answer.text.count('role="alert"')) == (400, 1)


async def test_a_hostile_text_is_only_text(client: httpx.AsyncClient, signed_in: SignedIn) -> None:
    viewer = await signed_in("viewer")
    answer = await viewer.get(_asked(_HOSTILE))
    shown = Page(answer)
    assert answer.status_code == 200
    assert shown.forms[FIND]["q"] == _HOSTILE
    assert "{{ 'ev' ~ 'aluated' }}[U+202E]evil" in shown.text
    assert "<script>alert" not in answer.text
    assert "evaluated" not in answer.text
    body = {"fact": "I like tea.", "scope": {"user_id": _HOSTILE}}
    ok(await client.post("/memories", json=body))
    await create_memory(client, "I like milk.", {"team": _HOSTILE})
    answer = await viewer.get(_asked(_HOSTILE))
    assert answer.text.count("All about this scope") == 2
    assert "<script>alert" not in answer.text


async def test_the_field_stands_where_there_is_an_engine(signed_in: SignedIn) -> None:
    viewer = await signed_in("viewer")
    for url in (HERE, MEMORIES, f"{HERE}/operations", _asked("none")):
        answer = await viewer.get(url)
        assert answer.text.count('class="find"') == 1, url
        assert 'aria-label="Find by id, user or words"' in answer.text
    assert 'class="find"' not in (await viewer.get("/console")).text
    blind = await signed_in(permissions=["memories.list"])
    assert 'class="find"' not in (await blind.get(MEMORIES)).text
    assert "No permission" in (await page(blind, _asked("tea"), 403)).text
    assert "Not found" in (await page(viewer, "/console/e/77/find?q=tea", 404)).text


@pytest.mark.parametrize("way", ["memory", "operation", "session", "user"])
async def test_a_bound_key_finds_nothing_of_others(
    client: httpx.AsyncClient, signed_in: SignedIn, way: str
) -> None:
    scope = {"user_id": _OTHERS}
    memory = (await create_memory(client, "I like tea.", scope))["name"]
    (revision,) = ok(await client.get(f"{path_of(memory)}/revisions"))["memoryRevisions"]
    session = (await create_session(client, userId=_OTHERS))["name"]
    text = {
        "memory": memory,
        "operation": revision["operation"],
        "session": session,
        "user": _OTHERS,
    }[way]
    bound = await signed_in("admin", scope_conditions={"user_id": ["42"]})
    shown = await page(bound, _asked(text))
    assert "Nothing that this key reaches" in shown.text
    assert not [link for link in shown.links if link.startswith(USERS)]
    answer = await (await signed_in("admin")).get(_asked(text))
    assert answer.status_code == 303

"""Operations: found, read, cancelled, run again, and undone after a preview."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.platform.operations.services.runner import Runner
from app.surfaces.api import Api
from tests.api.console.conftest import SignedIn
from tests.support.bank import history, id_of, listed, ok
from tests.support.console import MEMORIES, page, submit
from tests.support.generation import events, run, said, start
from tests.support.operations import create_memories, create_memory, path_of
from tests.support.queue import overwrite

OPERATIONS = "/console/e/1/operations"
_AWAY = Unavailable("The <b>model</b> is away.", Reason.MODEL_UNAVAILABLE)
_TEA, _OTHERS = "I like tea.", "a secret of seven"


async def _started(client: httpx.AsyncClient, fact: str = _TEA, **fields: object) -> str:
    """Start a generation; return the path of its operation in the console."""
    path = await start(client, said(fact), **fields)
    return f"{OPERATIONS}/{path.rpartition('/')[2]}"


async def _fail(database: Database, one: str) -> None:
    error = _AWAY.as_operation_error()
    await overwrite(database, one.rpartition("/")[2], state="FAILED", error=error)


async def _newest(client: httpx.AsyncClient) -> str:
    newest = ok(await client.get("/operations"))["operations"][0]
    return f"{OPERATIONS}/{id_of(newest)}"


async def test_operations_are_found_and_tell_how_they_ended(
    client: httpx.AsyncClient,
    runner: Runner,
    database: Database,
    clock: FixedClock,
    signed_in: SignedIn,
) -> None:
    viewer = await signed_in("viewer")
    assert "Nothing has been done here yet" in (await page(viewer, OPERATIONS)).text
    made = await _started(client)
    await runner.run_pending()
    clock.advance(timedelta(minutes=1))
    failed = await _started(client, scope={"user_id": "7"})
    await _fail(database, failed)
    open_one = await _started(client)
    shown = await page(viewer, OPERATIONS)
    assert "Created 1" in shown.text
    assert "The <b>model</b> is away. MODEL_UNAVAILABLE" in shown.text
    for query, expected in (
        ("", {made, failed, open_one}),
        ("state=FAILED", {failed}),
        ("done=false", {open_one}),
        ("kind=generation.generate&done=true", {made, failed}),
        ("kind=memories.create", set()),
        ("scope=user_id%3D7", {failed}),
        ("caller=nobody", set()),
        ("before=2026-01-15T12:01", {made}),
        ("after=2026-01-15T12:01&state=FAILED", {failed}),
    ):
        links = (await page(viewer, f"{OPERATIONS}?{query}")).links
        assert {link for link in links if link in {made, failed, open_one}} == expected, query
    assert "No operation matches" in (await page(viewer, f"{OPERATIONS}?caller=x")).text
    assert "generation.generate" in (await page(viewer, f"{OPERATIONS}?kind=x", 400)).text
    purge = {"filter": 'scope.user_id="42"', "force": True}
    ok(await client.post("/memories:purge", json=purge))
    assert "Deleted 1" in (await page(viewer, f"{OPERATIONS}?kind=memories.purge")).text
    counts = {
        "unsupportedFactCount": 2,
        "droppedFactCounts": {"NO_QUOTE": 1, "OTHER": 1},
        "droppedFieldCounts": {"BAD_VALUE": 3},
    }
    await overwrite(database, made.rpartition("/")[2], details=counts)
    assert "dropped 2" in (await page(viewer, f"{OPERATIONS}?state=SUCCEEDED")).text
    detail = await page(viewer, made)
    assert "1 OTHER 1 the talk does not say it in these words" in detail.text
    assert "3 the field does not accept the value" in detail.text
    assert "Succeeded" in detail.text
    assert _TEA in detail.text
    assert any(link.startswith(f"{MEMORIES}/") for link in detail.links)


async def test_a_failure_that_a_retry_made_good_is_not_among_the_failures(
    client: httpx.AsyncClient, runner: Runner, database: Database, signed_in: SignedIn
) -> None:
    viewer = await signed_in("viewer")
    newer, older, lasting = [await _started(client) for _ in range(3)]
    for one in (older, lasting):
        await _fail(database, one)
    name = f"projects/p/locations/l/reasoningEngines/1/operations/{newer.rpartition('/')[2]}"
    await overwrite(database, older.rpartition("/")[2], details={"retriedBy": name})
    await runner.run_pending()
    all_of_them = {newer, older, lasting}
    for path, expected in (
        (OPERATIONS, all_of_them),
        (f"{OPERATIONS}?state=FAILED", {lasting}),
        (f"{OPERATIONS}?retried=true", {older}),
        (OPERATIONS.rpartition("/")[0], {lasting}),
    ):
        assert set((await page(viewer, path)).links) & all_of_them == expected, path


async def test_failures_stand_in_groups_each_of_which_filters_the_list(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, signed_in: SignedIn
) -> None:
    first, foreign = await _started(client), await _started(client, scope={"user_id": "7"})
    clock.advance(timedelta(hours=1))
    later = await _started(client)
    for one in (first, foreign, later):
        await _fail(database, one)
    viewer = await signed_in("viewer")
    assert "builtin-rules/3, 2026" not in (await page(viewer, OPERATIONS)).text
    shown = await page(viewer, f"{OPERATIONS}?state=FAILED&scope=user_id%3D42")
    assert "builtin-rules/3, 2026-01-15 13:00 UTC" in shown.text
    groups = [link for link in shown.links if "ended_after=" in link]
    found = [set((await page(viewer, link)).links) & {first, foreign, later} for link in groups]
    assert found == [{later}, {first}]


async def _shown_failures(client: httpx.AsyncClient, database: Database, *texts: str) -> list[str]:
    """Start generations and fail them; return their paths in the console."""
    failed = [await _started(client, text, scope={"user_id": text}) for text in texts]
    for one in failed:
        await _fail(database, one)
    return failed


async def test_failures_run_again_all_or_those_that_are_ticked(
    client: httpx.AsyncClient, runner: Runner, database: Database, signed_in: SignedIn
) -> None:
    failed = await _shown_failures(client, database, "1", "2", "3")
    viewer, user = await signed_in("viewer"), await signed_in("user")
    failures, retries = f"{OPERATIONS}?state=FAILED", f"{OPERATIONS.rpartition('/')[0]}/retries"
    assert retries not in (await page(viewer, failures)).forms
    assert retries not in (await page(user, OPERATIONS)).forms
    shown = await page(user, failures)
    assert "Run all 3 again" in shown.text
    form = shown.forms[retries]
    unticked = await user.post(retries, data=form)
    assert (unticked.status_code, unticked.headers["location"]) == (303, failures)
    assert "Nothing was ticked." in (await page(user, failures)).text
    ticked = {**form, "operation": failed[0].rpartition("/")[2]}
    answer = await user.post(retries, data=ticked)
    assert answer.status_code == 303
    await runner.run_pending()
    assert "run again 1" in (await page(user, answer.headers["location"])).text

    asked = await page(user, f"{retries}?state=FAILED")
    assert "Operations that would run again: 2." in asked.text
    for _ in range(2):
        answer = await user.post(retries, data=asked.forms[retries])
    await runner.run_pending()
    assert "run again 2" in (await page(user, answer.headers["location"])).text
    assert not {*(await page(user, failures)).links} & {*failed}
    assert "None of these can run again" in (await page(user, f"{retries}?state=FAILED")).text


async def test_a_failed_generation_is_tried_without_writing(
    client: httpx.AsyncClient, runner: Runner, database: Database, signed_in: SignedIn
) -> None:
    [failed] = await _shown_failures(client, database, "1")
    user = await signed_in("user")
    form = (await page(user, failed)).forms[f"{failed}/try"]
    answer = await user.post(f"{failed}/try", data=form)
    await runner.run_pending()
    shown = await page(user, answer.headers["location"])
    assert "What would be remembered" in shown.text
    assert await listed(client) == []
    assert f"{failed}/retry" in (await page(user, failed)).forms


async def test_the_list_renews_its_first_page_without_keeping_the_session(
    clock: FixedClock, signed_in: SignedIn
) -> None:
    viewer = await signed_in("viewer")
    for path in (OPERATIONS, f"{OPERATIONS}?state=FAILED"):
        shown = (await viewer.get(path)).text
        assert 'hx-trigger="every 5s"' in shown
    statuses = []
    for _ in range(4):
        clock.advance(timedelta(minutes=20))
        answer = await viewer.get(OPERATIONS, headers={"hx-source": "div#live"})
        statuses.append(answer.status_code)
    assert statuses == [200, 200, 303, 303], "it was idle for an hour"


async def test_an_open_operation_refreshes_itself_and_can_be_cancelled_once(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    one = await _started(client)
    viewer, user = await signed_in("viewer"), await signed_in("user")
    assert 'hx-trigger="every 2s"' in (await viewer.get(one)).text
    shown = await page(viewer, one)
    assert one in shown.links, "without scripts, a link refreshes"
    assert f"{one}/cancel" not in shown.forms
    form = (await page(user, one)).forms[f"{one}/cancel"]
    assert (await user.post(f"{one}/cancel", data={**form, "token": "x"})).status_code == 403
    assert not ok(await client.get(one.removeprefix("/console/e/1")))["done"]
    for _ in range(2):
        assert (await user.post(f"{one}/cancel", data=form)).status_code == 303
    assert "Cancelled" in (await page(user, one)).text
    assert "every 2s" not in (await user.get(one)).text
    again = await user.post(f"{one}/cancel", data={**form, "requestId": "another"})
    assert (again.status_code < 400) or "alert" in again.text


async def test_a_generation_that_changes_nothing_says_why(
    client: httpx.AsyncClient, runner: Runner, signed_in: SignedIn
) -> None:
    viewer = await signed_in("viewer")
    talk = events(
        *(
            {"role": "user", "parts": [{"text": text}]}
            for text in (
                "I live in Bergen.",
                "I play the cello.",
                "Relevant memories:\n- I live in Bergen.\n- I play the cello.\n\nUser message: Hi.",
            )
        )
    )
    await run(client, runner, talk)
    await run(client, runner, talk)
    again = await _newest(client)
    shown = (await page(viewer, again)).text
    assert "they were read before: 3; they repeat memories: 2" in shown
    assert "rereadEvents" in shown
    assert "read before 3 repeat memories 2" in (await page(viewer, OPERATIONS)).text


async def test_an_operation_that_ends_while_its_page_is_read_shows_its_revisions(
    client: httpx.AsyncClient,
    runner: Runner,
    signed_in: SignedIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = await _started(client)
    get, revisions_read = Api.get, asyncio.Event()

    async def end_then_get(api: Api, path: str, *rest: Any) -> Any:
        if path.endswith(made.rpartition("/")[2]):
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await revisions_read.wait()
            await runner.run_pending()
        answer = await get(api, path, *rest)
        if path.endswith("/revisions"):
            revisions_read.set()
        return answer

    monkeypatch.setattr(Api, "get", end_then_get)
    shown = await page(await signed_in("viewer"), made)
    assert "Succeeded" in shown.text
    assert _TEA in shown.text


async def test_a_failed_operation_runs_again_once(
    client: httpx.AsyncClient, runner: Runner, database: Database, signed_in: SignedIn
) -> None:
    one = await _started(client)
    await _fail(database, one)
    assert f"{one}/retry" not in (await page(await signed_in("viewer"), one)).forms
    user = await signed_in("user")
    form = (await page(user, one)).forms[f"{one}/retry"]
    assert (await user.post(f"{one}/retry", data={**form, "token": ""})).status_code == 403
    targets = {(await user.post(f"{one}/retry", data=form)).headers["location"] for _ in range(2)}
    assert targets == {await _newest(client)}
    await runner.run_pending()
    assert await listed(client) == [_TEA]
    shown = await page(user, one)
    assert f"{one}/retry" not in shown.forms
    assert f"{one}/undo" not in (await page(await signed_in("editor"), one)).links
    assert targets <= set(shown.links)
    told = await user.post(f"{one}/retry", data={**form, "requestId": "another"})
    assert (told.status_code, 'role="alert"' in told.text) == (409, True)


async def test_what_the_api_retries_is_offered_and_nothing_else(
    client: httpx.AsyncClient, database: Database, resources: Resources, signed_in: SignedIn
) -> None:
    one, admin = await _started(client), await signed_in("admin")
    retried = set(resources.registry.retries)
    assert retried
    for kind in {*retried, "memories.create", "ingestion.ingest", "x"}:
        error = _AWAY.as_operation_error()
        await overwrite(database, one.rpartition("/")[2], kind=kind, state="FAILED", error=error)
        shown = await page(admin, one)
        assert (f"{one}/retry" in shown.forms) == (kind in retried), kind


async def test_an_undo_does_what_its_preview_says(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, signed_in: SignedIn
) -> None:
    kept, gone = await create_memories(client, "I like tea.", "I like milk.")
    one = await _newest(client)
    clock.advance(timedelta(minutes=1))
    ok(await client.patch(path_of(kept["name"]), json={"fact": "I like coffee."}))
    assert f"{one}/undo" not in (await page(await signed_in("user"), one)).links
    editor = await signed_in("editor")
    undo = f"{one}/undo"
    assert undo in (await page(editor, one)).links
    asked = await submit(editor, undo, f"{undo}/preview")
    preview = asked.headers["location"]
    waiting = await page(editor, preview)
    other = await _newest(client)
    told = await page(editor, f"{undo}?preview={one.rpartition('/')[2]}", 400)
    assert "must be a preview of this" in told.text
    assert "preview, changes nothing" in (await page(editor, other)).text
    assert "waits for a worker" in waiting.text
    assert preview in waiting.links
    await runner.run_pending()
    shown = await page(editor, preview)
    assert "Changed back (1) I like milk. deleted, since it did not exist before" in shown.text
    assert "Left alone (1) I like tea. was changed since" in shown.text
    assert sorted(await listed(client)) == ["I like coffee.", "I like milk."]
    form = shown.forms[undo]
    assert (await editor.post(undo, data={**form, "token": "x"})).status_code == 403
    targets = {(await editor.post(undo, data=form)).headers["location"] for _ in range(2)}
    assert targets == {await _newest(client)}
    await runner.run_pending()
    assert await listed(client) == ["I like coffee."]
    assert (await history(client, path_of(gone["name"])))[0]["action"] == "DELETED"
    assert one in (await page(editor, targets.pop())).links


async def test_a_bound_key_meets_no_operation_of_others(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_memory(client, _TEA)
    mine = await _newest(client)
    await create_memory(client, _OTHERS, {"user_id": "7"})
    other = await _newest(client)
    bound = await signed_in("editor", scope_conditions={"user_id": ["42"]})
    shown = await page(bound, OPERATIONS)
    assert mine in shown.links
    assert "This key sees these scopes only: user_id=42" in shown.text
    other_id = other.rpartition("/")[2]
    for url in (
        OPERATIONS,
        f"{OPERATIONS}?scope=user_id%3D7",
        other,
        f"{other}/undo",
        f"{mine}/undo?preview={other_id}",
    ):
        answer = await bound.get(url)
        assert _OTHERS not in answer.text, url
        assert answer.status_code == (404 if other_id in url else 200), url
        assert (other_id in answer.text) <= (other_id in url), url
    form = {"token": shown.forms["/console/sign-out"]["token"], "requestId": "a"}
    for action in ("cancel", "retry", "undo", "undo/preview"):
        answer = await bound.post(f"{other}/{action}", data=form)
        assert (answer.status_code, _OTHERS in answer.text) == (404, False), action
    viewer = await signed_in("viewer")
    token = (await page(viewer, OPERATIONS)).forms["/console/sign-out"]["token"]
    for action in ("cancel", "undo", "undo/preview"):
        answer = await viewer.post(f"{mine}/{action}", data={"token": token, "requestId": "b"})
        assert answer.status_code == 403, action
    blind = await signed_in(permissions=["memories.list"])
    assert "No permission" in (await page(blind, OPERATIONS, 403)).text
    assert OPERATIONS not in (await page(blind, MEMORIES)).links


async def test_the_timeline_of_a_memory_leads_to_its_operations(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    memory = await create_memory(client, _TEA)
    one = f"{MEMORIES}/{id_of(memory)}"
    assert await _newest(client) in (await page(await signed_in("viewer"), one)).links
    blind = await signed_in(permissions=["memories.get", "revisions.list"])
    assert await _newest(client) not in (await page(blind, one)).links


async def test_what_is_undone_says_so_and_is_not_offered_again(
    client: httpx.AsyncClient, runner: Runner, database: Database, signed_in: SignedIn
) -> None:
    made, admin = await _started(client), await signed_in("admin")
    await runner.run_pending()
    one = f"/operations/{made.rpartition('/')[2]}"
    assert f"{made}/undo" in (await page(admin, made)).links
    ok(await client.post(f"{one}:undo", json={"validateOnly": True}))
    await runner.run_pending()
    assert "undoneBy" not in ok(await client.get(one))["metadata"]
    undo = ok(await client.post(f"{one}:undo", json={}))
    await runner.run_pending()
    assert ok(await client.get(one))["metadata"]["undoneBy"] == undo["name"]
    shown, url = await page(admin, made), f"{OPERATIONS}/{id_of(undo)}"
    assert "Undone by" in shown.text
    assert (url in shown.links, f"{made}/undo" in shown.links) == (True, False)
    void = ok(await client.post(f"{path_of(undo['name'])}:undo", json={}))
    await _fail(database, void["name"])
    assert "Undone by" in (await page(admin, made)).text
    ok(await client.post(f"{path_of(undo['name'])}:undo", json={}))
    await runner.run_pending()
    # The undo of the undo puts it in force again.
    assert f"{made}/undo" in (await page(admin, made)).links
    # An undo that finds all memories changed has no effect.
    (memory,) = ok(await client.get("/memories"))["memories"]
    ok(await client.patch(path_of(memory["name"]), json={"fact": "I like coffee."}))
    ok(await client.post(f"{one}:undo", json={}))
    await runner.run_pending()
    assert f"{made}/undo" in (await page(admin, made)).links

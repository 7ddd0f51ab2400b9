"""Sessions: their list, events and summaries, what erases them, and contexts side by side."""

import re
from datetime import timedelta

import httpx
import pytest

from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.settings.settings import ModelPrice, Settings
from tests.api.console.conftest import SignedIn
from tests.conftest import ADMIN_KEY
from tests.support.bank import ok
from tests.support.console import Page, page, sign_in
from tests.support.contexts import exchange
from tests.support.scripted import written_by
from tests.support.sessions import create_session, event, events
from tests.support.summaries import BY_THREE, Summariser

SESSIONS = "/console/e/1/sessions"
TRIP = f"{SESSIONS}/trip"
CONTEXT = f"{TRIP}/context"
_HOSTILE = "<script>alert(1)</script> \u202eevil {{ 'ev' ~ 'aluated' }}"
_OF_ANOTHER = "a-secret-of-seven"


@pytest.fixture
def resources(resources: Resources) -> Resources:
    return written_by(resources, Summariser())


@pytest.fixture
async def trip(client: httpx.AsyncClient, runner: Runner) -> str:
    """A session of four exchanges, of which three are summarised; its path in the API."""
    await create_session(client, "trip", memoryPolicy=BY_THREE, labels={"app": "x"})
    for number in range(1, 5):
        await exchange(client, "sessions/trip", f"question {number}", f"reply {number}")
    await runner.run_pending()
    return "sessions/trip"


async def test_the_list_is_filtered_by_user_label_and_time(
    client: httpx.AsyncClient, clock: FixedClock, signed_in: SignedIn
) -> None:
    viewer = await signed_in("viewer")
    assert "There are no sessions here yet" in (await page(viewer, SESSIONS)).text
    await create_session(client, "one", labels={"app": "x"})
    clock.advance(timedelta(minutes=2))
    await create_session(client, "two", userId="7")
    for query, found in (
        ("", {"one", "two"}),
        ("user=7", {"two"}),
        ("label=app%3Dx", {"one"}),
        ("label=app", {"one"}),
        ("changed_after=2026-01-15T12:01", {"two"}),
        ("changed_before=2026-01-15T12:01&user=7", set()),
    ):
        links = (await page(viewer, f"{SESSIONS}?{query}")).links
        assert {name for name in ("one", "two") if f"{SESSIONS}/{name}" in links} == found, query
    # The user says more than an id, which stands below.
    assert ">7</a><small>" in (await viewer.get(f"{SESSIONS}?user=7")).text
    assert "No session matches" in (await page(viewer, f"{SESSIONS}?user=8")).text
    assert "must be" in (await page(viewer, f"{SESSIONS}?changed_after=soon", 400)).text
    blind = await signed_in(permissions=["memories.get"])
    assert "No permission" in (await page(blind, SESSIONS, 403)).text


async def test_every_session_is_on_one_page(client: httpx.AsyncClient, signed_in: SignedIn) -> None:
    for number in range(60):
        await create_session(client, f"session-{number:02}")
    viewer, url, seen = await signed_in("viewer"), f"{SESSIONS}?user=42", []
    for _ in range(2):
        shown = await page(viewer, url)
        seen += [link for link in shown.links if "/session-" in link]
        url = shown.next
    assert (len(seen), len(set(seen)), url) == (60, 60, "")


async def test_a_session_shows_events_by_exchange_and_summaries_by_version(
    client: httpx.AsyncClient, trip: str, signed_in: SignedIn
) -> None:
    ref = {"artifactRef": {"memory": "tools", "namespace": "page"}}
    call = {"functionCall": {"name": "search", "args": {"q": "hotel"}}}
    file = {"inlineData": {"mimeType": "image/png", "data": "aGVsbG8="}}
    said = event("see this", content={"parts": [{"text": "see this"}, ref, call, file]})
    ok(await client.post(f"{trip}:appendEvent", json=said))
    answer = await (viewer := await signed_in("viewer")).get(TRIP)
    shown = Page(answer)
    assert len(answer.content) < 500_000
    assert answer.text.count('scope="rowgroup"') == 5
    for words in ("question 1", "reply 4", "summary 1", "1 to 6", "search", "image/png", "app=x"):
        assert words in shown.text, words
    assert "/console/e/1/tasks/tools/page" in shown.links
    assert answer.text.count("curl -H") == 5
    numbered = [link for link in shown.links if "/events/" in link]
    assert len(numbered) == 9
    assert "question 1" in (await page(viewer, numbered[0])).text
    for gone in (f"{TRIP}x", f"{TRIP}/events/77?at=2026-01-15T12:00:00Z", f"{TRIP}x/context"):
        assert "Not found" in (await page(viewer, gone, 404)).text
    blind = await signed_in(permissions=["sessions.get", "sessions.list"])
    assert "may not see events" in (await page(blind, TRIP)).text


async def test_one_event_is_erased_a_summary_made_again_and_the_session_deleted(
    client: httpx.AsyncClient, runner: Runner, trip: str, visitor: httpx.AsyncClient
) -> None:
    await sign_in(visitor, ADMIN_KEY)
    again = f"{TRIP}/summaries"
    form = (await page(visitor, TRIP)).forms[again]
    for _ in range(2):
        made = await visitor.post(again, data=form)
        assert (made.status_code, made.headers["location"]) == (303, TRIP)
    await runner.run_pending()
    listed = ok(await client.get(f"{trip}/summaries"))["summaries"]
    assert sorted(one["text"] for one in listed if one["state"] == "active") == ["summary 2"]
    first = next(link for link in (await page(visitor, TRIP)).links if "/events/" in link)
    erase = first.partition("?")[0]
    form = (await page(visitor, first)).forms[erase]
    for _ in range(2):
        sent = await visitor.post(erase, data=form)
        assert (sent.status_code, sent.headers["location"]) == (303, TRIP)
    assert len(await events(client, trip)) == 7
    assert "question 1" not in (await page(visitor, TRIP)).text
    delete = f"{TRIP}/delete"
    form = (await page(visitor, delete)).forms[delete]
    for _ in range(2):
        done = await visitor.post(delete, data=form)
        assert (done.status_code, done.headers["location"]) == (303, SESSIONS)
    assert (await client.get(trip)).status_code == 404


async def test_who_may_not_change_a_session_is_not_offered_it_and_is_refused(
    client: httpx.AsyncClient, trip: str, signed_in: SignedIn
) -> None:
    viewer, user = await signed_in("viewer"), await signed_in("user")
    shown = await page(viewer, TRIP)
    one = next(link for link in shown.links if "/events/" in link)
    erase = one.partition("?")[0]
    assert (f"{TRIP}/delete" in shown.links, f"{TRIP}/summaries" in shown.forms) == (False, False)
    assert erase not in (await page(viewer, one)).forms
    assert erase in (await page(user, one)).forms
    assert f"{TRIP}/delete" in (await page(user, TRIP)).links
    summary = ok(await client.get(f"{trip}/summaries"))["summaries"][0]["name"]
    fields = {"requestId": "1", "summary": summary.rpartition("/")[2]}
    for url in (erase, f"{TRIP}/summaries", f"{TRIP}/delete"):
        assert (await user.post(url, data=fields)).status_code == 403
        token = shown.forms["/console/sign-out"]["token"]
        answer = await viewer.post(url, data={"token": token, **fields})
        assert (answer.status_code, "No permission" in answer.text) == (403, True)
    assert len(await events(client, trip)) == 8


async def test_two_policies_are_compared_side_by_side(
    trip: str, client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    viewer = await signed_in("viewer")
    before = ok(await client.get(f"{trip}/summaries"))
    answer = await viewer.get(CONTEXT, params={"question": "Where was I?", "memories": "1"})
    shown = Page(answer)
    # The session, its lengths by two calls, and two contexts with their costs.
    assert shown.text.count("curl -H") == 7
    for words in ("Left: every_n", "Right: inclusive", "1 to 6: summarised", "7 to 8: shown"):
        assert words in shown.text, words
    assert shown.text.count("Where was I?") == 2 + shown.text.count('"Where was I?"')
    assert '<rect class="summarised" x="0" y="0" width="6"' in answer.text
    assert shown.text.count("pending") >= 2
    assert "1 to 8: shown" in shown.text
    query = "strategy0=window&window0=1&cap0=9&strategy1=agent_summary&limit=50"
    shown = await page(viewer, f"{CONTEXT}?{query}")
    assert "1 to 6: left out" in shown.text
    assert shown.forms[CONTEXT]["window0"] == "1"
    for wrong, words in (
        ("strategy0=every_n&every0=x", "policy.every: must be an integer"),
        ("strategy1=nothing", "policy.strategy: must be one of"),
        ("limit=0", "tokenLimit: must be greater"),
        (f"limit={'9' * 5_000}", "tokenLimit: "),
    ):
        assert words in (await page(viewer, f"{CONTEXT}?{wrong}")).text
    assert ok(await client.get(f"{trip}/summaries")) == before


@pytest.mark.usefixtures("trip")
async def test_estimates_are_of_this_session_at_the_prices_that_are_set(
    signed_in: SignedIn, settings: Settings
) -> None:
    viewer = await signed_in("viewer")
    shown = await page(viewer, CONTEXT)
    assert "For messages as long as in this session, about" in shown.text
    assert "PromptsTokensSummariesLargest prompt" in shown.text
    settings.model_prices["openai:large"] = ModelPrice(input=1, output=1_000_000)
    shown = await page(viewer, f"{CONTEXT}?model=openai:large")
    assert "PromptsTokensCostSummariesLargest prompt" in shown.text
    assert re.search(r"40[0-9,]+\$[0-9,]+\.[0-9]{2}", shown.text.replace(" ", ""))


async def test_a_long_context_shows_its_ends_and_an_empty_one_says_so(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_session(client, "trip")
    viewer = await signed_in("viewer")
    assert "Nothing is said in it yet" in (await page(viewer, TRIP)).text
    assert "has no events" in (await page(viewer, CONTEXT)).text
    for _ in range(4):
        batch = [event(f"{_HOSTILE} {'x' * 5_000}") for _ in range(25)]
        ok(await client.post("sessions/trip/events:batch", json={"events": batch}))
    for url in (CONTEXT, TRIP):
        answer = await viewer.get(url)
        assert answer.status_code == 200
        assert len(answer.content) < 500_000
        assert "<script>alert" not in answer.text
        assert "[U+202E]evil" in answer.text
        assert "aluated }}" not in Page(answer).text.replace("'aluated' }}", "")
    assert "50 messages more" in (await page(viewer, CONTEXT)).text


async def test_a_context_shows_which_sessions_it_carries_over(
    client: httpx.AsyncClient, clock: FixedClock, signed_in: SignedIn
) -> None:
    await create_session(client, "former")
    await exchange(client, "sessions/former", "I like tea.", "Noted.")
    clock.advance(timedelta(minutes=1))
    await create_session(
        client, "trip", memoryPolicy={"strategy": "inclusive", "carryOver": "LAST"}
    )
    shown = await page(await signed_in("viewer"), CONTEXT)
    assert f"{SESSIONS}/former" in shown.links
    assert "Former sessions" in shown.text


async def test_a_bound_key_meets_no_session_of_somebody_else(
    client: httpx.AsyncClient, trip: str, signed_in: SignedIn
) -> None:
    await create_session(client, "other", userId="7", displayName=_OF_ANOTHER)
    await exchange(client, "sessions/other", _OF_ANOTHER, "reply")
    [found, _] = await events(client, "sessions/other")
    at = f"{found['name'].rpartition('/')[2]}?at={found['timestamp']}"
    bound = await signed_in("editor", scope_conditions={"user_id": ["42"]})
    shown = await page(bound, SESSIONS)
    assert TRIP in shown.links
    assert "user_id=42" in shown.text
    other = f"{SESSIONS}/other"
    token = shown.forms["/console/sign-out"]["token"]
    for url, status in (
        (SESSIONS, 200),
        (f"{SESSIONS}?user=7", 200),
        (other, 404),
        (f"{other}/context", 404),
        (f"{other}/delete", 404),
        (f"{other}/events/{at}", 404),
        (f"{TRIP}/events/{at}", 404),
    ):
        answer = await bound.get(url)
        assert (answer.status_code, _OF_ANOTHER in answer.text) == (status, False), url
    for url in (f"{other}/delete", f"{other}/events/{at.partition('?')[0]}"):
        answer = await bound.post(url, data={"token": token, "requestId": "1"})
        assert (answer.status_code, _OF_ANOTHER in answer.text) == (404, False)
    assert len(await events(client, "sessions/other")) == 2
    assert trip


async def test_events_have_their_tokens_and_summaries_their_pages(
    client: httpx.AsyncClient, runner: Runner, signed_in: SignedIn
) -> None:
    await create_session(client, "trip", memoryPolicy={"strategy": "every_n", "every": 1})
    said = {"input": "12345678", "output": "said", "outputTokenCount": 77}
    for _ in range(51):
        ok(await client.post("sessions/trip/exchanges", json=said))
    await runner.run_pending()
    viewer = await signed_in("viewer")
    shown = await page(viewer, TRIP)
    assert "≈ 2" in shown.text
    assert " 77 " in shown.text
    (older,) = [link for link in shown.links if "summaries=" in link]
    second = await page(viewer, older)
    assert "101 to 102" in second.text
    assert TRIP in second.links
    assert [link for link in second.links if "summaries=" in link and "page=" in link]

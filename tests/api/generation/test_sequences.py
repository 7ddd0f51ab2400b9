"""Talks that come again: the ten sequences, in each way to send them, by each reader."""

from dataclasses import replace
from datetime import UTC, datetime

import httpx
import pytest

from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from tests.support.archives import export
from tests.support.bank import listed, ok
from tests.support.ingestion import ended, ingest, read, rule
from tests.support.obedient_model import obedient_model, obeyed
from tests.support.operations import USER
from tests.support.restores import GZIP
from tests.support.scripted import written_by
from tests.support.scripted_models import Reply, ScriptedQuery, ScriptedTextModel
from tests.support.telling import (
    IDS,
    NEITHER,
    SESSION,
    TIMES,
    WAYS,
    Bank,
    Row,
    correct,
    counts,
    delete,
    fail,
    follow,
    holds,
    restore_first,
    revisions,
    tell,
    undelete,
    undo,
    wait,
)

OSLO, CELLO, TEA, NURSE = (
    "I live in Oslo.",
    "I play the cello.",
    "I like green tea.",
    "I work as a nurse.",
)
DOG, BERGEN, VIOLA = "My dog is called Rex.", "I live in Bergen now.", "I play the viola."
FORGET = "Please forget that I like green tea."
TALK = (OSLO, CELLO, TEA, NURSE)
LONG = tuple(f"My friend number {n} is called Ida{n}." for n in range(1, 25))
EARLY = datetime(2024, 1, 5, 10, tzinfo=UTC)
LATE = datetime(2025, 11, 20, 10, tzinfo=UTC)

NOW = rule(event_count=1)
_ENGINES = "http://test/v1beta1/projects/default/locations/local/reasoningEngines"
_ROOM = 1_000
"""Tokens of a model that has to read a talk of long lines in pieces."""

AGAIN = [
    Row(
        "whole again after a deletion",
        [
            tell(*TALK),
            delete(OSLO),
            tell(*TALK, DOG),
            holds(CELLO, TEA, NURSE, DOG),
            counts(knownEventCount=4, createdCount=1),
        ],
    ),
    Row(
        "whole again after a correction",
        [
            tell(*TALK),
            correct(CELLO, VIOLA),
            tell(*TALK, DOG),
            holds(OSLO, VIOLA, TEA, NURSE, DOG),
            counts(knownEventCount=4, createdCount=1, updatedCount=0),
        ],
    ),
    Row(
        "whole again after a request to forget",
        [
            tell(*TALK),
            tell(*TALK, FORGET),
            holds(OSLO, CELLO, NURSE),
            tell(*TALK, FORGET, DOG),
            holds(OSLO, CELLO, NURSE, DOG),
            counts(knownEventCount=5, createdCount=1),
        ],
    ),
    Row(
        "whole again after an undo",
        [
            tell(*TALK),
            undo(),
            holds(),
            tell(*TALK, DOG),
            holds(DOG),
            counts(knownEventCount=4),
            tell(*TALK, DOG, rereadEvents=True),
            holds(*TALK, DOG),
        ],
    ),
    Row(
        "whole again after a rollback",
        [
            tell(*TALK),
            tell(*TALK, BERGEN),
            holds(BERGEN, CELLO, TEA, NURSE),
            restore_first(BERGEN),
            tell(*TALK, BERGEN, DOG),
            holds(OSLO, CELLO, TEA, NURSE, DOG),
        ],
    ),
    Row(
        "one line again, with a second, within a day",
        [tell(OSLO), delete(OSLO), wait(hours=1), tell(OSLO, TEA), holds(TEA)],
    ),
    Row(
        "two lines again, with a third, within a day",
        [
            tell(OSLO, CELLO),
            delete(OSLO, CELLO),
            tell(OSLO, CELLO, TEA),
            holds(TEA),
            tell(OSLO, CELLO, TEA, DOG),
            holds(TEA, DOG),
            counts(knownEventCount=3),
        ],
    ),
    Row(
        "the last twenty events after each turn",
        [
            tell(*LONG[:20]),
            delete(*LONG[:20]),
            *(
                step
                for n in range(21, 25)
                for step in (
                    tell(*LONG[:n], first=n - 20),
                    holds(LONG[n - 1]),
                    counts(knownEventCount=19, createdCount=1),
                    delete(LONG[n - 1]),
                )
            ),
        ],
    ),
    Row(
        "windows that overlap by one line",
        [
            tell(OSLO, CELLO),
            delete(OSLO, CELLO),
            tell(OSLO, CELLO, TEA, first=1),
            holds(TEA),
            counts(NEITHER, knownEventCount=0, droppedFactCounts={"ALREADY_READ": 1}),
            counts(SESSION, IDS, TIMES, knownEventCount=1),
        ],
    ),
    Row(
        "a retry of one request",
        [
            tell(OSLO, DOG),
            tell(OSLO, DOG),
            holds(OSLO, DOG),
            counts(createdCount=0, deletedCount=0),
            delete(DOG),
            tell(OSLO, DOG),
            holds(OSLO),
        ],
    ),
    Row(
        "delete, undelete, read again",
        [
            tell(*TALK),
            delete(OSLO),
            undelete(OSLO),
            tell(*TALK),
            holds(*TALK),
            revisions(OSLO, 3),
        ],
    ),
    Row(
        "an old statement on purpose after a correction that was said",
        [
            tell(*TALK),
            tell(*TALK, BERGEN),
            tell(*TALK, BERGEN, OSLO),
            holds(OSLO, CELLO, TEA, NURSE),
            counts(knownEventCount=5, updatedCount=1),
        ],
    ),
    Row(
        "an old statement on purpose after a correction by hand",
        [
            tell(*TALK),
            correct(OSLO, "I live in Bergen."),
            tell(*TALK, OSLO),
            holds(OSLO, CELLO, TEA, NURSE),
            counts(knownEventCount=4, updatedCount=1),
        ],
    ),
    Row(
        "a lone statement again after a correction by hand",
        [
            tell(OSLO),
            correct(OSLO, "I live in Bergen."),
            tell(OSLO, device="b"),
            holds("I live in Bergen."),
            counts(droppedFactCounts={"ALREADY_READ": 1}),
            wait(days=1),
            tell(OSLO, device="c"),
            holds(OSLO),
        ],
        [NEITHER],
    ),
    Row(
        "a lone statement on purpose, which a name or a time tells from the first",
        [
            tell(OSLO),
            correct(OSLO, "I live in Bergen."),
            tell(OSLO, device="b"),
            holds(OSLO),
        ],
        [SESSION, IDS, TIMES],
    ),
    *(
        Row(
            f"two devices, the one that is late read {order}",
            [*steps, holds(BERGEN, DOG, TEA), tell(BERGEN, TEA, device="late", at=LATE)],
            [SESSION, TIMES],
        )
        for order, steps in {
            "last": [
                tell(BERGEN, TEA, device="late", at=LATE),
                tell(OSLO, DOG, device="early", at=EARLY),
            ],
            "first": [
                tell(OSLO, DOG, device="early", at=EARLY),
                tell(BERGEN, TEA, device="late", at=LATE),
            ],
        }.items()
    ),
]


@pytest.fixture(params=["rules", "model"])
def reader(request: pytest.FixtureRequest, resources: Resources) -> Runner:
    """A worker that reads by rules, or with a model that follows its prompts to the letter."""
    model = obedient_model() if request.param == "model" else None
    return make_runner(written_by(resources, model))


@pytest.mark.parametrize(
    ("row", "way"),
    [pytest.param(row, way, id=f"{row.name}-{way}") for row in AGAIN for way in row.ways],
)
async def test_a_talk_that_comes_again(
    client: httpx.AsyncClient, reader: Runner, clock: FixedClock, row: Row, way: str
) -> None:
    await follow(Bank(client, reader, clock, way), row.steps)


def _model_failing_at(call: int) -> ScriptedTextModel:
    """Return a model that is away from one call on, with room for a line or two of a talk."""
    asked = 0

    def reply(query: ScriptedQuery) -> Reply:
        nonlocal asked
        asked += 1
        return obeyed(query) if asked < call else RuntimeError("away")

    return ScriptedTextModel(reply, max_input_tokens=_ROOM)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", [1, 2, 3])
async def test_a_generation_that_fails_has_read_nothing(
    client: httpx.AsyncClient,
    resources: Resources,
    runner: Runner,
    clock: FixedClock,
    way: str,
    call: int,
) -> None:
    failing = make_runner(written_by(resources, _model_failing_at(call)))
    talk = [f"{text} {'So it is. ' * 60}" for text in TALK]
    steps = [
        fail(*talk, runner=lambda _: failing),
        holds(),
        tell(*talk),
        holds(*TALK),
        counts(knownEventCount=0, createdCount=4),
    ]
    await follow(Bank(client, runner, clock, way), steps)


async def test_a_round_that_fails_is_read_as_new_and_the_rounds_before_it_are_known(
    client: httpx.AsyncClient, resources: Resources, clock: FixedClock
) -> None:
    small = resources.settings.model_copy(update={"max_generation_chars": 1_100})
    rounds = replace(resources, settings=small)
    failing = make_runner(written_by(rounds, _model_failing_at(5)))
    talk = [f"{text} {'So it is. ' * 90}" for text in TALK]
    bank = Bank(client, make_runner(rounds), clock, SESSION)
    await follow(bank, [fail(*talk, runner=lambda _: failing)])
    kept = await listed(client)
    assert 0 < len(kept) < len(TALK)
    steps = [delete(*kept), tell(*talk), holds(*sorted({*TALK} - {*kept}))]
    await follow(bank, steps)


@pytest.mark.parametrize("way", WAYS)
async def test_a_request_with_an_id_is_one_operation(
    client: httpx.AsyncClient, reader: Runner, clock: FixedClock, way: str
) -> None:
    bank = Bank(client, reader, clock, way)
    await follow(bank, [tell(*TALK)])
    body = {"scope": USER, **await bank.source(bank.device("a"), TALK, 0)}
    names = []
    for _ in range(2):
        answer = await client.post("/memories:generate", params={"requestId": "r-1"}, json=body)
        names.append(ok(answer)["name"])
        await reader.run_pending()
    assert names[0] == names[1]
    await follow(bank, [holds(*TALK)])


@pytest.mark.parametrize("way", [IDS, TIMES, NEITHER])
async def test_events_that_overlap_in_a_stream_are_context(
    client: httpx.AsyncClient, reader: Runner, clock: FixedClock, way: str
) -> None:
    bank, talk = Bank(client, reader, clock, way), (*TALK, DOG)
    device = bank.device("a")
    device.say(len(talk), clock.now())
    overlap = rule(event_count=3, overlap_event_count=2)
    sent = [device.event(n, text) for n, text in enumerate(talk)]
    await ended(client, reader, await ingest(client, *sent[:3], **overlap))
    await follow(bank, [delete(OSLO, CELLO), holds(TEA)])
    await ingest(client, *sent[3:], **overlap)
    more = await ingest(client, "The weather was fine.", **overlap)
    done = await ended(client, reader, more)
    assert done["metadata"]["overlapEventCount"] == 2
    assert done["metadata"]["knownEventCount"] == 2
    await follow(bank, [holds(TEA, NURSE, DOG)])


@pytest.mark.parametrize("way", [IDS, TIMES, NEITHER])
async def test_events_that_are_delivered_twice_bring_nothing_back(
    client: httpx.AsyncClient, reader: Runner, clock: FixedClock, way: str
) -> None:
    bank = Bank(client, reader, clock, way)
    device = bank.device("a")
    device.say(len(TALK), clock.now())
    sent = [device.event(n, text) for n, text in enumerate(TALK)]
    await ended(client, reader, await ingest(client, *sent, **NOW))
    await follow(bank, [delete(*TALK)])
    again = await ingest(client, *sent, **NOW)
    await reader.run_pending()
    assert (await read(client, again))["done"]
    await follow(bank, [holds()])
    # The same talk by the other way of sending it.
    await follow(bank, [tell(*TALK, DOG), holds(DOG)])


@pytest.mark.parametrize("way", WAYS)
async def test_an_engine_from_an_archive_does_not_learn_again_what_was_deleted(
    client: httpx.AsyncClient, reader: Runner, clock: FixedClock, way: str
) -> None:
    bank = Bank(client, reader, clock, way)
    steps = [tell(*TALK), delete(OSLO), correct(CELLO, VIOLA)]
    await follow(bank, steps)
    archive = await export(client)
    made = ok(await client.post(_ENGINES, json={}))["response"]["name"]
    url = f"http://test/v1beta1/{made}"
    ok(await client.post(f"{url}:restore", content=archive, headers=GZIP))
    source = await bank.source(bank.device("a"), TALK, 0)
    if way == SESSION:
        source["vertexSessionSource"]["session"] = f"{made}{bank.device('a').session}"
    answer = await client.post(f"{url}/memories:generate", json={"scope": USER, **source})
    await reader.run_pending()
    done = ok(await client.get(f"http://test/v1beta1/{ok(answer)['name']}"))
    assert done["metadata"]["knownEventCount"] == 4
    found = ok(await client.get(f"{url}/memories"))["memories"]
    assert sorted(one["fact"] for one in found) == sorted([VIOLA, TEA, NURSE])

"""Rows that a model extracts, in as many calls as a text takes."""

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from app.kernel.errors import Reason
from app.settings.settings import Settings
from tests.support.bank import ENGINE_URL, Json, ok
from tests.support.errors import BAD_FIELD, refusal, violations
from tests.support.model_server import Behaviour, ModelServer
from tests.support.readers import extract, extracted, heard, kept_in
from tests.support.tasks import store, text_output, upload

NOTE = "Prices of the day. A kettle costs 42 coins, and tea costs 3 coins."


async def test_each_row_has_the_place_of_its_values(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(NOTE, name="note")))
    kettle, tea = {"item": "kettle", "unitPrice": 42}, {"item": "Tea", "unitPrice": "3"}
    server.will(extracted(kettle, tea))
    found = ok(await extract(client))
    places = [(row["values"], NOTE[row["start"] : row["end"]]) for row in found["rows"]]
    assert places == [(kettle, "kettle costs 42"), ({"item": "Tea", "unitPrice": 3}, "3")]
    assert found["model"] == "near"
    assert found["usage"]["calls"] == 1
    assert (found["rejectedCount"], found["truncated"]) == (0, False)
    (told,) = heard(server)
    assert f"[1] note: {NOTE}" in told
    assert '"required":["item"]' in told
    total = ok(await client.get(f"{ENGINE_URL}:usage"))["total"]
    assert total["callCount"] == 1


async def test_what_does_not_fit_is_told_without_its_content(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(NOTE, name="note")))
    rows: list[Json] = [
        {"passage": 1, "row": json.dumps({"unitPrice": 42})},
        {"passage": 1, "row": {"item": "tea", "unitPrice": "dear secret"}},
        {"passage": 2, "row": '{"item": "secret"}'},
        {"passage": 1, "row": "secret"},
        {"passage": "one", "row": "{}"},
        {"passage": 1, "row": {"item": "tea", "color": "secret"}},
    ]
    server.will({"rows": rows})
    answer = await extract(client)
    found = ok(answer)
    assert [row["values"] for row in found["rows"]] == [{"item": "tea"}]
    assert "secret" not in answer.text
    assert [one["reason"] for one in found["rejected"]] == [
        "It does not meet /required (item) of the schema.",
        "It does not meet /properties/unitPrice/type of the schema.",
        *["An entry of the model's reply is no row of a passage."] * 3,
    ]
    assert {one["artifact"] for one in found["rejected"]} == {"note"}


def _lines(count: int) -> str:
    return "".join(f"Line {n}: the item number {n} costs {n} coins here.\n" for n in range(count))


async def test_a_long_text_takes_several_calls_and_overlaps_give_no_row_twice(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    page = _lines(800)
    ok(await upload(client, page.encode(), media_type="text/plain"))

    def answer(request: Mapping[str, Any]) -> Json:
        """Return a row for each line that the request shows, as a good model does."""
        rows, passage = [], 0
        for line in str(request["messages"][-1]["content"]).splitlines():
            passage += line.startswith("[")
            if "the item number" in line and line.endswith("coins here."):
                number = line.rpartition("costs ")[2].split()[0]
                row = {"item": f"item number {number}", "unitPrice": number}
                rows.append({"passage": passage, "row": json.dumps(row)})
        return {"rows": rows}

    server.always(answer)
    found = ok(await extract(client))
    assert [row["values"]["unitPrice"] for row in found["rows"]] == [*range(800)]
    assert all(
        f"item number {n}" in page[row["start"] : row["end"]] for n, row in enumerate(found["rows"])
    )
    assert found["coverage"]["chunksUsed"] == found["coverage"]["chunksTotal"]
    assert found["usage"]["calls"] == len(server.seen) > 3
    few = ok(await extract(client, maxRows=5))
    assert (len(few["rows"]), few["truncated"], few["usage"]["calls"]) == (5, True, 1)


async def test_equal_rows_of_one_part_are_kept(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output("Tea. Tea.")))
    server.will(extracted({"item": "Tea"}, {"item": "Tea"}))
    assert len(ok(await extract(client))["rows"]) == 2


async def test_a_reply_that_is_cut_off_loses_its_end_only(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(NOTE)))
    whole = json.dumps(extracted({"item": "kettle"}, {"item": "tea"}))
    server.will(Behaviour(whole[:-30], finish="length"))
    found = ok(await extract(client))
    assert [row["values"] for row in found["rows"]] == [{"item": "kettle"}]
    assert found["rejected"][-1]["reason"].startswith("The model's reply ended early")
    assert found["truncated"] is True


async def test_rows_off_the_prompt_are_stored_once(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(NOTE)))
    server.will(extracted({"item": "kettle"}))
    kept = ok(await extract(client, offPrompt=True, **{"as": "items"}))
    content = await client.get(f"{kept_in(kept)}/artifacts/items.json/content")
    assert [row["values"] for row in content.json()] == [{"item": "kettle"}]
    again = ok(await extract(client, offPrompt=True, **{"as": "items"}))
    assert (again["reused"], again["reference"]) == (True, kept["reference"])
    assert len(server.seen) == 1
    other = {"type": "object", "properties": {"item": {}}}
    taken = await extract(client, schema=other, offPrompt=True, **{"as": "items"})
    assert refusal(taken) == (409, "ALREADY_EXISTS", Reason.ID_TAKEN)


async def test_csv_needs_no_model_where_builtin_is_named(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await upload(client, b"item\nTea\n", media_type="text/csv"))
    found = ok(await extract(client, model="builtin"))
    assert [row["values"] for row in found["rows"]] == [{"item": "Tea"}]
    assert server.seen == []


class TestBounds:
    """A reader that may be called twice, with a short window."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"task_max_summary_calls": 2})

    async def test_the_calls_are_bounded(
        self, client: httpx.AsyncClient, server: ModelServer
    ) -> None:
        ok(await upload(client, _lines(800).encode(), media_type="text/plain"))
        refused = await extract(client)
        assert refusal(refused) == BAD_FIELD
        assert "more than 2 times" in violations(refused)["model"]
        assert server.seen == []

    async def test_a_schema_leaves_room_for_text(
        self, client: httpx.AsyncClient, server: ModelServer
    ) -> None:
        ok(await store(client, text_output(NOTE)))
        long = {"type": "object", "properties": {"item": {"description": "x" * 15_000}}}
        refused = await extract(client, schema=long)
        assert [*violations(refused)] == ["schema"]
        assert "x" * 20 not in refused.text
        assert server.seen == []

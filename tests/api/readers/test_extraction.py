"""Rows that are extracted without a model: from JSON, CSV and HTML tables."""

import asyncio
import csv
import io
import json

import httpx
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.platform.operations.services.runner import Runner
from tests.support.asgi import Sent, call
from tests.support.bank import ENGINE, Json, ok
from tests.support.cases import in_one_test
from tests.support.errors import BAD_FIELD, refusal, violations
from tests.support.keys import client_with, make_key
from tests.support.readers import ITEMS, extract, kept_in
from tests.support.tasks import AGENT, MEMORY, NAMESPACE, store, text_output, upload

TABLE = "Item,Unit Price,Note\nKettle,42,green\nTea,,\n,3,\nPot,cheap,\n"


def _values(found: Json) -> list[Json]:
    return [row["values"] for row in found["rows"]]


async def test_rows_come_from_the_columns_of_csv(client: httpx.AsyncClient) -> None:
    ok(await upload(client, TABLE.encode(), media_type="text/csv"))
    found = ok(await extract(client))
    assert found == {
        "model": "builtin:extractive",
        "coverage": {
            "chunksTotal": 1,
            "chunksUsed": 1,
            "truncated": False,
            "artifactsTotal": 1,
            "artifactsUnreadable": 0,
        },
        "usage": {"calls": 0, "inputTokenCount": 0, "outputTokenCount": 0},
        "rows": [
            {
                "artifact": "a",
                "start": 23,
                "end": 65,
                "values": {"item": "Kettle", "unitPrice": 42},
            },
            {"artifact": "a", "start": 65, "end": 75, "values": {"item": "Tea"}},
        ],
        "rowCount": 2,
        "truncated": False,
        "rejected": [
            {
                "artifact": "a",
                "start": 75,
                "end": 89,
                "reason": "It does not meet /required (item) of the schema.",
            },
            {
                "artifact": "a",
                "start": 89,
                "end": 118,
                "reason": "It does not meet /properties/unitPrice/type of the schema.",
            },
        ],
        "rejectedCount": 2,
    }


@in_one_test(
    ("media_type", "content"),
    [
        ("text/csv", "item;UNIT_PRICE\nKettle;1.234,5\nTea;3\n"),
        (
            "text/tab-separated-values",
            "Prices\t\nitem\tunit price\nKettle\t1'234.5\nTea\t3",
        ),
        (
            "application/json",
            '[{"item": "Kettle", "unit_price": 1234.5}, {"Item": "Tea", "unitPrice": "3"}]',
        ),
        (
            "text/plain",
            '{"item": "Kettle", "unitPrice": 1234.5}\n{"item": "Tea", "unitPrice": 3}\n',
        ),
        (
            "text/html",
            (
                "<p>Menu</p><table><tr><td>Home</td></tr></table><table><tr><th colspan=2>Prices"
                "<tr><th>Item<th>Unit price<tr><td>Kettle<td>1 234,5</tr>"
                "<tr><td>Tea</td><td>3</td></tr></table>"
            ),
        ),
    ],
)
async def test_rows_have_one_form_whatever_they_come_from(
    client: httpx.AsyncClient, media_type: str, content: str
) -> None:
    ok(await upload(client, content.encode(), media_type=media_type))
    found = ok(await extract(client))
    assert _values(found) == [
        {"item": "Kettle", "unitPrice": 1234.5},
        {"item": "Tea", "unitPrice": 3},
    ]
    assert found["rejectedCount"] == 0
    ok(await client.delete(NAMESPACE))


async def test_a_request_names_the_place_of_rows_and_columns(client: httpx.AsyncClient) -> None:
    page = {"orders": [{"what": "Tea", "price": {"amount": 3}}, {"what": 5}], "total": 2}
    ok(await store(client, {"kind": "json", "json": page, "name": "page"}))
    places = {"path": "/orders", "columns": {"item": "what", "unitPrice": "/price/amount"}}
    found = ok(await extract(client, source=places))
    assert _values(found) == [{"item": "Tea", "unitPrice": 3}, {"item": "5"}]
    told = ok(await extract(client))
    assert (told["rows"], told["rejectedCount"]) == ([], 1)
    assert "source.path" in told["rejected"][0]["reason"]
    nowhere = ok(await extract(client, source={"path": "/orders/7/x"}))
    assert nowhere["rejected"][0]["reason"].startswith("It is not readable as JSON")


async def test_only_some_artifacts_are_read(client: httpx.AsyncClient) -> None:
    for name in ("a", "b"):
        path = f"{NAMESPACE}/artifacts/{name}"
        ok(await upload(client, f"item\n{name}\n".encode(), path, media_type="text/csv"))
    assert _values(ok(await extract(client, artifacts=["b"]))) == [{"item": "b"}]
    refused = await extract(client, artifacts=["b", "c"])
    assert refusal(refused) == BAD_FIELD
    assert [*violations(refused)] == ["artifacts"]


async def test_what_has_no_rows_is_told(client: httpx.AsyncClient) -> None:
    ok(await store(client, text_output("Tea costs 3 coins.", name="note")))
    ok(await upload(client, b"a,b\n1,2\n", media_type="text/csv"))
    found = ok(await extract(client))
    assert (found["rows"], found["truncated"]) == ([], True)
    assert [(one["artifact"], one["reason"].partition(";")[0]) for one in found["rejected"]] == [
        ("note", "Without a model, only JSON, CSV and HTML tables are read."),
        ("a", "No column has the name of a property"),
    ]


async def test_csv_is_a_rendering_that_no_spreadsheet_computes(client: httpx.AsyncClient) -> None:
    rows = [{"item": "=1+2", "unitPrice": -3}, {"item": 'A "pot", big'}]
    ok(await store(client, {"kind": "json", "json": rows}))
    found = ok(await extract(client, format="csv"))
    assert found["csv"] == 'item,unitPrice\r\n\'=1+2,-3\r\n"A ""pot"", big",\r\n'
    assert "rows" not in found
    kept = ok(await extract(client, format="csv", offPrompt=True, **{"as": "prices"}))
    assert not {"csv", "rows"} & kept.keys()
    assert kept["rowCount"] == 2
    content = await client.get(f"{kept_in(kept)}/artifacts/prices.csv/content")
    assert content.headers["content-type"].startswith("text/csv")
    assert list(csv.reader(io.StringIO(content.text)))[1] == ["'=1+2", "-3"]
    assert kept["reference"]["readableWith"] == ["query", "summarize", "extract"]
    again = ok(await extract(client, kept_in(kept)))
    assert [row["item"] for row in _values(again)] == ["'=1+2", 'A "pot", big']


async def test_rows_are_bounded_and_the_rest_is_told(client: httpx.AsyncClient) -> None:
    lines = "".join(f"item {n},{n}\n" for n in range(1_500))
    ok(await upload(client, f"item,unitPrice\n{lines}".encode(), media_type="text/csv"))
    found = ok(await extract(client))
    assert (found["rowCount"], len(found["rows"]), found["truncated"]) == (1_000, 1_000, True)
    few = ok(await extract(client, maxRows=3))
    assert (len(few["rows"]), few["truncated"]) == (3, True)
    assert few["coverage"]["chunksUsed"] == few["coverage"]["chunksTotal"]
    kept = ok(await extract(client, maxRows=1_500, offPrompt=True))
    assert (kept["rowCount"], kept["truncated"]) == (1_500, False)
    content = await client.get(f"{kept_in(kept)}/artifacts/rows/content")
    assert content.headers["content-type"] == "application/json"
    assert json.loads(content.text)[1_499]["values"] == {"item": "item 1499", "unitPrice": 1499}
    assert ok(await extract(client, maxRows=1_500, offPrompt=True))["reused"] is True
    long = "".join(f"{'x' * 3_000}{n},{n}\n" for n in range(200))
    path = f"{NAMESPACE}/artifacts/long"
    ok(await upload(client, f"item,unitPrice\n{long}".encode(), path, media_type="text/csv"))
    found = ok(await extract(client, artifacts=["long"]))
    assert (found["rowCount"], found["truncated"]) == (84, True)


async def test_rejected_rows_are_counted_and_few_are_listed(client: httpx.AsyncClient) -> None:
    lines = "".join(f",secret{n}\n" for n in range(50))
    ok(await upload(client, f"item,unitPrice\n{lines}".encode(), media_type="text/csv"))
    answer = await extract(client)
    found = ok(answer)
    assert (len(found["rejected"]), found["rejectedCount"], found["rows"]) == (20, 50, [])
    assert "secret" not in answer.text


async def test_a_long_file_is_read_after_it_is_indexed(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    lines = "".join(f"item {n},{n},{'x' * 900}\n" for n in range(2_000))
    ok(await upload(client, f"item,unitPrice,note\n{lines}".encode(), media_type="text/csv"))
    assert refusal(await extract(client))[2] == Reason.NOT_READY
    await runner.run_pending()
    found = ok(await extract(client, maxRows=2_000, offPrompt=True))
    assert (found["rowCount"], found["truncated"]) == (2_000, False)


async def test_rows_for_a_client_that_is_gone_are_not_read_to_the_end(
    client: httpx.AsyncClient, app: FastAPI
) -> None:
    rows = b"[" + b",".join([b'{"unitPrice":1}'] * 60_000) + b"]"
    ok(await upload(client, rows, media_type="application/json"))
    path = f"/v1beta1/{ENGINE}{NAMESPACE}:extract"
    sent = Sent("POST", path.encode(), body=json.dumps({"schema": ITEMS}).encode())
    gone = asyncio.Event()
    answer = asyncio.create_task(call(app, sent, gone))
    # The file is read meanwhile; its rows, none of which is of the schema, take seconds.
    await asyncio.sleep(0.3)
    gone.set()
    found = await answer
    assert (found.status, found.reason) == (499, Reason.REQUEST_ABANDONED)


async def test_of_sensitive_content_all_results_have_one_length(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    rows = [{"item": "Café"}, {"item": 7}, {"other": 1}]
    ok(await store(client, {"kind": "json", "json": rows}, sensitive=True))
    async with client_with(app, await make_key(database, clock.now(), permissions=AGENT)) as agent:
        denied = await extract(agent)
        assert refusal(denied) == (403, "PERMISSION_DENIED", Reason.INLINE_DENIED)
        kept: Json = {}
        for form in ("csv", "json"):
            kept = ok(await extract(agent, offPrompt=True, format=form, maxRows=10))
            hidden = {"rows", "csv", "rowCount", "truncated", "rejected", "rejectedCount"}
            assert not hidden & kept.keys()
            assert kept["usage"] == {}
            assert kept["reference"]["totalBytes"] == str(24 * 1024 + 10 * 1024)
            content = await client.get(f"{kept_in(kept)}/artifacts/rows/content")
            assert "Café" in content.text
    inside = {"columns": {"item": "/values/item"}}
    again = ok(await extract(client, kept_in(kept), source=inside))
    assert _values(again) == [{"item": "Café"}, {"item": "7"}]


async def test_long_padding_hides_the_length_and_is_not_read(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    ok(await store(client, {"kind": "json", "json": [{"item": "Tea"}]}, sensitive=True))
    for form, column in (("csv", "item"), ("json", "/values/item")):
        kept = kept_in(ok(await extract(client, offPrompt=True, format=form, maxRows=10_000)))
        path = f"{kept}/artifacts/rows"
        at_once = ok(await client.get(path))
        assert refusal(await extract(client, kept))[2] == Reason.NOT_READY
        await runner.run_pending()
        assert ok(await client.get(path))["tokenEstimate"] == at_once["tokenEstimate"] == 2_566_144
        found = ok(await extract(client, kept, source={"columns": {"item": column}}))
        assert _values(found) == [{"item": "Tea"}]
        assert found["coverage"]["chunksTotal"] == 1


@in_one_test(
    "schema",
    [
        {"type": "array", "items": ITEMS},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"": {}}},
        {"type": "object", "properties": {str(n): {} for n in range(101)}},
        {"type": "object", "properties": {"a": {"description": "x" * 20_000}}},
        {"type": "object", "properties": {"a": {"$ref": "https://example.com/schema"}}},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "properties": {"a": {"pattern": "(?=x)y"}}},
        {"type": "object", "properties": {"a": {"type": "secret"}}},
        r'{"type": "object", "properties": {"\ud800": {}}}',
        "{not JSON",
        "[" * 100_000,
        None,
    ],
)
async def test_another_schema_is_400(client: httpx.AsyncClient, schema: object) -> None:
    ok(await store(client, text_output("Tea.")))
    answer = await extract(client, schema=schema)
    assert refusal(answer) == BAD_FIELD
    assert all(field.startswith("schema") for field in violations(answer))
    assert "secret" not in answer.text
    assert "example.com" not in answer.text


async def test_a_schema_may_come_as_text_and_its_patterns_take_linear_time(
    client: httpx.AsyncClient,
) -> None:
    schema = {"type": "object", "properties": {"item": {"pattern": "^(a+)+$"}}}
    rows = [{"item": "a" * 3_000 + "!"}, {"item": "aaa"}]
    ok(await store(client, {"kind": "json", "json": rows}))
    found = ok(await extract(client, schema=json.dumps(schema)))
    assert (_values(found), found["rejectedCount"]) == ([{"item": "aaa"}], 1)


@in_one_test(
    "fields",
    [
        {"maxRows": 0},
        {"maxRows": 10_001},
        {"artifacts": []},
        {"source": {"path": "x"}},
        {"source": {"columns": {"item": ""}}},
        {"format": "xml"},
        {"as": "rows"},
    ],
)
async def test_other_fields_are_bounded(client: httpx.AsyncClient, fields: Json) -> None:
    ok(await store(client, text_output("Tea.")))
    assert refusal(await extract(client, **fields)) == BAD_FIELD


async def test_readers_are_named_where_rows_can_be_read(client: httpx.AsyncClient) -> None:
    ok(await store(client, text_output("Tea.", name="note"), path=f"{MEMORY}/namespaces/text"))
    ok(await store(client, {"kind": "json", "json": [1], "name": "page"}))
    for path, more in (("text", []), ("n", ["extract"])):
        readers = ["query", "summarize", *more]
        found = ok(await client.get(f"{MEMORY}/namespaces/{path}"))
        assert found["reference"]["readableWith"] == readers
        listed = ok(await client.get(f"{MEMORY}/namespaces/{path}/artifacts"))["artifacts"]
        assert [one["readableWith"] for one in listed] == [readers]

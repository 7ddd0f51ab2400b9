"""The history of all memories by keys that are bound to scopes."""

import json

import httpx

from tests.support.bank import history, ok
from tests.support.bound import SCOPES, Bound
from tests.support.cases import in_one_test

_ALL = "/memories/-/revisions"


def _ids(revisions: list[dict[str, str]]) -> set[str]:
    return {one["name"].split("/")[-3] for one in revisions}


@in_one_test(
    "text",
    [
        "",
        "labels.run=first",
        "action=CREATED",
        "action!=DELETED",
        "caller:*",
        'author!="x"',
        "operation:*",
        'memory!="x"',
        'create_time>"2000-01-01"',
        "scope:user_id",
        "scope.user_id:* OR scope.user_id!=42",
        "NOT scope.user_id=none",
    ],
)
async def test_a_bound_key_finds_the_history_of_its_own_memories(bound: Bound, text: str) -> None:
    params = {"filter": text} if text else {}
    found = await history(bound.client, "/memories/-", **params)
    assert _ids(found) == set(bound.kind.memories)
    assert all(one["scope"] == SCOPES[name] for one in found for name in _ids([one]))
    exported = await bound.client.get(f"{_ALL}:export", params=params)
    assert [json.loads(line) for line in exported.text.splitlines()] == found[::-1]


async def test_a_filter_on_what_is_foreign_finds_nothing(bound: Bound) -> None:
    for name in bound.kind.hidden:
        scope = json.dumps(SCOPES[name]).replace('"', '\\"')
        for text in (f"memory={name}", f'scope="{scope}"'):
            assert await history(bound.client, "/memories/-", filter=text) == []


async def test_labels_of_others_are_not_in_use_for_a_bound_key(
    bank: httpx.AsyncClient, bound: Bound
) -> None:
    for name in SCOPES:
        labels = {"revisionLabels": {f"of {name}": "x", "changed": name}}
        ok(await bank.patch(f"/memories/{name}", json={"fact": f"About {name}.", **labels}))
    mine = sorted(f"of {name}" for name in bound.kind.memories)
    for params, wanted in (
        ({}, ["changed", *mine, "run"]),
        ({"key": "changed"}, sorted(bound.kind.memories)),
        ({"prefix": "of "}, mine),
        ({"key": f"of {bound.kind.hidden[0]}"}, []),
    ):
        page = ok(await bound.client.get(f"{_ALL}:listLabels", params=params))
        assert [one.get("value", one["key"]) for one in page["labels"]] == wanted

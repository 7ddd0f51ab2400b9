"""Metadata in the text of a filter means what filter groups do, on random metadata."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product
from random import Random
from typing import Any

from sqlalchemy import BigInteger, column, select, values
from sqlalchemy.dialects.postgresql import JSONB

from app.adapters.db.filters import MetadataField, metadata_clause, to_clause
from app.adapters.db.session import Database
from app.kernel.filters import MetadataFilter, MetadataOperator, MetadataValue, parse_filter, quote
from app.kernel.wire.scalars import format_timestamp
from tests.support.cases import in_one_test

_KEYS = ["k", "any key", "x.y", 'say "it"', "été"]
_NUMBERS = [-2.5, 0.0, 1.0, 2.0, 1e30]
_MOMENTS = [
    datetime(2026, 1, 1, 10, tzinfo=UTC),
    datetime(2026, 1, 1, 10, 0, 0, 900_000, tzinfo=UTC),
    datetime(2026, 1, 2, tzinfo=UTC),
]
# Some are written as values of another type.
_TEXTS = ["", "a", "b\\c", "true", "2", "*", "2026-01-02T00:00:00Z", 'a "b"']
_VALUES: list[MetadataValue] = [*_NUMBERS, *_MOMENTS, *_TEXTS, True, False]
_ORDERS = {"<": MetadataOperator.LESS_THAN, ">": MetadataOperator.GREATER_THAN}
_EQUAL = MetadataOperator.EQUAL

Condition = tuple[str, Sequence[MetadataFilter]]
"""A condition as text, and the filters of groups of which one must hold."""


def stored(value: MetadataValue) -> dict[str, Any]:
    """Return a value as the API does."""
    match value:
        case bool():
            return {"boolValue": value}
        case str():
            return {"stringValue": value}
        case datetime():
            return {"timestampValue": format_timestamp(value)}
        case _:
            return {"doubleValue": value}


def written(value: MetadataValue) -> str:
    """Return a value as the text of a filter has it."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return quote(value)
        case datetime():
            return format_timestamp(value)
        case _:
            return repr(value)


def condition(random: Random) -> Condition:
    key, value = random.choice(_KEYS), random.choice(_VALUES)
    has_order = not isinstance(value, bool | str)
    operator = random.choice(["=", "!=", "<", "<=", ">", ">="] if has_order else ["=", "!="])
    text = f"metadata.{quote(key)}{operator}{written(value)}"
    if operator == "!=":
        return text, [MetadataFilter(key, _EQUAL, value, negate=True)]
    asked = [_ORDERS[operator[0]]] if operator[0] in _ORDERS else []
    asked += [_EQUAL] if operator[-1] == "=" else []
    return text, [MetadataFilter(key, one, value) for one in asked]


def holds(metadata: dict[str, MetadataValue], asked: MetadataFilter) -> bool:
    found = metadata.get(asked.key)
    return _holds(found, asked) is not asked.negate


def _holds(found: MetadataValue | None, asked: MetadataFilter) -> bool:
    if type(found) is not type(asked.value):
        return False
    there, wanted = _comparable(found), _comparable(asked.value)
    if asked.operator is _EQUAL:
        return bool(there == wanted)
    return bool(there < wanted if asked.operator is _ORDERS["<"] else there > wanted)


def _comparable(value: Any) -> Any:
    return value.replace(microsecond=0) if isinstance(value, datetime) else value


@in_one_test("seed", range(60))
async def test_a_filter_finds_what_the_groups_that_mean_the_same_find(
    database: Database, seed: int
) -> None:
    random = Random(seed)
    every = [
        {key: random.choice(_VALUES) for key in _KEYS if random.random() < 0.6} for _ in range(40)
    ]
    rows = values(column("n", BigInteger), column("metadata", JSONB), name="rows").data(
        [
            (n, {key: stored(value) for key, value in metadata.items()})
            for n, metadata in enumerate(every)
        ]
    )
    asked = [[condition(random) for _ in range(random.randint(1, 3))] for _ in range(3)]
    text = " OR ".join(f"({' AND '.join(part for part, _ in group)})" for group in asked)
    groups = [list(one) for group in asked for one in product(*(filters for _, filters in group))]
    fields = {"metadata": MetadataField(rows.c.metadata)}
    conditions = (
        to_clause(parse_filter(text), fields, regex_max_chars=0).condition,
        metadata_clause(rows.c.metadata, groups),
    )
    async with database.snapshot() as session:
        by_text, by_groups = [
            list(await session.scalars(select(rows.c.n).where(one).order_by(rows.c.n)))
            for one in conditions
        ]
    expected = [
        n
        for n, metadata in enumerate(every)
        if any(all(holds(metadata, one) for one in group) for group in groups)
    ]
    assert by_text == by_groups == expected, text

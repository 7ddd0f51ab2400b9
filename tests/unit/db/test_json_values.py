"""JSON of Postgres: the fast parser, and the one that reads what it refuses."""

import json

import pytest

from app.adapters.db.json_values import read_json
from app.adapters.db.server import DirectConnections
from app.adapters.db.session import Database

_DEPTH = 300
_TEXTS = (
    "{}",
    '{"b": [1, 2.0, -0.5, true, null], "a": "\u00e9\U0001f600\\n"}',
    "123456789012345678901234567890",
    "0.30000000000000004",
    # The fast parser refuses these.
    "[" * _DEPTH + "]" * _DEPTH,
    r'"\ud800"',
)


@pytest.mark.parametrize("text", _TEXTS)
@pytest.mark.parametrize("is_text", [True, False])
def test_a_value_is_what_the_standard_parser_reads(text: str, *, is_text: bool) -> None:
    value = read_json(text if is_text else text.encode())
    assert repr(value) == repr(json.loads(text))


async def test_hot_statements_read_it_as_sessions_do(database: Database) -> None:
    deep = _TEXTS[4]
    direct: DirectConnections = database.server.direct
    rows = await direct.run(f"select '{deep}'::jsonb, '{{}}'::json".encode(), [])
    assert rows == [(json.loads(deep), {})]

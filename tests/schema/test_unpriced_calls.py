"""The migration that counts the calls without a price, and the way back."""

import psycopg

from app.adapters.db import migrate

_BEFORE = "e9a6c74f0900"
_ROW = """
insert into model_usage (engine_id, day, model_id, kind, calls, input_tokens, output_tokens,
                         milliseconds, cost)
values (1, '2026-01-15', %s, 'k', 5, 1, 1, 1, %s)
"""


def test_former_rows_have_all_prices_or_an_unknown_number(empty_database_url: str) -> None:
    url = empty_database_url
    migrate.upgrade(url)
    migrate.downgrade(url, _BEFORE)
    with psycopg.connect(url) as connection:
        for model, cost in (("free", 0.0), ("lacking", None), ("priced", 0.5)):
            connection.execute(_ROW, (model, cost))
    migrate.upgrade(url)
    read = "select model_id, cost, unpriced_calls from model_usage order by model_id"
    with psycopg.connect(url) as connection:
        found = connection.execute(read).fetchall()
        assert found == [("free", 0.0, 0), ("lacking", None, None), ("priced", 0.5, 0)]
        connection.execute("update model_usage set unpriced_calls = 2 where model_id = 'priced'")
    migrate.downgrade(url, _BEFORE)
    with psycopg.connect(url) as connection:
        read = "select model_id, cost from model_usage order by model_id"
        assert connection.execute(read).fetchall() == [
            ("free", 0.0),
            ("lacking", None),
            ("priced", None),
        ]

"""Filter trees as SQL: what is bound, and what is refused before the database is asked."""

import pytest
from sqlalchemy import BigInteger, Column, DateTime, MetaData, Table, Text, create_engine, true
from sqlalchemy.dialects.postgresql import JSONB

from app.adapters.db.filter_fields import (
    EnumField,
    IntegerField,
    MapField,
    MemberField,
    OptionalTimestampField,
    ScopeField,
    TextField,
    TimestampField,
    WithheldField,
)
from app.adapters.db.filters import Clause, Fields, to_clause
from app.kernel.errors import InvalidArgument, Reason
from app.kernel.filtering.parser import parse_filter

DIALECT = create_engine("postgresql+psycopg://").dialect
ROWS = Table(
    "rows",
    MetaData(),
    *(Column(name, Text()) for name in ("fact", "state", "scope_hash", "label_rows")),
    Column("create_time", DateTime(timezone=True)),
    Column("delete_time", DateTime(timezone=True)),
    Column("number", BigInteger()),
    *(Column(name, JSONB()) for name in ("scope", "labels", "topics")),
)
FIELDS: Fields = {
    "fact": TextField(ROWS.c.fact),
    "state": EnumField(ROWS.c.state, ["ON", "OFF"]),
    "create_time": TimestampField(ROWS.c.create_time),
    "scope": ScopeField(ROWS.c.scope, lambda scope: ROWS.c.scope_hash == "/".join(scope)),
    "labels": MapField(ROWS.c.labels, lambda key, value: ROWS.c.label_rows == f"{key}/{value}"),
    "topics.managed_memory_topic": MemberField(ROWS.c.topics, "managedMemoryTopic", ["A", "B"]),
    "number": IntegerField(ROWS.c.number),
    "delete_time": OptionalTimestampField(ROWS.c.delete_time),
    "recover_until": WithheldField("showDeleted=true"),
}


def clause(text: str) -> Clause:
    return to_clause(parse_filter(text), FIELDS, regex_max_chars=20)


def sql(text: str) -> str:
    compiled = clause(text).condition.compile(dialect=DIALECT)
    assert "hostile" not in str(compiled)
    return str(compiled)


def test_no_filter_matches_everything() -> None:
    found = to_clause(None, FIELDS, regex_max_chars=20)
    assert found == Clause(true(), uses_regex=False)


@pytest.mark.parametrize(
    "text",
    [
        'fact="hostile\' OR 1=1"',
        'fact:"hostile"',
        'scope."hostile"="hostile"',
        'labels."hostile":*',
        'labels:"hostile"',
        'fact=~"hostile"',
        r'scope="{\"hostile\": \"hostile\"}"',
    ],
)
def test_what_a_caller_wrote_is_bound_not_spelt(text: str) -> None:
    assert "%(" in sql(text)


@pytest.mark.parametrize(
    "text", ["createTime>5", "create_time>5", "topics.managedMemoryTopic:A", "fact=x"]
)
def test_both_spellings_of_fields_are_read(text: str) -> None:
    assert sql(text)


def test_only_regular_expressions_ask_for_a_time_limit() -> None:
    assert not clause("fact=x").uses_regex
    assert clause('state=ON AND NOT (fact=~"x" OR state=OFF)').uses_regex
    assert clause('labels.k!~"x"').uses_regex


def test_indexed_conditions_are_used() -> None:
    assert sql("labels.k=v") == sql("labels.k:v") == "rows.label_rows = %(label_rows_1)s::VARCHAR"
    assert "->>" in sql("labels.k!=v")
    hashed = sql(r'scope="{\"user\": \"1\"}"')
    assert "rows.scope_hash = " in hashed
    assert "rows.scope = " in hashed


def test_the_presence_of_a_moment_is_the_predicate_of_its_index() -> None:
    assert sql("delete_time:*") == sql("deleteTime:*") == "rows.delete_time IS NOT NULL"
    assert sql("delete_time:5") == sql("delete_time=5")


def test_numbers_are_compared_as_numbers() -> None:
    assert sql("number=7") == sql("number:7") == "rows.number = %(param_1)s::BIGINT"
    assert sql("number!=7") == "rows.number IS DISTINCT FROM %(param_1)s::BIGINT"


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("nope=1", 1, 'accepts these fields: fact, state, create_time, scope, scope."key", '),
        ("fact=x nope=1", 8, "accepts these fields"),
        ("scope.a.b=1", 1, "accepts these fields"),
        ("fact.x=1", 1, "accepts these fields"),
        ("topics=1", 1, "accepts these fields"),
        ("fact>1", 1, "fact takes the operators"),
        ("scope=~x", 1, "scope takes the operators"),
        ("labels=x", 1, "labels takes the operators :"),
        ("labels.k<x", 1, 'labels."key" takes the operators != '),
        ("state<ON", 1, "state takes the operators"),
        ("create_time:5", 1, "create_time takes the operators"),
        ("scope:*", 7, "this field does not take a bare *."),
        ('delete_time:"*"', 13, "the value must be an ISO 8601 moment"),
        ("delete_time=~x", 1, "delete_time takes the operators"),
        ("fact=x recover_until:*", 8, "recover_until needs showDeleted=true."),
        ("recoverUntil<5", 1, "recoverUntil needs showDeleted=true."),
        ("state=x", 7, "the value must be one of ON, OFF."),
        ("number=x", 8, "the value must be a whole number of 0 to 9223372036854775807."),
        ("number=9223372036854775808", 8, "the value must be a whole number of 0 to"),
        ("number=1.5", 8, "the value must be a whole number of 0 to"),
        ("number>1", 1, "number takes the operators"),
        ("topics.managed_memory_topic=x", 29, "the value must be one of A, B."),
        ("create_time=x", 13, "the value must be an ISO 8601 moment"),
        ('create_time="2030-02-30"', 13, "the value must be an ISO 8601 moment"),
        ("create_time=999999999999999999", 13, "the value must be an ISO 8601 moment"),
        ("scope=x", 7, "the value must be a JSON object of texts"),
        ('scope="[]"', 7, "the value must be a JSON object of texts"),
        (r'scope="{\"a\": 1}"', 7, "the value must be a JSON object of texts"),
        (r'scope="{\"a\": \"\\u0000\"}"', 7, "the value must be a JSON object of texts"),
        (r'scope="{\"a\": \"1\", \"a\": \"2\"}"', 7, "the value must be a JSON object of texts"),
        (r'scope="{\"\\ud800\": \"\"}"', 7, "the value must be a JSON object of texts"),
        (f'scope="{"[" * 3000}"', 7, "the value must be a JSON object of texts"),
        ('fact=~"("', 7, "a regular expression must have RE2 syntax."),
        (f'fact=~"{"a" * 21}"', 7, "a regular expression must have at most 20 characters."),
    ],
)
def test_what_does_not_fit_is_refused_with_its_column(
    text: str, column: int, expected: str
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        clause(text)
    assert refused.value.reason is Reason.FILTER_INVALID
    assert f"filter: column {column}: {expected}" in refused.value.message

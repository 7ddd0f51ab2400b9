"""Filter trees as SQL: what is bound, and what is refused before the database is asked."""

import pytest
from sqlalchemy import BigInteger, Column, DateTime, MetaData, Table, Text, create_engine, true
from sqlalchemy.dialects.postgresql import JSONB

from app.adapters.db.filter_fields import (
    BooleanField,
    EnumField,
    IntegerField,
    MapField,
    MemberField,
    NumberField,
    OptionalTimestampField,
    ScopeField,
    TextField,
    TimestampField,
)
from app.adapters.db.filters import Clause, Fields, MetadataField, to_clause
from app.adapters.db.resource_fields import (
    OptionalResourceField,
    ResourceField,
    ScopesField,
    WithheldField,
)
from app.kernel.errors import InvalidArgument, Reason
from app.kernel.filters import parse_filter
from app.kernel.names import EngineName

DIALECT = create_engine("postgresql+psycopg://").dialect
ROWS = Table(
    "rows",
    MetaData(),
    *(Column(name, Text()) for name in ("fact", "state", "scope_hash", "label_rows", "made_by")),
    Column("create_time", DateTime(timezone=True)),
    Column("delete_time", DateTime(timezone=True)),
    Column("number", BigInteger()),
    *(Column(name, JSONB()) for name in ("scope", "labels", "topics", "metadata", "scopes")),
)
ENGINE = EngineName("p", "l", 7)
FIELDS: Fields = {
    "fact": TextField(ROWS.c.fact),
    "state": EnumField(ROWS.c.state, ["ON", "OFF"]),
    "create_time": TimestampField(ROWS.c.create_time),
    "scope": ScopeField(ROWS.c.scope, lambda scope: ROWS.c.scope_hash == "/".join(scope)),
    "labels": MapField(ROWS.c.labels, lambda key, value: ROWS.c.label_rows == f"{key}/{value}"),
    "topics.managed_memory_topic": MemberField(ROWS.c.topics, "managedMemoryTopic", ["A", "B"]),
    "number": IntegerField(ROWS.c.number),
    "metadata": MetadataField(ROWS.c.metadata),
    "count": NumberField(ROWS.c.number),
    "is_on": BooleanField(ROWS.c.state == "ON", ROWS.c.state != "ON"),
    "code": EnumField(ROWS.c.state, {"YES": "y'1"}),
    "user": ScopesField(ROWS.c.scopes),
    "memory": ResourceField(ROWS.c.fact, ENGINE, r"memories/([^/]+)"),
    "made_by": OptionalResourceField(ROWS.c.made_by, ENGINE, r"(?:memories/x/)?operations/([^/]+)"),
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
    assert found == Clause(true(), needs_limit=False)


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
        'user."hostile"="hostile"',
        'user."hostile":*',
    ],
)
def test_what_a_caller_wrote_is_bound_not_spelt(text: str) -> None:
    assert "%(" in sql(text)


@pytest.mark.parametrize(
    "text", ["createTime>5", "create_time>5", "topics.managedMemoryTopic:A", "fact=x"]
)
def test_both_spellings_of_fields_are_read(text: str) -> None:
    assert sql(text)


def test_what_no_index_serves_asks_for_a_time_limit() -> None:
    assert not clause("fact=x").needs_limit
    assert clause("fact=x AND NOT metadata.k:*").needs_limit
    assert clause('state=ON AND NOT (fact=~"x" OR state=OFF)').needs_limit
    assert clause('labels.k!~"x"').needs_limit


def test_indexed_conditions_are_used() -> None:
    assert sql("labels.k=v") == sql("labels.k:v") == "rows.label_rows = %(label_rows_1)s::VARCHAR"
    assert "->>" in sql("labels.k!=v")
    hashed = sql(r'scope="{\"user\": \"1\"}"')
    assert "rows.scope_hash = " in hashed
    assert "rows.scope = " in hashed

    assert sql("scope.k=v") == sql("scope.k:v") == "rows.scope @> %(param_1)s::JSONB"
    assert "->>" in sql("scope.k!=v")


@pytest.mark.parametrize(
    "text",
    [
        "17",
        "reasoningEngines/7/memories/17",
        "memoryBanks/7/memories/17",
        "projects/p/locations/l/reasoningEngines/7/memories/17",
        "projects/-/locations/-/reasoningEngines/7/memories/17",
        "projects/p/locations/-/memoryBanks/7/memories/17",
    ],
)
def test_a_resource_is_named_by_its_id_or_in_full(text: str) -> None:
    compiled = clause(f'memory="{text}"').condition.compile(dialect=DIALECT)
    assert compiled.params == {"param_1": "17"}


@pytest.mark.parametrize(
    "text",
    [
        "reasoningEngines/8/memories/17",
        "projects/other/locations/l/reasoningEngines/7/memories/17",
        "projects/p/locations/other/reasoningEngines/7/memories/17",
        "projects/p/reasoningEngines/7/memories/17",
        "engines/7/memories/17",
        "memories/17",
        "reasoningEngines/7/operations/17",
        "reasoningEngines/7/memories/17/revisions/1",
        "reasoningEngines/7/memories/",
        "/",
    ],
)
def test_a_resource_of_another_kind_or_engine_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="the value must be an id, or a full name in this"):
        clause(f'memory="{text}"')


def test_an_optional_resource_may_be_missing() -> None:
    assert sql("made_by:*") == "rows.made_by IS NOT NULL"
    assert sql("made_by!=1") == "rows.made_by IS DISTINCT FROM %(param_1)s::VARCHAR"
    for name in ("reasoningEngines/7/operations/1", "reasoningEngines/7/memories/x/operations/1"):
        assert sql(f'made_by="{name}"') == "rows.made_by = %(param_1)s::VARCHAR"


def test_a_known_name_is_spelt_so_that_partial_indexes_serve_it() -> None:
    compiled = clause("state=ON OR code!=YES").condition.compile(
        dialect=DIALECT, compile_kwargs={"render_postcompile": True}
    )
    spelt = "rows.state = 'ON' OR rows.state IS DISTINCT FROM 'y''1'"
    assert (str(compiled), compiled.params) == (spelt, {})


def test_a_truth_value_is_one_of_two_conditions() -> None:
    assert sql("is_on=true") == sql("is_on!=false") == sql('is_on="true"')
    assert sql("is_on=false") == sql("is_on!=true") != sql("is_on=true")


def test_the_presence_of_a_moment_is_the_predicate_of_its_index() -> None:
    assert sql("delete_time:*") == sql("deleteTime:*") == "rows.delete_time IS NOT NULL"
    assert sql("delete_time:5") == sql("delete_time=5")


def test_numbers_are_compared_as_numbers() -> None:
    assert sql("number=7") == sql("number:7") == "rows.number = %(param_1)s::BIGINT"
    assert sql("number!=7") == "rows.number IS DISTINCT FROM %(param_1)s::BIGINT"
    assert sql("count>=7") == "rows.number >= %(param_1)s::BIGINT"
    assert sql("count=7") == sql("number=7")
    assert sql("count!=7") == sql("number!=7")


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
        ("count>x", 7, "the value must be a whole number of 0 to 9223372036854775807."),
        ("count<-1", 7, "the value must be a whole number of 0 to"),
        ("count:1", 1, "count takes the operators != < <= = > >="),
        ("count:*", 1, "count takes the operators"),
        ("is_on=1", 7, "the value must be one of true, false."),
        ("is_on:true", 1, "is_on takes the operators != ="),
        ("code=ON", 6, "the value must be one of YES."),
        ("user=x", 6, "the value must be a JSON object of texts"),
        ("user:*", 1, "user takes the operators != ="),
        ("metadata=x", 1, 'must name a key: metadata."key".'),
        ("user.k=~x", 1, 'user."key" takes the operators != : ='),
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
        ("memory:x", 1, "memory takes the operators != ="),
        ("made_by<x", 1, "made_by takes the operators != : ="),
        ("made_by:x", 9, "the value after a colon must be a bare *."),
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

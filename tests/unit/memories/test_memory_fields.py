"""A memory's columns are declared once: whoever forgets a part of a new one is told its name."""

import subprocess
import sys

import pytest
from sqlalchemy import Column, MetaData, Text
from sqlalchemy.orm import DeclarativeBase

from app.memory.memories.schemas.memories import MemoryFields, check_fields
from app.memory.memories.services.memories import _COLUMNS
from app.memory.memories.store import columns, fast_sql
from app.memory.memories.store.columns import MemoryRecord
from app.memory.memories.store.repository import FILTER_FIELDS
from app.memory.memories.store.tables import (
    ColumnRole,
    MemoryContent,
    MemoryRow,
    RevisionRow,
    check_equal,
    columns_of,
    counted_columns,
)

ROWS = [MemoryRow, RevisionRow]
_FORGETFUL = """
from sqlalchemy import Text
from sqlalchemy.orm import mapped_column
from app.memory.memories.store.tables import MemoryRow, RevisionRow
for row in (MemoryRow, RevisionRow):
    info = {"role": row.__table__.c.context.info.get("role")} if %r else {}
    row.unlisted = mapped_column("unlisted", Text, info=info)
import app.process.main
"""


def attributes(row: type[DeclarativeBase], *roles: ColumnRole) -> set[str]:
    """Return the attributes with these roles, read from the mapping itself."""
    mapped = row.__mapper__.column_attrs
    return {one.key for one in mapped if one.columns[0].info["role"] in roles}


def with_probe(row: type[DeclarativeBase], role: ColumnRole | None) -> type[DeclarativeBase]:
    """Return a row with one column more, apart from the service's own tables."""
    info = {} if role is None else {"role": role}
    table = row.__table__.to_metadata(MetaData())  # type: ignore[attr-defined]
    table.append_column(Column("unlisted", Text, info=info))
    base = type("ProbeBase", (DeclarativeBase,), {"metadata": table.metadata})
    mapped = {"__table__": table, "user_metadata": table.c.metadata}
    found: type[DeclarativeBase] = type(row.__name__, (base,), mapped)
    return found


@pytest.mark.parametrize("row", ROWS)
def test_every_column_has_a_role(row: type[DeclarativeBase]) -> None:
    assert set(columns_of(row)) == attributes(row, *ColumnRole)


@pytest.mark.parametrize("row", ROWS)
def test_a_column_without_a_role_is_named(row: type[DeclarativeBase]) -> None:
    with pytest.raises(AssertionError, match=rf"{row.__name__}.*unlisted"):
        columns_of(with_probe(row, None))


@pytest.mark.parametrize("role", [ColumnRole.CONTENT, ColumnRole.KEPT, ColumnRole.STATE])
def test_a_column_that_the_schema_lacks_is_named(role: ColumnRole) -> None:
    with pytest.raises(AssertionError, match=r"Memory.* must have .*missing: \['unlisted'\]"):
        check_fields(with_probe(MemoryRow, role))


@pytest.mark.parametrize(
    "role", [ColumnRole.PROVENANCE, ColumnRole.SEARCH, ColumnRole.COMPUTED, ColumnRole.TOMBSTONE]
)
def test_other_columns_are_not_on_the_wire(role: ColumnRole) -> None:
    check_fields(with_probe(MemoryRow, role))


@pytest.mark.parametrize(
    "role", [ColumnRole.CONTENT, ColumnRole.KEPT, ColumnRole.PROVENANCE, ColumnRole.STATE]
)
def test_a_column_that_the_record_lacks_is_named(role: ColumnRole) -> None:
    declared = columns.read_fields(with_probe(MemoryRow, role))
    with pytest.raises(AssertionError, match=r"MemoryRecord must have .*missing: \['unlisted'\]"):
        check_equal("MemoryRecord", MemoryRecord._fields, declared)


@pytest.mark.parametrize(
    "role",
    [
        ColumnRole.CONTENT,
        ColumnRole.KEPT,
        ColumnRole.PROVENANCE,
        ColumnRole.STATE,
        ColumnRole.SEARCH,
    ],
)
def test_the_one_statement_inserts_what_is_declared(role: ColumnRole) -> None:
    assert columns.inserted_fields(with_probe(MemoryRow, role))[-1] == "unlisted"


@pytest.mark.parametrize("has_role", [False, True], ids=["without a role", "with a role"])
def test_a_service_that_forgets_a_column_does_not_start(*, has_role: bool) -> None:
    # A column that was added in the obvious way used to be lost by an engine's third create.
    script = [sys.executable, "-c", _FORGETFUL % has_role]
    ran = subprocess.run(script, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "AssertionError" in ran.stderr
    assert "unlisted" in ran.stderr.splitlines()[-1]


def test_the_lists_are_those_of_the_declaration() -> None:
    shared = {ColumnRole.CONTENT, ColumnRole.KEPT, ColumnRole.PROVENANCE}
    written = set(ColumnRole) - {ColumnRole.COMPUTED, ColumnRole.TOMBSTONE}
    assert set(fast_sql._MEMORY.attributes.split()) == attributes(MemoryRow, *written)
    assert set(fast_sql._REVISION.attributes.split()) == attributes(RevisionRow, *written)
    assert set(MemoryRecord._fields) == attributes(MemoryRow, *shared, ColumnRole.STATE) | {
        "memory_id"
    }
    assert set(columns.CONTENT_FIELDS) == attributes(
        MemoryRow, ColumnRole.CONTENT, ColumnRole.PROVENANCE
    )
    assert set(_COLUMNS.values()) == attributes(MemoryRow, ColumnRole.CONTENT)
    copied = attributes(RevisionRow, *set(ColumnRole) - {ColumnRole.HISTORY})
    assert set(columns.COPIED_FIELDS) == copied <= attributes(MemoryRow, *ColumnRole)
    assert fast_sql.COLUMNS.count("m.") == len(MemoryRecord._fields)
    for row in ROWS:
        assert attributes(row, *shared) == set(MemoryContent.__annotations__)


def test_what_is_not_read_is_not_loaded() -> None:
    loaded = {one.key for one in MemoryRow.__mapper__.column_attrs if not one.deferred}
    assert loaded == attributes(
        MemoryRow, *set(ColumnRole) - {ColumnRole.SEARCH, ColumnRole.COMPUTED}
    )


def test_a_request_without_content_has_what_columns_hold_without() -> None:
    assert MemoryFields().content() == columns.no_content()
    assert columns.no_content()["topics"] is not columns.no_content()["topics"]
    required = {name for name in columns.CONTENT_FIELDS if not columns_of(MemoryRow)[name].nullable}
    assert {name for name, value in columns.no_content().items() if value is not None} == required


def test_filters_and_totals_name_what_the_declaration_says() -> None:
    content = {one.name for one in columns_of(MemoryRow, ColumnRole.CONTENT).values()}
    assert counted_columns(MemoryRow) == content | {"scope"}
    assert counted_columns(RevisionRow) == content | {"labels", "extracted_memories"}
    named = {name for name in FILTER_FIELDS if "." not in name}
    times = {"create_time", "update_time", "event_time", "expire_time"}
    assert named == {"scope", "fact", "display_name", "memory_type", "metadata", *times}

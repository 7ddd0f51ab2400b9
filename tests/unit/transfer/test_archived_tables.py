"""Every table is in an archive or left out with a reason, and so is every column."""

from datetime import date, datetime, timedelta

import pytest
from sqlalchemy import JSON, Column
from sqlalchemy.dialects.postgresql import ARRAY

from app.memory.transfer.logic import fields
from app.memory.transfer.logic.fields import Codec, LineKind
from app.memory.transfer.logic.kinds import BY_NAME, KINDS, NOT_ARCHIVED, OMITTED
from app.process.features import FEATURES
from app.process.metadata import metadata

_OF_PYTHON: dict[type, set[Codec]] = {
    str: {fields.TEXT},
    int: {fields.WHOLE, fields.ID, fields.OFFSET},
    float: {fields.NUMBER, fields.PLACE},
    bool: {fields.FLAG},
    bytes: {fields.HASH, fields.DATA},
    datetime: {fields.TIME},
    date: {fields.DAY},
    timedelta: {fields.DURATION},
}


def test_every_table_is_archived_or_left_out_with_a_reason() -> None:
    archived = [kind.table for kind in KINDS]
    assert sorted([*archived, *NOT_ARCHIVED]) == sorted(metadata.tables)
    assert all(NOT_ARCHIVED.values())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_column_is_written_or_left_out_with_a_reason(kind: LineKind) -> None:
    columns = metadata.tables[kind.table].columns
    written = [one.column for one in kind.fields if one.column != OMITTED]
    assert sorted([*written, *kind.left_out]) == sorted(columns.keys())
    assert all(kind.left_out.values())
    assert {one.column: one.is_nullable for one in kind.fields if one.column != OMITTED} == {
        name: bool(columns[name].nullable) for name in written
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_line_names_each_field_once(kind: LineKind) -> None:
    wires = [one.wire for one in kind.fields]
    assert len({*wires, "kind", "revisions"}) == len(wires) + 2
    assert BY_NAME[kind.name] is kind
    assert {*kind.key, *kind.names} <= {one.column for one in kind.fields}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_column_has_a_codec_of_its_type(kind: LineKind) -> None:
    columns = metadata.tables[kind.table].columns
    assert [
        one.column
        for one in kind.fields
        if one.column != OMITTED and one.codec not in _codecs_of(columns[one.column])
    ] == []


def _codecs_of(column: Column[object]) -> set[Codec]:
    if isinstance(column.type, JSON):
        return {fields.OBJECT, fields.OBJECTS}
    if isinstance(column.type, ARRAY):
        return {fields.TEXTS}
    if type(column.type).__name__ == "HALFVEC":
        return {fields.VECTOR}
    return _OF_PYTHON[column.type.python_type]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_column_has_a_type_of_the_api(kind: LineKind) -> None:
    """A feature says of each kind of lines how its values are validated."""
    rows = {
        name: row for one in FEATURES if one.archived for name, row in one.archived.rows.items()
    }
    assert set(rows[kind.name].model_fields) == {one.column for one in kind.fields}

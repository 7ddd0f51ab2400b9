"""Pages of several lists as one."""

from dataclasses import dataclass

import pytest

from app.adapters.db.lists import ReadRows, Slice, merged
from app.platform.audit.store import AuditEventRow


@dataclass(frozen=True)
class Row:
    event_id: str


def _rows(*ids: str) -> list[Row]:
    return [Row(event_id) for event_id in ids]


@pytest.mark.parametrize(
    ("parts", "is_descending", "expected"),
    [
        (["", ""], False, ("", False)),
        (["ad", "bc"], False, ("abcd", False)),
        (["da", "cb"], True, ("dcba", False)),
        (["abcde", "f"], False, ("abcd", True)),
        # Of a list with more rows than were read, none may be passed over.
        (["ab+", "cd"], False, ("ab", True)),
        (["dc+", "eba"], True, ("edc", True)),
        (["ac+", "bd+"], False, ("abc", True)),
    ],
)
def test_rows_are_in_the_order_of_all(
    parts: list[str], expected: tuple[str, bool], *, is_descending: bool
) -> None:
    page = Slice((AuditEventRow.event_id,), 4, is_descending=is_descending)
    read = [ReadRows(_rows(*part.rstrip("+")), part.endswith("+")) for part in parts]
    found = merged(read, page)
    assert ("".join(row.event_id for row in found.rows), found.has_more) == expected

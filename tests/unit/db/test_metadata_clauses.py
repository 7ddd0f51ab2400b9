"""Filter groups as SQL: what is bound, and what is refused."""

import pytest
from sqlalchemy import column, true
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import JSONB

from app.adapters.db.filters import metadata_clause
from app.kernel.errors import InvalidArgument
from app.kernel.filters import MetadataFilter, MetadataOperator

METADATA = column("metadata", JSONB())
EQUAL, GREATER, LESS = (
    MetadataOperator.EQUAL,
    MetadataOperator.GREATER_THAN,
    MetadataOperator.LESS_THAN,
)


def test_without_groups_everything_matches() -> None:
    assert metadata_clause(METADATA, []) == true()


def test_keys_and_values_are_bound() -> None:
    groups = [
        [MetadataFilter("hostile", EQUAL, "hostile"), MetadataFilter("hostile", LESS, "hostile")],
        [MetadataFilter("hostile", GREATER, 1.5, negate=True)],
    ]
    compiled = metadata_clause(METADATA, groups).compile(dialect=postgresql.dialect())  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it so
    assert "hostile" not in str(compiled)


def test_an_empty_group_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"filterGroups\[1\].filters: must hold"):
        metadata_clause(METADATA, [[MetadataFilter("a", EQUAL, True)], []])


@pytest.mark.parametrize("operator", [GREATER, LESS])
def test_booleans_have_no_order(operator: MetadataOperator) -> None:
    with pytest.raises(InvalidArgument, match=r"filterGroups\[0\].filters\[0\].op: must be EQUAL"):
        metadata_clause(METADATA, [[MetadataFilter("a", operator, True)]])

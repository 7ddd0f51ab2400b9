"""The list of operations and the fields that its filter accepts."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Text, and_, func, literal, null, or_, select
from sqlalchemy.orm import aliased

from app.adapters.db.filter_fields import BooleanField, EnumField, TextField, TimestampField
from app.adapters.db.filters import Fields
from app.adapters.db.lists import List
from app.adapters.db.resource_fields import ResourceField, ScopesField
from app.kernel.errors import Reason, ServiceError
from app.kernel.names import EngineName
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.failures import AUTHOR, REASON
from app.platform.operations.store.kept_requests import RETRIED_BY
from app.platform.operations.store.queue import FAILED, PENDING, RUNNING
from app.platform.operations.store.tables import OperationRow, source_session

_CODES = {error.status: str(error.code) for error in ServiceError.__subclasses__()}
"""The canonical codes of errors, with the numbers that are stored."""
_BELOW = "(?:(?:memories|sessions)/[^/]+/)?"
"""The memory or session that the names of some operations contain."""


def _has_recovered() -> ColumnElement[bool]:
    """Select failed operations that were retried until one of their retries succeeded."""
    newer = aliased(OperationRow)
    next_of = OperationRow.details[RETRIED_BY].astext
    runs = (
        select(next_of.label("next"), null().cast(Text).label("state"))
        .correlate(OperationRow)
        .cte("runs", recursive=True, nesting=True)
    )
    again = (
        select(newer.details[RETRIED_BY].astext, newer.state)
        .join_from(
            runs,
            newer,
            and_(
                newer.engine_id == OperationRow.engine_id,
                newer.operation_id == func.split_part(runs.c.next, "/operations/", 2),
            ),
        )
        .correlate(OperationRow)
    )
    runs = runs.union(again)
    succeeded = (
        select(literal(1))
        .where(runs.c.state == OperationState.SUCCEEDED)
        .correlate(OperationRow)
        .exists()
    )
    # Most operations are left out before the search for their retries.
    return and_(
        OperationRow.state == FAILED, OperationRow.details.bool_op("?")(RETRIED_BY), succeeded
    )


_FIELDS: Fields = {
    "done": BooleanField(
        and_(OperationRow.state != PENDING, OperationRow.state != RUNNING),
        # The same condition as in the index.
        or_(OperationRow.state == PENDING, OperationRow.state == RUNNING),
    ),
    "retried": BooleanField(_has_recovered(), ~_has_recovered()),
    "state": EnumField(OperationRow.state, tuple(OperationState)),
    "error.code": EnumField(OperationRow.error["code"].astext, dict(sorted(_CODES.items()))),
    "error.reason": EnumField(REASON, tuple(Reason)),
    "author": TextField(AUTHOR),
    "caller": TextField(OperationRow.caller),
    "create_time": TimestampField(OperationRow.create_time),
    "update_time": TimestampField(OperationRow.update_time),
    "scope": ScopesField(OperationRow.scopes),
}


def operations(engine: EngineName, kinds: Collection[str]) -> List:
    """Return the list of an engine's operations; `kinds` are those that the features register."""
    fields = {
        **_FIELDS,
        "name": ResourceField(OperationRow.operation_id, engine, _BELOW + "operations/([^/]+)"),
        "kind": EnumField(OperationRow.kind, kinds),
        "source.session": ResourceField(source_session(), engine, "sessions/([^/]+)"),
    }
    # Ids are 18 digits ordered by time, so text order is creation order.
    return List("operations", (OperationRow.operation_id,), is_descending=True, fields=fields)

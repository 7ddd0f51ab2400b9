"""The list of operations and the fields that its filter accepts."""

from collections.abc import Collection

from sqlalchemy import and_, or_

from app.adapters.db.filter_fields import BooleanField, EnumField, TextField, TimestampField
from app.adapters.db.filters import Fields
from app.adapters.db.lists import List
from app.adapters.db.resource_fields import ResourceField, ScopesField
from app.kernel.errors import Reason, ServiceError
from app.kernel.names import EngineName
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.queue import PENDING, RUNNING
from app.platform.operations.store.tables import OperationRow, source_session

_CODES = {error.status: str(error.code) for error in ServiceError.__subclasses__()}
"""The canonical codes of errors, with the numbers that are stored."""
_BELOW = "(?:(?:memories|sessions)/[^/]+/)?"
"""The memory or session that the names of some operations contain."""
_ERROR = OperationRow.error
_FIELDS: Fields = {
    "done": BooleanField(
        and_(OperationRow.state != PENDING, OperationRow.state != RUNNING),
        # The same condition as in the index.
        or_(OperationRow.state == PENDING, OperationRow.state == RUNNING),
    ),
    "state": EnumField(OperationRow.state, tuple(OperationState)),
    "error.code": EnumField(_ERROR["code"].astext, dict(sorted(_CODES.items()))),
    "error.reason": EnumField(_ERROR["details"][0]["reason"].astext, tuple(Reason)),
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

"""Statements on the states that sessions share.

Writers lock the session first, then the state of its user, then the state of its engine.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Text, literal, select, update
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert

from app.adapters.db.conditions import conditions_of
from app.adapters.db.session import Session
from app.kernel.errors import InvalidArgument, PermissionDenied, Reason
from app.kernel.permissions import Permission
from app.kernel.wire.objects import size_of
from app.platform.sessions.logic.states import APP, USER, SharedState, StateParts
from app.platform.sessions.store.tables import AppStateRow, UserStateRow

SETTING = "max_shared_state_bytes"


@dataclass(frozen=True)
class StateChange:
    """A change of a session's shared state.

    Attributes:
        removes_nulls: True if a null removes its key; otherwise null is a value like any other.
    """

    engine_id: int
    user_id: str
    parts: StateParts
    field: str
    permission: Permission
    most_bytes: int
    removes_nulls: bool = False


async def read(session: Session, engine_id: int, users: Collection[str]) -> SharedState:
    """Return the shared states of these users' sessions."""
    theirs = select(UserStateRow.user_id, UserStateRow.state).where(
        UserStateRow.engine_id == engine_id, UserStateRow.user_id.in_(sorted(users))
    )
    of_all = select(AppStateRow.state).where(AppStateRow.engine_id == engine_id)
    states = {row.user_id: row.state for row in await session.execute(theirs)}
    return SharedState(states, (await session.execute(of_all)).scalar_one_or_none() or {})


async def write(session: Session, change: StateChange) -> None:
    """Write the changes of shared state that differ from the stored state; the session is locked.

    Thus a caller that sends back an unchanged state writes no rows outside its reach.

    Raises:
        InvalidArgument: a state would become too large; the message names the field.
        PermissionDenied: a restricted caller would change the state that all users share.
    """
    if not (change.parts.user or change.parts.app):
        return
    shared = await read(session, change.engine_id, [change.user_id])
    user = _changed(change, change.parts.user, shared.users.get(change.user_id, {}))
    app = _changed(change, change.parts.app, shared.app)
    if app and conditions_of(session):
        raise PermissionDenied(
            f"{change.field}: keys that start with {APP} are shared by all users of"
            f" reasoningEngines/{change.engine_id}; a key that is restricted to a part of it can"
            " read, but not change them.",
            Reason.PERMISSION_MISSING,
            metadata={"permission": change.permission.value},
        )
    if user:
        state = await _write_users(session, change, user)
        _check_size(change, state, f"the state that the user's sessions share ({USER} keys)")
    if app:
        state = await _write_apps(session, change, app)
        _check_size(change, state, f"the state that all sessions share ({APP} keys)")


def _changed(
    change: StateChange, sent: Mapping[str, Any], stored: Mapping[str, Any]
) -> Mapping[str, Any]:

    def is_there(key: str, value: object) -> bool:
        if value is None and change.removes_nulls:
            return key not in stored
        # Compared as texts: in Python, 1 equals true.
        return key in stored and _text(stored[key]) == _text(value)

    return {key: value for key, value in sent.items() if not is_there(key, value)}


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


async def _write_users(
    session: Session, change: StateChange, state: Mapping[str, Any]
) -> dict[str, Any]:
    key = {"engine_id": change.engine_id, "user_id": change.user_id}
    # The caller's conditions can be added to an update, but not to an upsert.
    replaced = (
        update(UserStateRow)
        .where(UserStateRow.engine_id == change.engine_id, UserStateRow.user_id == change.user_id)
        .values(state=_merged(UserStateRow.state, change, state))
        .returning(UserStateRow.state)
        .execution_options(synchronize_session=False)
    )
    inserted = (
        insert(UserStateRow)
        .values(**key, state=_kept_keys(change, state))
        .on_conflict_do_nothing()
        .returning(UserStateRow.state)
    )
    return await _first_state(session, replaced, inserted, replaced)


async def _write_apps(
    session: Session, change: StateChange, state: Mapping[str, Any]
) -> dict[str, Any]:
    new = insert(AppStateRow).values(engine_id=change.engine_id, state=_kept_keys(change, state))
    statement = new.on_conflict_do_update(
        index_elements=[AppStateRow.engine_id],
        set_={"state": _merged(AppStateRow.state, change, state)},
    ).returning(AppStateRow.state)
    return await _first_state(session, statement)


async def _first_state(session: Session, *statements: Any) -> dict[str, Any]:  # noqa: ANN401 - SQLAlchemy has no common type
    for statement in statements:
        state: dict[str, Any] | None = (await session.execute(statement)).scalar_one_or_none()
        if state is not None:
            return state
    raise AssertionError("An existing state could not be changed.")


def _kept_keys(change: StateChange, state: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in state.items() if not (value is None and change.removes_nulls)
    }


def _merged(column: Any, change: StateChange, state: Mapping[str, Any]) -> Any:  # noqa: ANN401 - SQLAlchemy's own
    given = _kept_keys(change, state)
    removed = sorted(state.keys() - given.keys())
    return column.op("-")(literal(removed, ARRAY(Text()))).op("||")(literal(given, JSONB()))


def _check_size(change: StateChange, state: Mapping[str, Any], what: str) -> None:
    if size_of(state) > change.most_bytes:
        raise InvalidArgument.of_field(
            change.field,
            f"{what} must have at most {change.most_bytes} bytes as JSON (setting {SETTING}).",
        )

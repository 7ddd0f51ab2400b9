"""The frames of a change: one answer in the transaction of its effects, or nothing at all."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.adapters.resources import Resources
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import AlreadyExists
from app.kernel.names import EngineName
from app.platform.engines.store import repository as engines
from app.platform.operations.logic.states import EMPTY
from app.platform.operations.services.mutation import Method, mutate, unlocked, write
from app.platform.operations.store.tables import OperationRow, RequestIdRow
from tests.support.bank import count

_METHOD = Method("tests.change", "UpdateMemory")
_ONCE = IdempotencyKey("caller", "request", b"digest", timedelta(days=1))
_ENGINE = engines.locked(EngineName("default", "local", 1))


async def test_a_change_without_an_answer_leaves_nothing(resources: Resources) -> None:
    with pytest.raises(AssertionError, match="neither done nor queued"):
        async with mutate(resources, _ENGINE, _METHOD, _ONCE):
            pass
    assert await count(resources.db, OperationRow, RequestIdRow) == (0, 0)


async def test_a_repetition_has_the_first_answer_and_cannot_give_another(
    resources: Resources,
) -> None:
    async with mutate(resources, _ENGINE, _METHOD, _ONCE, scopes={"user_id": ["1"]}) as change:
        change.concerns({"user_id": "2"})
        change.note(detail=1)
        first = await change.done(EMPTY)
    async with mutate(resources, _ENGINE, _METHOD, _ONCE) as again:
        assert again.replayed is not None
        assert again.replayed.operation_id == first.operation_id
    assert (first.scopes, first.details["detail"]) == ({"user_id": ["2"]}, 1)
    async with mutate(resources, _ENGINE, _METHOD, None) as twice:
        await twice.done(EMPTY)
        with pytest.raises(AssertionError, match="answered twice"):
            await twice.queue(None, {})
    with pytest.raises(AssertionError, match="writes nothing"):
        async with mutate(resources, _ENGINE, _METHOD, _ONCE) as again:
            await again.done(EMPTY)
    assert await count(resources.db, OperationRow, RequestIdRow) == (2, 1)


async def test_a_change_without_an_operation_stores_its_answer_once(resources: Resources) -> None:
    async with write(resources, _ENGINE, _ONCE) as change:
        assert change.replayed is None
        await change.answer({"n": 1})
    async with write(resources, _ENGINE, _ONCE) as again:
        assert again.replayed is not None
        assert again.replayed.answer == {"n": 1}
        with pytest.raises(AssertionError, match="writes nothing"):
            await again.answer({"n": 2})
    other = replace(_ONCE, request_hash=b"other")
    with pytest.raises(AlreadyExists):
        async with write(resources, unlocked(EngineName("default", "local", 1)), other):
            pass
    assert await count(resources.db, OperationRow, RequestIdRow) == (0, 1)

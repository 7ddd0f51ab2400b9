"""Content of former sessions, by keys that are bound to scopes."""

from datetime import timedelta

import httpx
import pytest

from app.kernel.clock import FixedClock
from app.kernel.wire.memory_policy import CarryOver
from app.platform.operations.services.runner import Runner
from tests.support.bank import GONE, ok, refusal
from tests.support.bound import USERS, Bound
from tests.support.sessions import create_session
from tests.support.summaries import context, talk

_POLICY = {"strategy": "every_n", "every": 1}


@pytest.fixture
async def following(bank: httpx.AsyncClient, clock: FixedClock, runner: Runner) -> None:
    """A second session of each user, `t-<user>`, after one with a summary."""
    for user in USERS:
        path = f"/sessions/s-{user}"
        ok(await bank.patch(path, json={"memoryPolicy": _POLICY}))
        ok(await bank.post(f"{path}/exchanges", json={"input": f"I am {user}.", "output": "Hi."}))
    await runner.run_pending()
    clock.advance(timedelta(minutes=1))
    for user in USERS:
        await create_session(bank, f"u-{user}", userId=user)
        await talk(bank, f"/sessions/u-{user}", 1)
    clock.advance(timedelta(minutes=1))
    for user in USERS:
        await create_session(bank, f"t-{user}", userId=user)


@pytest.mark.usefixtures("following")
@pytest.mark.parametrize("mode", CarryOver)
async def test_former_sessions_are_carried_over_where_the_key_sees_them(
    bound: Bound, mode: CarryOver
) -> None:
    policy = {"strategy": "inclusive", "carryOver": mode}
    for user in bound.kind.users:
        found = await context(bound.client, f"/sessions/t-{user}", policy=policy)
        former = [one["session"].rpartition("/")[2] for one in found["carriedOver"]["sessions"]]
        assert former == ([f"u-{user}"] if mode is CarryOver.LAST else [f"s-{user}", f"u-{user}"])
        text = found["messages"][0]["content"]
        assert (f"I am {user}." in text) is (mode is not CarryOver.LAST)
        assert "question 1" in text
        assert not [one for one in USERS if one != user and f"I am {one}." in text]
    for user in bound.kind.hidden_users:
        refused = await bound.client.post(f"/sessions/t-{user}:context", json={"policy": policy})
        assert refusal(refused) == GONE

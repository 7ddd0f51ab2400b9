"""CPU time of one authentication by token: `python -m benchmarks.tokens [COUNT]`.

For each usual algorithm: a token that is new to the process, one that it remembers, and one whose
signature is forged, each with the look at its form. The keys lie in a file. Milliseconds.
"""

import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path

import structlog

from app.kernel.clock import SystemClock
from app.kernel.errors import Unauthenticated
from app.platform.access.services.tokens import TokenService
from app.settings.settings import Settings
from tests.support.tokens import claims, publish, sign, token_settings

_COUNT = 2_000
_CASES = (("rsa", "RS256"), ("rsa", "PS256"), ("ec", "ES256"), ("ed", "EdDSA"))


async def measure(file: Path, count: int) -> None:
    """Print a line for each algorithm."""
    clock = SystemClock()
    settings = token_settings(Settings(), file, jwt_condition_claims={"user_id": "sub"})
    tokens = TokenService(settings, clock)
    ends = (clock.now() + timedelta(hours=1)).timestamp()

    async def take(token: str) -> None:
        assert tokens.is_token(token)
        await tokens.authenticate(token)

    async def refuse(token: str) -> None:
        try:
            await take(token)
        except Unauthenticated:
            return
        raise AssertionError("A forged token was taken.")

    print(f"{'':8}{'new':>8}{'known':>8}{'forged':>8}")
    for key_id, algorithm in _CASES:
        made = [
            sign(claims(clock.now(), sub=f"user-{number}", exp=ends), key_id, algorithm)
            for number in range(count + 1)
        ]
        forged = [f"{token[:-8]}AAAAAAA{token[-1]}" for token in made]
        await take(made.pop())
        costs = [await _cost(take, made), await _cost(take, made), await _cost(refuse, forged)]
        print(f"{algorithm:8}" + "".join(f"{cost:8.4f}" for cost in costs))


async def _cost(act: Callable[[str], Awaitable[None]], tokens: Sequence[str]) -> float:
    """Return the CPU milliseconds of one act."""
    started = time.process_time()
    for token in tokens:
        await act(token)
    return (time.process_time() - started) * 1_000 / len(tokens)


def main() -> None:
    """Measure; the log is off."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    count = int(sys.argv[1]) if len(sys.argv) > 1 else _COUNT
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(publish(Path(folder) / "jwks.json"), count))


if __name__ == "__main__":
    main()

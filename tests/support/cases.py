"""One test for many inputs that leave nothing behind: fixtures are set up once, not for each."""

from collections.abc import Callable, Collection, Coroutine, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

import pytest

_Test = Callable[..., Coroutine[Any, Any, None]]
_LONGEST = 100


def in_one_test(names: str | Sequence[str], rows: Collection[Any]) -> Callable[[_Test], _Test]:
    """Run a test over rows of inputs as subtests, like `parametrize` but with one set of fixtures.

    Every row is run, and one that fails is named. Several of these above a test multiply.
    """
    columns = [names] if isinstance(names, str) else names

    def fold(test: _Test) -> _Test:
        body: _Test = getattr(test, "body", test)
        cases: list[dict[str, Any]] = [
            {**dict(zip(columns, [row] if isinstance(names, str) else row, strict=True)), **inner}
            for row in rows
            for inner in getattr(test, "cases", [{}])
        ]

        @wraps(body)
        async def folded(subtests: pytest.Subtests, **fixtures: Any) -> None:
            for case in cases:
                with subtests.test(_told(case)):
                    await body(**fixtures, **case)

        taken = ["subtests", *(set(signature(body).parameters) - set(cases[0]))]
        shown = Signature([Parameter(name, Parameter.KEYWORD_ONLY) for name in taken])
        vars(folded).update(__signature__=shown, body=body, cases=cases)
        return folded

    return fold


def _told(case: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}"[:_LONGEST] for name, value in case.items())

"""One test for many inputs that leave nothing behind: fixtures are set up once, not for each."""

from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

import pytest

_Test = Callable[..., Coroutine[Any, Any, None]]
_LONGEST = 100


def in_one_test(
    names: str | Sequence[str], rows: Collection[Any], ids: Iterable[str] | None = None
) -> Callable[[_Test], _Test]:
    """Run a test over rows of inputs as subtests, like `parametrize` but with one set of fixtures.

    Every row is run, and one that fails is named, by its id or else by its inputs. Several of these
    above a test multiply.
    """
    columns = [names] if isinstance(names, str) else names

    def fold(test: _Test) -> _Test:
        body: _Test = getattr(test, "body", test)
        assert rows, f"{body.__name__} has no rows, so it would test nothing."
        given: list[dict[str, Any]] = [
            dict(zip(columns, [row] if isinstance(names, str) else row, strict=True))
            for row in rows
        ]
        cases: list[tuple[list[str], dict[str, Any]]] = [
            ([name, *inner_names], case | inner)
            for name, case in zip(map(_told, given) if ids is None else ids, given, strict=True)
            for inner_names, inner in getattr(test, "cases", [([], {})])
        ]

        @wraps(body)
        async def folded(subtests: pytest.Subtests, **fixtures: Any) -> None:
            for told, case in cases:
                with subtests.test(", ".join(told)):
                    await body(**fixtures, **case)

        taken = ["subtests", *(set(signature(body).parameters) - set(cases[0][1]))]
        shown = Signature([Parameter(name, Parameter.KEYWORD_ONLY) for name in taken])
        vars(folded).update(__signature__=shown, body=body, cases=cases)
        return folded

    return fold


def _told(case: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}"[:_LONGEST] for name, value in case.items())

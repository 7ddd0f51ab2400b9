"""Work in steps: generators that yield between steps to let other work run."""

from collections.abc import Generator
from typing import TypeVar

_Result = TypeVar("_Result")


def whole(steps: Generator[None, None, _Result]) -> _Result:
    """Run all steps at once; return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            result: _Result = ended.value
            return result

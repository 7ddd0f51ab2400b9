"""Work in steps: generators that yield between them, so that others have their turn."""

from collections.abc import Generator
from typing import TypeVar

_Result = TypeVar("_Result")


def whole(steps: Generator[None, None, _Result]) -> _Result:
    """Take all steps at once; return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            result: _Result = ended.value
            return result

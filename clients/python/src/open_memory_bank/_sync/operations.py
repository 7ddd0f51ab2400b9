# Written by `make client` from the file of the same name in _async.
"""Work that goes on in the service: handles, and waiting."""

from __future__ import annotations

import time
from typing import Any, Generic, TypeVar, cast

from open_memory_bank import _calls, types
from open_memory_bank._sync.transport import Transport
from open_memory_bank._twins import sleep
from open_memory_bank.errors import OperationFailed, WaitTimeout

Response = TypeVar("Response")

_STEP_SECONDS = 20.0
_LEAST_SECONDS = 0.25


class Operation(Generic[Response]):
    """An operation as it was when last asked for."""

    def __init__(self, transport: Transport, state: types.Operation) -> None:
        self._transport = transport
        self.state = state
        """All that the service said."""

    @property
    def name(self) -> str:
        """Its full name."""
        return self.state["name"]

    @property
    def id(self) -> str:
        """Its id, the end of its name."""
        return self.name.rpartition("/")[2]

    @property
    def done(self) -> bool:
        """True if its work has ended, well or not."""
        return self.state.get("done", False)

    @property
    def metadata(self) -> types.OperationMetadata:
        """The account of its work."""
        return self.state["metadata"]

    def refresh(self) -> Operation[Response]:
        """Ask for its state, and return itself."""
        ids = {"operation": self.id}
        self.state = self._transport.ask(_calls.GET_OPERATION, ids)
        return self

    def wait(self, seconds: float = 60) -> Response:
        """Return its response once it is done.

        Raises:
            OperationFailed: its work failed.
            WaitTimeout: it is not done in time; it goes on.
        """
        end = time.monotonic() + seconds
        while not self.done:
            begin = time.monotonic()
            left = end - begin
            if left <= 0:
                raise WaitTimeout(self, self.name, seconds)
            step = min(left, _STEP_SECONDS)
            self.state = self._transport.ask(
                _calls.WAIT_OPERATION,
                {"operation": self.id},
                {"timeout": f"{step:.3f}s"},
                more_seconds=step,
            )
            if not self.done:  # a service that is about to stop answers at once
                sleep(max(0.0, min(left, _LEAST_SECONDS) - (time.monotonic() - begin)))
        if "error" in self.state:
            raise OperationFailed(cast("dict[str, Any]", self.state))
        return cast("Response", self.state.get("response"))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} {'done' if self.done else 'under way'}>"

"""Fair shares of a process's places: no engine and no caller may hold them all."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class PassedOver:
    """Engines and callers that already hold their share of places; others are served first."""

    engines: tuple[int, ...] = ()
    callers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return True if there are any."""
        return bool(self.engines or self.callers)


NONE = PassedOver()


def passed_over(running: Collection[tuple[int, str | None]], places: int) -> PassedOver:
    """Return the engines and callers that hold all places but the last, if there are several."""
    share = places - 1
    if not 0 < share <= len(running):
        return NONE
    engines = Counter(engine for engine, _ in running)
    callers = Counter(caller for _, caller in running if caller is not None)
    return PassedOver(
        tuple(engine for engine, count in engines.items() if count >= share),
        tuple(caller for caller, count in callers.items() if count >= share),
    )

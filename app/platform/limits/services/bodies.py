"""Open request bodies: their number, and the bytes held of them and of long answers.

Long bodies count in bytes before their first byte is read. Every body counts in number once it is
slow, since many clients send head and body in two writes. A refusal names the bound of its own
holder first, then the process's.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from prometheus_client import Gauge
from typing_extensions import override

from app.kernel.limits import HeldBody
from app.platform.limits.services.rates import count_given_up, too_many_bodies

_FEW = 8
"""Open bodies that a caller may keep even if connections are needed for others."""
_OPEN = Gauge("memory_bank_bodies_open", "Open request bodies that have been slow to arrive.")
_HELD = Gauge("memory_bank_body_bytes_held", "Bytes accounted for long request bodies and answers.")


@dataclass(frozen=True)
class BodyBounds:
    """Bounds on the number of slow bodies and on bytes, of one holder or of all."""

    requests: int
    bytes: int


@dataclass(slots=True, eq=False)
class _Share:
    """The accounting of the bodies of one holder, or of all."""

    whose: str
    bounds: BodyBounds
    requests: int = 0
    bytes: int = 0
    open: "dict[_Body, None]" = field(default_factory=dict)
    """Bodies with more to come; the oldest first."""

    def check_request(self) -> None:
        if self.requests >= self.bounds.requests:
            raise too_many_bodies(self.whose, "requests", self.bounds.requests)

    def check_bytes(self, own: int, more: int) -> None:
        # One body is always accepted, however it grows: its length has a bound of its own.
        if self.bytes > own and self.bytes + more > self.bounds.bytes:
            raise too_many_bodies(self.whose, "bytes", self.bounds.bytes)


class Bodies:
    """The request bodies of one process, bounded per key (or address without keys) and in all."""

    def __init__(self, per_key: BodyBounds, in_all: BodyBounds) -> None:
        self._per_key = per_key
        self._all = _Share("process", in_all)
        self._shares: dict[tuple[str, str], _Share] = {}
        """The holders with any body, by kind of holder and holder."""

    def hold(self, whose: str, holder: str, give_up: Callable[[], None]) -> HeldBody:
        """Hold a body until it is released; `give_up` is called if its place is needed.

        `whose` is the kind of holder that a refusal names, `key` or `address`.
        """
        share = self._shares.get((whose, holder))
        if share is None:
            share = self._shares[whose, holder] = _Share(whose, self._per_key)
        return _Body((share, self._all), give_up, partial(self._leave, whose, holder))

    def _leave(self, whose: str, holder: str) -> None:
        share = self._shares.get((whose, holder))
        if share is not None and not (share.open or share.bytes):
            del self._shares[whose, holder]

    def give_up_one(self, *, slow: bool) -> bool:
        """Give up the oldest (slow) body of the holder with the most bodies, if it has many."""

        def count(share: _Share) -> int:
            return share.requests if slow else len(share.open)

        most = max(self._shares.values(), key=count, default=None)
        if most is None or count(most) <= _FEW:
            return False
        count_given_up()
        next(body for body in most.open if body.is_slow or not slow).give_up()
        return True


class _Body(HeldBody):
    def __init__(
        self,
        shares: tuple[_Share, _Share],
        give_up: Callable[[], None],
        leave: Callable[[], None],
    ) -> None:
        self._shares = shares
        self._give_up = give_up
        self._leave = leave
        self.is_slow = False
        self._bytes = 0
        self._open = shares[0].open
        self._open[self] = None

    @override
    def keep(self, size: int) -> None:
        more = size - self._bytes
        for share in self._shares:
            share.check_bytes(self._bytes, more)
        self._add(more)

    def _add(self, more: int) -> None:
        self._bytes += more
        for share in self._shares:
            share.bytes += more
        _HELD.inc(more)

    @override
    def count(self) -> None:
        if self.is_slow:
            return
        for share in self._shares:
            share.check_request()
        self._set_slow(is_slow=True)

    def _set_slow(self, *, is_slow: bool) -> None:
        change = is_slow - self.is_slow
        self.is_slow = is_slow
        if change:
            for share in self._shares:
                share.requests += change
            _OPEN.inc(change)

    def give_up(self) -> None:
        self.end()
        self._give_up()

    @override
    def end(self) -> None:
        self._open.pop(self, None)
        self._set_slow(is_slow=False)

    @override
    def release(self) -> None:
        self.end()
        if self._bytes:
            self._add(-self._bytes)
        self._leave()

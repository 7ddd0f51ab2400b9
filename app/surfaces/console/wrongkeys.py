"""Wrong keys at the sign-in: their number by address, and the wait before further answers."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_network

_FREE = 5
"""Wrong keys of an address that are answered without a wait."""
_WAIT_SECONDS = 1.0
_MOST_WAITING = 8
_MOST_ADDRESSES = 4_096
_REMEMBERED = timedelta(hours=1)
"""Time after the last wrong key at which an address is forgotten."""
_AUDITED = 100
_NETWORK_BITS = 64
"""Bits of an IPv6 address that name its network: a single host has all addresses of one."""


@dataclass
class WrongKeys:
    """The wrong keys that one process has seen. Right keys are neither counted nor delayed."""

    _numbers: OrderedDict[str, tuple[int, datetime]] = field(default_factory=OrderedDict)
    _waiting: int = 0

    def note(self, address: str | None, now: datetime) -> int:
        """Count a wrong key; return how many its address has sent by now."""
        source = _source_of(address)
        number, last = self._numbers.pop(source, (0, now))
        if now - last > _REMEMBERED:
            number = 0
        self._numbers[source] = (number + 1, now)
        if len(self._numbers) > _MOST_ADDRESSES:
            self._numbers.popitem(last=False)
        return number + 1

    async def wait(self, number: int) -> bool:
        """Wait before the answer to a wrong key; return False if too many answers wait already."""
        if number <= _FREE:
            return True
        if self._waiting >= _MOST_WAITING:
            return False
        self._waiting += 1
        try:
            await asyncio.sleep(_WAIT_SECONDS)
        finally:
            self._waiting -= 1
        return True


def is_audited(number: int) -> bool:
    """Return True for the first wrong key of an address, and for each hundredth."""
    return number == 1 or number % _AUDITED == 0


def _source_of(address: str | None) -> str:
    if address is None or ":" not in address:
        return address or ""
    return str(ip_network((address.partition("%")[0], _NETWORK_BITS), strict=False))

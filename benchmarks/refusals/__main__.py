"""What costly bodies cost others until they are refused: `python -m benchmarks.refusals`.

Four clients send 7.8 MB again and again to a live server, beside one that asks for an engine, one
request after another. Each body is one that holds up a service which parses it first, or one that
is as long and simple.
"""

import argparse

from benchmarks.surroundings import data_folder
from tests.support.heavy import LISTS, Senders, latencies, memory, p99, peak
from tests.support.live import LiveServer, live_server

_SENDERS = 4
_BYTES = 7_800_000
_MIB = 2**20
_BODIES = {
    "empty lists": LISTS,
    "lists in lists": b'{"x":' + b"[" * _BYTES,
    "long integers": b'{"x":[' + b",".join([b"3" * 4_200] * 1_850) + b"]}",
    "a text of escapes": b'{"x":"' + rb"\"[" * (_BYTES // 3) + b'"}',
    "blanks": b" " * _BYTES,
    "a plain text": b'{"x":"' + b"x" * _BYTES + b'"}',
}


def _measure(server: LiveServer, seconds: float) -> None:
    latencies(server.port, seconds)
    quiet = latencies(server.port, seconds)
    head = ("beside", "p50", "p99", "latest", "p99 ratio", "MiB more")
    print(f"milliseconds of a small request beside {_SENDERS} senders of 7.8 MB")
    print("  {:<20}{:>8}{:>8}{:>8}{:>11}{:>10}".format(*head))
    _show("nobody", quiet, quiet, 0)
    for name, body in _BODIES.items():
        before = memory(server)
        with peak(server) as highest, Senders(server.port, body).sending(_SENDERS):
            beside = latencies(server.port, seconds)
        _show(name, beside, quiet, highest[0] - before)


def _show(name: str, found: list[float], quiet: list[float], more: int) -> None:
    p50, late, latest = (1_000 * one for one in (found[len(found) // 2], p99(found), found[-1]))
    ratio = p99(found) / p99(quiet)
    print(f"  {name:<20}{p50:>8.1f}{late:>8.1f}{latest:>8.1f}{ratio:>11.1f}{more / _MIB:>10.0f}")


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="What refused bodies cost others.")
    parser.add_argument("--seconds", type=float, default=8, help="length of each measurement")
    options = parser.parse_args()
    with (
        data_folder() as folder,
        live_server(folder, MEMORY_BANK_EMBEDDER="hash", MEMORY_BANK_LOG_LEVEL="ERROR") as server,
    ):
        _measure(server, options.seconds)


if __name__ == "__main__":
    main()

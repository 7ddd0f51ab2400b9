"""Shares of a worker's places: `python -m benchmarks.shares`.

First, what a claim costs Postgres while as many operations of one engine wait as its quota allows,
and its worker serves it up to its share: the search then passes over all of them. Then, on a live
server, how long a small generation of another tenant waits and takes beside eight of the largest
size by one key. Postgres is counted by the CPU of its connections, which neighbours on the machine
do not change; seconds include them. Before both, how evenly busy processes share connections; at
the end, how many generations a second wait for a language model.
"""

import argparse
import sys
from pathlib import Path

from app.process.serving import run
from benchmarks.shares.beside import show_small_beside_large
from benchmarks.shares.claims import show_claims
from benchmarks.shares.connections import show_connections
from benchmarks.shares.model import show_generations
from benchmarks.surroundings import data_folder, unread_logs

_CONNECTION_ROUNDS = 9


async def _claims(folder: Path, rounds: int) -> list[bool]:
    return [await show_claims(folder, rounds)]


def main() -> None:
    """Print all tables; exit 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description="What a flood in the queue costs others.")
    parser.add_argument("--rounds", type=int, default=100, help="claims measured in each case")
    options = parser.parse_args()
    are_kept = [show_connections(_CONNECTION_ROUNDS)]
    with unread_logs(), data_folder() as folder:
        run(lambda: _keep(are_kept, folder, options.rounds))
    with data_folder() as folder:
        are_kept.append(show_small_beside_large(folder))
    with data_folder() as folder:
        are_kept.append(show_generations(folder))
    sys.exit(0 if all(are_kept) else 1)


async def _keep(are_kept: list[bool], folder: Path, rounds: int) -> None:
    are_kept += await _claims(folder, rounds)


if __name__ == "__main__":
    main()

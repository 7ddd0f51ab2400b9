"""The costs of MCP: `python -m benchmarks.mcp`. Linux only.

First, a search over MCP takes turns with the same search by `:retrieve` and by `memoryTools:call`,
and the CPU that each takes of the service is compared. Then a hundred clients call
`search_memories`, `list_memories` and `remember`, each in a scope of its own and one call after
another, and the memory of the service is read every second. Last, the service is started with MCP
and without it, in turn: its start, its CPU and its memory before the first message of MCP are
compared, and the cost of that message is told, since it imports the package.

Messages are JSON-RPC over HTTP, of the revision without a handshake. The embedder hashes, so that
the service is measured and no model. It exits with 1 if a bar is missed.
"""

import argparse
import sys

from benchmarks.mcp.cost import measure_cost
from benchmarks.mcp.load import measure_load
from benchmarks.mcp.starts import measure_starts
from benchmarks.surroundings import data_folder
from tests.support.live import fresh_server


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="The costs of MCP.")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of the searches")
    parser.add_argument("--starts", type=int, default=5, help="starts with MCP, and without")
    parser.add_argument("--clients", type=int, default=100, help="at once")
    parser.add_argument("--seconds", type=float, default=30, help="of the clients")
    parser.add_argument("--warm-up", type=float, default=15, help="seconds of the clients before")
    asked = parser.parse_args()
    kept = []
    with data_folder() as folder:
        with fresh_server(folder, MEMORY_BANK_EMBEDDER="hash") as server:
            kept.append(measure_cost(server, asked.rounds, 3))
            print()
            kept.append(measure_load(server, asked.clients, asked.seconds, asked.warm_up))
            print()
        # Its database is there by now, so that no start makes one.
        kept.append(measure_starts(folder, asked.starts))
    sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()

"""Memory of a process: `python -m benchmarks.memory`. Linux only.

First by what it has loaded so far, each row with all of the rows above it, and the CPU of a text
with MiniLM. Then of whole processes that serve one database: after their start, after searches and
after an import, one alone and several at once; and how long a start takes. Mebibytes. It exits with
1 if a goal is missed; the time of a start is a goal only on a machine with nothing else to do.
"""

import argparse
import importlib
import sys
import time

from benchmarks.memory.rollup import memory_of

_TEXTS = 300
_PARTS = {
    "FastAPI, SQLAlchemy, psycopg": ["fastapi", "sqlalchemy.ext.asyncio", "psycopg"],
    "the service": ["app.process.serving"],
    "imports of MiniLM": ["app.adapters.llm.onnx_encoder", "tokenizers"],
}


def _embed() -> None:
    # Imported as late as the service does.
    from app.adapters.llm.onnx_encoder import MiniLm  # noqa: PLC0415 - as above

    model = MiniLm()
    _say("MiniLM, loaded")
    texts = [f"The user prefers green tea over coffee, and has {n} cups." for n in range(_TEXTS)]
    model.vectors(texts)
    began = time.process_time()
    model.vectors(texts)
    spent = 1_000 * (time.process_time() - began) / _TEXTS
    _say("MiniLM, used")
    print(f"\n{spent:.1f} ms of CPU a text of 14 tokens")


def _say(after: str) -> None:
    memory = memory_of("self")
    print(f"{after:32}{memory.resident:10.0f}{memory.private:10.0f}", flush=True)


def _measure_parts() -> None:
    """Load part after part, and print the table."""
    print(f"{'after':32}{'resident':>10}{'private':>10}")
    _say("Python")
    for title, names in _PARTS.items():
        for name in names:
            importlib.import_module(name)
        _say(title)
    _embed()


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="Memory of a process.")
    parser.add_argument("--searches", type=int, default=1_000, help="of each process")
    parser.add_argument("--memories", type=int, default=10_000, help="imported through each")
    parser.add_argument("--processes", type=int, default=4, help="at the same time")
    parser.add_argument("--parts", action="store_true", help="only by what is loaded")
    given = parser.parse_args()
    _measure_parts()
    if given.parts:
        return
    # Imported here, so that the first rows are of Python alone.
    from benchmarks.memory.served import Asked, measure  # noqa: PLC0415 - as above

    asked = Asked(given.searches, given.memories, given.processes)
    sys.exit(0 if measure(asked) else 1)


if __name__ == "__main__":
    main()

"""Memory of a process by what it has loaded so far: `python -m benchmarks.memory`. Linux only.

Resident: all that is in memory for it. Private: what no other process shares, which is what one
more process costs. Mebibytes, each row with all of the rows above it.
"""

import importlib
import time
from pathlib import Path

_TEXTS = 300
_PARTS = {
    "FastAPI, SQLAlchemy, psycopg": ["fastapi", "sqlalchemy.ext.asyncio", "psycopg"],
    "the service": ["app.process.serving"],
    "imports of MiniLM": ["app.adapters.llm.onnx_session", "tokenizers"],
}


def _memory() -> tuple[float, float]:
    """Return what is resident, and what of it is private."""
    rows = [line.split() for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]]
    found = {row[0].rstrip(":"): int(row[1]) / 1024 for row in rows}
    return found["Rss"], found["Private_Clean"] + found["Private_Dirty"]


def _embed() -> None:
    # Imported as late as the service does.
    from app.adapters.llm.minilm_model import MiniLmModel  # noqa: PLC0415 - as above
    from app.adapters.llm.providers.embed_minilm import weights_folder  # noqa: PLC0415 - as above

    model = MiniLmModel(weights_folder())
    _say("MiniLM, loaded")
    texts = [f"The user prefers green tea over coffee, and has {n} cups." for n in range(_TEXTS)]
    model.vectors(texts)
    began = time.process_time()
    model.vectors(texts)
    spent = 1_000 * (time.process_time() - began) / _TEXTS
    _say("MiniLM, used")
    print(f"\n{spent:.1f} ms of CPU a text of 14 tokens")


def _say(after: str) -> None:
    resident, private = _memory()
    print(f"{after:32}{resident:10.0f}{private:10.0f}")


def main() -> None:
    """Load part after part, and print the table."""
    print(f"{'after':32}{'resident':>10}{'private':>10}")
    _say("Python")
    for title, names in _PARTS.items():
        for name in names:
            importlib.import_module(name)
        _say(title)
    _embed()


if __name__ == "__main__":
    main()

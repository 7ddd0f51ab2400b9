"""Generations a second with a language model that takes seconds for each answer."""

import time
from collections.abc import Mapping
from pathlib import Path

import httpx

from benchmarks.shares.beside import asked_to_generate, client_of, read_answer
from tests.support.live import KEY, live_server
from tests.support.model_server import ModelServer, model_server, slow

_GENERATIONS = 30
_ANSWER_SECONDS = 4.0
_BAR = 3.0
_PATIENCE_SECONDS = 120
_ENGINE = "projects/default/locations/local/reasoningEngines/1"


def show_generations(folder: Path) -> bool:
    """Print the rate with the former places and with the default; return True if it is kept."""
    with model_server() as model:
        # Without facts, a generation has this one answer to wait for.
        model.always(slow(_ANSWER_SECONDS, {"facts": []}))
        former = _per_second(folder / "former", model, {"MEMORY_BANK_WORKER_CONCURRENCY": "4"})
        now = _per_second(folder / "now", model, {})
        most = model.most_at_once
    is_kept = now >= _BAR * former
    print(f"\ngenerations a second of one key, with answers that take {_ANSWER_SECONDS:.0f} s")
    print(f"  {'four places':<28}{former:>8.2f}")
    said = "kept" if is_kept else "MISSED"
    print(f"  {'the default':<28}{now:>8.2f}, {now / former:.1f} times (bar {_BAR}) {said}")
    print(f"  requests to the model at once: {most}")
    return is_kept


def _per_second(folder: Path, model: ModelServer, variables: Mapping[str, str]) -> float:
    settings = {
        "MEMORY_BANK_EMBEDDER": "hash",
        "MEMORY_BANK_LOG_LEVEL": "ERROR",
        "MEMORY_BANK_MODEL": "openai:scripted",
        "MEMORY_BANK_MODEL_BASE_URL": model.url,
        **variables,
    }
    folder.mkdir(mode=0o755)
    with live_server(folder, **settings) as server, client_of(server, KEY) as client:
        _generate(client, 1)
        began = time.perf_counter()
        _generate(client, _GENERATIONS)
        return _GENERATIONS / (time.perf_counter() - began)


def _generate(client: httpx.Client, count: int) -> None:
    """Queue generations of different users, and wait until all have ended."""
    names = [
        asked_to_generate(client, _ENGINE, f"user {count} {number}", "I like tea.")
        for number in range(count)
    ]
    ends = time.perf_counter() + _PATIENCE_SECONDS
    for name in names:
        # One at a time: requests for the others would take the time of the service.
        while not read_answer(client.get(name)).get("done"):
            assert time.perf_counter() < ends, "generations did not end"
            time.sleep(0.2)

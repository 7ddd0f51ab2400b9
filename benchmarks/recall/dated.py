"""Questions about time: `python -m benchmarks.recall.dated`.

Each scope of `dated.json` has memories with the times of their words, and questions such as "What
did I do last week?" with all memories that answer them. People wrote them who knew neither the code
nor each other's lines. The ranking was developed on the scopes named `tuned`; those named `unseen`
were opened once. A service in this process, with its default settings and a clock that stands at
the time of the questions, answers each question with as many memories as are right.

Printed is, for `hybrid` and for `vector`, how many of the right memories were found.
"""

import json
from collections import Counter
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from app.kernel.clock import FixedClock
from app.process.main import create_app
from app.process.serving import run
from app.process.start import open_process
from app.settings.settings import Settings
from benchmarks.surroundings import data_folder, unread_logs

Json = dict[str, Any]

_DATA = Path(__file__).with_name("dated.json")
_KEY = "dated-questions-admin-key"
_BASE = "http://bank/v1beta1/projects/default/locations/local/reasoningEngines/1"
_ORDERS = ("hybrid", "vector")


async def _post(client: httpx.AsyncClient, path: str, body: Json) -> Json:
    answer = await client.post(path, json=body)
    answer.raise_for_status()
    found: Json = answer.json()
    return found


async def _fill(client: httpx.AsyncClient, scope: Json, memories: list[Json]) -> dict[str, str]:
    """Create the memories; return their ids in the data by name."""
    names: dict[str, str] = {}
    for one in memories:
        metadata = {"event_time": {"timestampValue": one["said"]}}
        body = {"scope": scope, "fact": one["fact"], "metadata": metadata}
        created = await _post(client, "/memories", body)
        names[created["response"]["name"]] = one["id"]
    return names


async def _found(client: httpx.AsyncClient, scope: Json, question: Json, order: str) -> set[str]:
    params = {"searchQuery": question["query"], "topK": len(question["right"])}
    body = {"scope": scope, "similaritySearchParams": params, "ranking": order}
    answer = await _post(client, "/memories:retrieve", body)
    return {hit["memory"]["name"] for hit in answer["retrievedMemories"]}


async def _measure(client: httpx.AsyncClient, scope: Json, asked: Json) -> Counter[str]:
    names = await _fill(client, scope, asked["memories"])
    counts = Counter[str]()
    for question in asked["questions"]:
        counts["right"] += len(question["right"])
        for order in _ORDERS:
            found = await _found(client, scope, question, order)
            counts[order] += len({names[one] for one in found} & {*question["right"]})
    return counts


async def main() -> None:
    """Measure all scopes."""
    with data_folder() as folder, unread_logs():
        settings = Settings(data_dir=folder, admin_key=_KEY)
        async with open_process(settings) as process:
            await process.resources.embedder.warm()
            clock = FixedClock(process.resources.clock.now())
            resources = replace(process.resources, clock=clock, db=process.resources.db.at(clock))
            transport = httpx.ASGITransport(create_app(resources))
            headers = {"Authorization": f"Bearer {_KEY}"}
            async with httpx.AsyncClient(
                transport=transport, base_url=_BASE, headers=headers
            ) as client:
                for name, scopes in json.loads(_DATA.read_text()).items():
                    total = Counter[str]()
                    for number, asked in enumerate(scopes):
                        clock.advance(datetime.fromisoformat(asked["now"]) - clock.now())
                        total += await _measure(client, {"scope": f"{name} {number}"}, asked)
                    figures = ", ".join(f"{order} {total[order]}" for order in _ORDERS)
                    print(f"{name}: of {total['right']} right memories, {figures}")


if __name__ == "__main__":
    run(main)

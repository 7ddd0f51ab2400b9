"""Every converter over its sample: the lines that it makes, and what it rejects and leaves out."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.memory.bulk.schemas import ImportedMemory
from app.platform.sessions.schemas.events import AppendEventRequest
from app.process.imports.items import Conversation, Options
from app.process.imports.products import SOURCES, ItemLine, Rejected, converted
from app.process.imports.records import read_records

_DATA = Path(__file__).parents[2] / "data/importers"
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Case:
    """A sample, and the options that it is imported with."""

    file: str
    pairs: dict[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    sessions: bool = False

    def options(self, source: str) -> Options:
        return Options(source, _NOW, self.pairs, self.keys, sessions=self.sessions)


CASES = {
    "mem0": Case("mem0.json"),
    "openmemory": Case("openmemory.json"),
    "vertex": Case("vertex.json", sessions=True),
    "hindsight": Case("hindsight.json", {"bank": "trips"}),
    "zep": Case("zep.json", {"user_id": "kim"}),
    "graphiti": Case("graphiti.ndjson"),
    "letta": Case("letta.af", sessions=True),
    "langgraph": Case("langgraph.ndjson", keys=("kind", "user_id")),
    "mcp-memory": Case("mcp-memory.ndjson", {"user_id": "42"}),
    "jsonl": Case("jsonl.jsonl"),
}


def _made(name: str) -> Iterator[dict[str, Any]]:
    case, losses = CASES[name], Counter[str]()
    records = read_records([(_DATA / case.file).read_bytes()], SOURCES[name].containers)
    for made in converted(records, case.options(name), losses):
        if isinstance(made, Rejected):
            yield {"rejected": made.reason, "line": made.number, "detail": made.detail}
        elif isinstance(made, Conversation):
            yield {
                "session": made.session_id,
                "userId": made.user_id,
                **made.fields,
                "events": made.events,
            }
        else:
            yield {**made.line, "ended": True} if made.ended else dict(made.line)
    yield {"leftOut": dict(sorted(losses.items()))}


def golden(name: str) -> str:
    """Return what a converter makes of its sample, a value a line."""
    return "".join(json.dumps(made, ensure_ascii=False) + "\n" for made in _made(name))


@pytest.mark.parametrize("name", CASES)
def test_a_sample_becomes_its_lines(name: str) -> None:
    assert golden(name) == (_DATA / "golden" / f"{name}.ndjson").read_text(encoding="utf-8")


def test_every_source_has_a_sample() -> None:
    assert CASES.keys() == SOURCES.keys()


@pytest.mark.parametrize("name", CASES)
def test_the_service_takes_every_line(name: str) -> None:
    case = CASES[name]
    records = read_records([(_DATA / case.file).read_bytes()], SOURCES[name].containers)
    for made in converted(records, case.options(name), Counter()):
        if isinstance(made, ItemLine):
            ImportedMemory.model_validate(made.line)
        elif isinstance(made, Conversation):
            assert [AppendEventRequest.model_validate(event) for event in made.events]

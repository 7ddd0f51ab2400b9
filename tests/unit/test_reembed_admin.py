"""What the command `memory-bank reembed` says of an operation."""

from app.platform.operations.schemas import Operation
from app.process.reembed_admin import _Said

ENGINE = "projects/default/locations/local/reasoningEngines/1"


def ended(**response: object) -> Operation:
    return Operation(
        name=f"{ENGINE}/operations/17",
        metadata={"embeddedCount": 4},
        done=True,
        response={"embeddingModel": "http:small", **response},
    )


def test_it_says_which_model_serves_and_once() -> None:
    said: list[str] = []
    say = _Said(said.append)
    for _ in range(2):
        say(ended())
    assert said == [f"{ENGINE}: 4 memories; http:small serves."]


def test_it_says_how_many_memories_the_model_refuses() -> None:
    said: list[str] = []
    _Said(said.append)(ended(refusedCount=2, refusedMemories=[f"{ENGINE}/memories/a"]))
    assert said[0].endswith("http:small serves. It refuses 2 more, found by words alone.")

"""The prompt tokens of one generation: six messages, the default topics, five memories near."""

from pathlib import Path

from benchmarks.hygiene.bank import open_bank
from benchmarks.hygiene.cases import Case
from tests.support.model_server import model_server
from tests.support.scripted import confirmed

_KNOWN = [
    "I live in Berlin with my two children.",
    "I work in Berlin as a nurse at a hospital.",
    "I moved to Berlin in 2019 for my work.",
    "I like living in Berlin.",
    "I work night shifts at the hospital in Berlin.",
]
_TALK = [
    ("user", "Hi! We have finally moved: I live in Munich now, close to the Isar."),
    ("model", "Congratulations! How do your children like it, and what about work?"),
    ("user", "They love it. I have started as a nurse at the university hospital last Monday."),
    ("model", "That is great news. Do you still work at night?"),
    ("user", "No, only early shifts from six to two, which I much prefer to nights."),
    ("model", "Good to hear. I will keep that in mind for your calendar."),
]
_LIVES = "I live in Munich now, close to the Isar."


async def measure_prompts(folder: Path) -> int:
    """Return the tokens of both prompts, their schemas included, as a server counts them."""
    facts = [
        {"fact": fact, "quote": fact, "line": n, "topics": []} for n, fact in enumerate(_KNOWN)
    ]
    new = {"fact": _LIVES, "quote": _LIVES, "line": 0, "topics": ["USER_PERSONAL_INFO"]}
    with model_server() as server:
        async with open_bank(folder, server.url) as bank:
            case = Case("prompts", [], [], [], [], {}, [])
            server.will({"facts": facts})
            await bank.generate(case, [("user", fact) for fact in _KNOWN])
            server.will({"facts": [new]}, confirmed())
            operation = await bank.generate(case, _TALK)
    metadata = operation["metadata"]
    assert metadata["modelCallCount"] == 2, metadata
    tokens: int = metadata["inputTokenCount"]
    return tokens

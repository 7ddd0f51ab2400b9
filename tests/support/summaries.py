"""Sessions that are summarised: exchanges, a summariser that can be stopped, and what it made."""

import asyncio
from typing import Any

import httpx
from typing_extensions import override

from app.adapters.llm.ports import Meter, OutputT, Prompt
from app.kernel.errors import Reason, Unavailable
from tests.support.bank import Json, ok
from tests.support.scripted_models import Reply, ScriptedQuery, ScriptedTextModel
from tests.support.sessions import event, new_path

BY_THREE = {"strategy": "every_n", "every": 3}


class Summariser(ScriptedTextModel):
    """Writes "summary 1", "summary 2", ...; of `length` characters, where that is given."""

    def __init__(self, model_id: str = "scripted:1", *, max_input_tokens: int = 32_000) -> None:
        super().__init__(self._answer, model_id=model_id, max_input_tokens=max_input_tokens)
        self.is_down = False
        self.length: int | None = None
        self.failure: Exception = Unavailable("It is away.", Reason.MODEL_UNAVAILABLE)

    @property
    def texts(self) -> list[str]:
        """What was asked, without the instructions."""
        return [prompt.text for prompt in self.prompts]

    def _answer(self, asked: ScriptedQuery) -> Reply:
        del asked
        if self.is_down:
            return self.failure
        text = f"summary {len(self.asked)}"
        return {"summary": text if self.length is None else text.ljust(self.length, ".")}


class SlowSummariser(Summariser):
    """Keeps its answers until it may give them."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked, self.may_answer = asyncio.Event(), asyncio.Event()

    @override
    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        found = await super().ask(prompt, output, meter)
        self.is_asked.set()
        await self.may_answer.wait()
        return found


async def session_with(client: httpx.AsyncClient, **policy: object) -> str:
    """Create a session with a policy and return its path."""
    return await new_path(client, memoryPolicy=policy)


async def talk(client: httpx.AsyncClient, path: str, *numbers: int) -> None:
    """Append exchanges: "question 1" and "answer 1" and so on."""
    for number in numbers:
        body = {"input": f"question {number}", "output": f"answer {number}"}
        ok(await client.post(f"{path}/exchanges", json=body))


async def talk_at_once(client: httpx.AsyncClient, path: str, *numbers: int) -> None:
    """Append such exchanges as events of one request."""
    events = []
    for number in numbers:
        answer = {"role": "model", "parts": [{"text": f"answer {number}"}]}
        events += [event(f"question {number}"), event(author="agent", content=answer)]
    ok(await client.post(f"{path}/events:batch", json={"events": events}))


def lines(*numbers: int) -> str:
    """Return the lines of such exchanges as a summariser is shown them."""
    return "\n".join(f"Human: question {one}\nAI: answer {one}" for one in numbers)


async def summaries(client: httpx.AsyncClient, path: str, **params: Any) -> list[Json]:
    """Return the summaries of a session, by default the active ones."""
    params = {"state": "active", **params}
    asked = {name: value for name, value in params.items() if value is not None}
    found: list[Json] = ok(await client.get(f"{path}/summaries", params=asked))["summaries"]
    return found


async def covers(client: httpx.AsyncClient, path: str, **params: Any) -> list[tuple[int, int]]:
    """Return what the summaries of a session cover."""
    found = await summaries(client, path, **params)
    return [(one["covers"]["firstSeq"], one["covers"]["lastSeq"]) for one in found]


async def context(client: httpx.AsyncClient, path: str, **body: object) -> Json:
    """Return a context of a session."""
    return ok(await client.post(f"{path}:context", json=body))


async def verbatim(client: httpx.AsyncClient, path: str, **body: object) -> list[int]:
    """Return the numbers of the events that a context shows word for word."""
    ranges = (await context(client, path, **body))["coverage"]["verbatim"]
    return [seq for one in ranges for seq in range(one["firstSeq"], one["lastSeq"] + 1)]


async def events_of(client: httpx.AsyncClient, path: str) -> list[Json]:
    """Return all events of a session, page by page."""
    found: list[Json] = []
    params: dict[str, str | int] = {"pageSize": 100}
    while True:
        page = ok(await client.get(f"{path}/events", params=params))
        found += page["sessionEvents"]
        if "nextPageToken" not in page:
            return found
        params["pageToken"] = page["nextPageToken"]

"""The samples of the README and the guides run as they stand, and answer what stands below them.

Each runs at a live server, in an engine of its own. They leave `ask_model` alone to the reader.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from open_memory_bank import Client
from tests.packaging.checkout import scratch_folder
from tests.support.documents import DOCS, README, ROOT, samples
from tests.support.live import KEY, LiveServer, live_server
from tests.support.model_server import ModelServer

_PORT = "127.0.0.1:8000"
_FIRST_ENGINE = re.compile(r"\b(reasoningEngines|memoryBanks)/1\b")
_PARENT = "/v1/projects/default/locations/local"
_CLIENT = str(ROOT / "clients/python/src")
_MODEL_CLIENTS = DOCS / "guides/model-clients.md"
_TIMEOUT_SECONDS = 120
_SET_UP = """\
if command -v curl >/dev/null; then
  curl() { command curl "$@" && echo; }
else
  curl() { "$PYTHON" -m tests.support.curl "$@"; }
fi
settle() { while curl -s -H "Authorization: Bearer $KEY" "$BANK/operations" |
  grep -q '"done":false'; do sleep 0.1; done; }
"""
_MODEL = """\
def ask_model(system, message):
    print(system)
    return "Noted."
"""
_MADE_ANEW = re.compile(r"\d{15,}|\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{32}")


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    with scratch_folder() as folder, live_server(folder) as running:
        yield running


@pytest.fixture
def engine(server: LiveServer) -> str:
    made = httpx.post(
        f"{server.url}{_PARENT}/reasoningEngines",
        headers={"Authorization": f"Bearer {KEY}"},
        json={"displayName": "samples"},
    ).json()
    found = re.search(r"reasoningEngines/\d+", made["name"])
    assert found
    return found[0]


def _placed(sample: str, server: LiveServer, engine: str) -> str:
    """Return a sample for the live server."""
    here = rf"\1/{engine.rpartition('/')[2]}"
    there = _FIRST_ENGINE.sub(here, sample.replace(_PORT, f"127.0.0.1:{server.port}"))
    return re.sub(r"^KEY=\.\.\..*$", f"KEY={KEY}", there, flags=re.MULTILINE)


def _shell(*parts: str) -> list[Any]:
    """Run commands; return what the service answered."""
    script = re.sub(r"^sleep 1\b.*$", "settle", "\n".join(parts), flags=re.MULTILINE)
    command = ["env", f"PYTHON={sys.executable}", "sh", "-euc", _SET_UP + script]
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
    )
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines() if line]


def _python(*parts: str, **environment: str) -> str:
    """Run a program; return what it printed."""
    program = "\n".join([f"KEY = {KEY!r}", _MODEL, *parts])
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_SECONDS,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _steady(value: Any) -> Any:
    """Return an answer without ids and times, which are made anew each time."""
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, str):
        return _MADE_ANEW.sub("#", re.sub(r"reasoningEngines/\d+", "engine", value))
    if isinstance(value, list):
        return [_steady(item) for item in value]
    if isinstance(value, dict):
        return {key: _steady(item) for key, item in value.items()}
    return value


def _json(path: Path, containing: str) -> Any:
    (sample,) = (text for text in samples(path, "json") if containing in text)
    return _steady(json.loads(sample))


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_the_first_memory(page: str, server: LiveServer, engine: str) -> None:
    path = ROOT / page
    parts = [_placed(text, server, engine) for text in samples(path, "sh") if "post" in text]
    operation, found = _shell("\nsettle\n".join(parts))
    assert operation["metadata"]["author"] == "builtin-rules/3"
    assert _steady(found) == _json(DOCS / "quickstart.md", "retrievedMemories")
    (hit,) = found["retrievedMemories"]
    assert f'"fact": "{hit["memory"]["fact"]}"' in path.read_text()


def test_the_start_of_the_quickstart_is_an_operation(server: LiveServer, engine: str) -> None:
    start = next(text for text in samples(DOCS / "quickstart.md", "sh") if "$BANK" in text)
    (operation,) = _shell(_placed(start, server, engine))
    assert set(operation) == set(_json(DOCS / "quickstart.md", "builtin-rules/3"))


def test_the_loop_knows_what_it_was_told(server: LiveServer, engine: str) -> None:
    """The programs, one after another in one process, since the official client loads slowly."""
    guide = DOCS / "guides" / "agent-loop.md"
    with_client, without_client = samples(guide, "python")
    assert samples(README, "python") == [with_client, samples(_MODEL_CLIENTS, "python")[0]]
    (known,) = samples(guide, "text")
    assert known in samples(README, "text")
    told, asked = (
        re.findall(r"`(answer\([^`]*\))`", path.read_text().replace("\n", " "))
        for path in (README, guide)
    )
    assert told == asked
    clients = samples(DOCS / "guides" / "official-client.md", "python")
    assert [text.split()[1] for text in clients] == ["agentplatform", "vertexai"]
    wait = _WAIT.format(url=server.url, engine=engine)
    again = [call.replace('"7"', '"8"') for call in told]
    programs = [*clients, with_client, *told, without_client, again[0], wait, again[1]]
    printed = _python(*(_placed(program, server, engine) for program in programs))
    shown = f"What you know of the user:\n\n{known}"
    assert printed == "I moved to Bergen.\n" * len(clients) + shown * 2


_WAIT = """\
import time
headers = {{"Authorization": "Bearer " + KEY}}
path = "{url}/v1/{engine}/operations"
while '"done":false' in httpx.get(path, headers=headers).raise_for_status().text:
    time.sleep(0.1)
"""


def test_contexts(server: LiveServer, engine: str) -> None:
    page = DOCS / "guides" / "contexts.md"
    start, next_session, recall, everywhere = samples(page, "sh")
    *_, context, _, next_context, spans, of_user = _shell(
        _placed(start, server, engine), next_session, recall, everywhere
    )
    for answer, key in ((context, '"coverage"'), (next_context, '"omittedEvents"')):
        shown = _json(page, key)
        answered = {key: _steady(value) for key, value in answer.items() if key in shown}
        for message in answered["messages"]:
            del message["source"]
        assert answered == shown
    assert _steady(spans) == _json(page, '"spans"')
    assert [span["event"] for span in of_user["spans"]] == [spans["spans"][0]["event"]]


def test_the_python_client(server: LiveServer, engine: str) -> None:
    page = DOCS / "guides" / "python-client.md"
    number = engine.rpartition("/")[2]
    programs = [_placed(text, server, engine) for text in samples(page, "python")]
    programs = [text.replace('engine="1"', f'engine="{number}"') for text in programs]
    printed = samples(page, "text")
    assert _python(f"import sys; sys.path.insert(0, {_CLIENT!r})", *programs) == "".join(
        printed[1:]
    )


def test_the_clients_of_models(server: LiveServer, running_server: ModelServer) -> None:
    """The two lines of each, with a bank and a model of the environment."""
    model_server = running_server
    model_server.reset()
    model_server.always("At the window.")
    lines = samples(_MODEL_CLIENTS, "python")
    assert samples(ROOT / "clients/python/README.md", "python")[1:] == lines
    (written,) = (text for text in samples(_MODEL_CLIENTS, "text") if "<memories>" in text)
    with Client(server.url, key=KEY) as bank:
        bank.memories.create(scope={"user_id": "42"}, fact="I prefer window seats.")
        list(bank.memories.retrieve(scope={"user_id": "42"}, query="x"))  # the first one is slow
    address = model_server.url.removesuffix("/v1")
    environment = {
        "MEMORY_BANK_CLIENT_URL": server.url,
        "MEMORY_BANK_CLIENT_KEY": KEY,
        "OPENAI_BASE_URL": model_server.url,
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": "none",
        "PYTHONPATH": _CLIENT,
    }
    calls = [
        "client.chat.completions.create(model='m', messages=[PROMPT, ASKED])",
        "client.messages.create(model='m', max_tokens=9, system=SYSTEM, messages=[ASKED])",
    ]
    for program, call in zip(lines, calls, strict=True):
        _python(_ASKED, program, call, "flush()", **environment)
        body = model_server.seen[-1].body
        prompt = body.get("system") or body["messages"][0]["content"]
        assert f"{prompt}\n" == written
    with Client(server.url, key=KEY) as bank:
        (stream,) = bank.memories.streams()
        assert stream["scope"] == {"user_id": "42"}


_ASKED = """\
from open_memory_bank.openai import flush
SYSTEM = "You book seats."
PROMPT = {"role": "system", "content": SYSTEM}
ASKED = {"role": "user", "content": "Where do I like to sit?"}
"""


def test_coming_from(server: LiveServer, engine: str) -> None:
    number = engine.rpartition("/")[2]
    programs = [
        _placed(text, server, engine).replace('engine="1"', f'engine="{number}"')
        for text in samples(DOCS / "coming-from.md", "python")
    ]
    printed = _python(f"import sys; sys.path.insert(0, {_CLIENT!r})", *programs, "bank.close()")
    assert printed.splitlines() == [
        "I prefer window seats.",
        "2",
        "['CREATED']",
        "Seat 12A is free.",
        "The train to Bergen takes seven hours.",
        "The train to Bergen takes seven hours.",
        "True",
    ]


def _with_post(server: LiveServer, engine: str) -> str:
    """Return the function that the guides take from the quickstart."""
    start = next(text for text in samples(README, "sh") if "$BANK" in text)
    return _placed(start.partition("\n\n")[0], server, engine)


def test_task_memory(server: LiveServer, engine: str) -> None:
    page = DOCS / "guides" / "task-memory.md"
    *asked, call, rule = samples(page, "sh")[:4]
    stored, _, answer, called, policy = _shell(_with_post(server, engine), *asked, call, rule)
    assert _steady(stored) == _json(page, "promptText")
    assert _steady(answer) == _json(page, '"citations"')
    assert called.pop("result")["answer"] == answer["answer"]
    assert called == _json(page, '"isError"')
    assert policy["activities"]["delete"] == {"deny": True}


def test_undo(server: LiveServer, engine: str) -> None:
    page = DOCS / "guides" / "undo-and-recovery.md"
    preview, wait, change, undo, *ways_back = samples(page, "sh")
    post = _with_post(server, engine)
    *_, previewed = _shell(post, _first_memory(), "settle", preview)
    (planned,) = _shell(post, wait.replace("OPERATION_ID", _id(previewed["name"])))
    assert _steady(planned["response"]["plannedChanges"]) == _json(page, "asked to forget")
    (changed,) = _shell(post, change)
    (waited,) = _shell(post, wait.replace("OPERATION_ID", _id(changed["name"])))
    done = waited["response"]
    assert _steady(done) == _json(page, "generatedMemories")
    memory = done["generatedMemories"][0]["memory"]["name"]
    _shell(post, undo.replace("OPERATION_ID", _id(changed["name"])), "settle")
    revisions = _get(server, f"{memory}/revisions")["memoryRevisions"]
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|", page.read_text(), re.MULTILINE)
    assert [(revision["action"], revision["fact"]) for revision in revisions] == rows
    target = f'"targetRevisionId": "{_id(revisions[0]["name"])}"'
    script = "\n".join(ways_back).replace("MEMORY_ID", _id(memory))
    script = script.replace('"targetRevisionId": "REVISION_ID"', target)
    _, planned, _, deleted, undeleted, counted = _shell(post, script)
    (plan,) = planned["response"]["plannedChanges"]
    assert plan["before"] == plan["after"]
    fact = rows[0][1]
    (gone,) = deleted["memories"]
    assert {"deleteTime", "recoverUntil", "deleteOperation"} <= gone.keys()
    (sample,) = counted["response"]["samples"]
    told = [plan["after"], gone, undeleted["response"], sample]
    assert [memory["fact"] for memory in told] == [fact] * len(told)


def _first_memory() -> str:
    given = next(text for text in samples(README, "sh") if "$BANK" in text)
    return given[given.index("post memories:generate") : given.index("sleep 1")]


def _get(server: LiveServer, name: str) -> Any:
    headers = {"Authorization": f"Bearer {KEY}"}
    return httpx.get(f"{server.url}/v1/{name}", headers=headers).raise_for_status().json()


def _id(name: str) -> str:
    return name.rpartition("/")[2]


def test_no_command_has_an_id_of_some_other_service() -> None:
    """What a reader copies names what each service has, or says what to put in its place."""
    copied = [
        (page.name, found)
        for page in (README, *DOCS.rglob("*.md"))
        for language in ("sh", "python")
        for sample in samples(page, language)
        for found in re.findall(r"\d{15,}", sample)
    ]
    assert copied == []


def test_erasing_a_user(server: LiveServer, engine: str) -> None:
    page = DOCS / "guides" / "erase-a-user.md"
    start = _placed(samples(DOCS / "guides" / "contexts.md", "sh")[0], server, engine)
    _shell(start, _first_memory(), "settle")
    dry, erase = samples(page, "sh")
    counted, started, *_ = _shell(_with_post(server, engine), dry, erase)
    certificate = _get(server, started["name"])["response"]
    shown = _json(page, "certificateId")
    assert certificate.keys() >= shown.keys()
    assert certificate["residue"] == shown["residue"]
    assert certificate["counts"].keys() >= shown["counts"].keys()
    assert certificate["counts"]["sessions"] == counted["response"]["counts"]["sessions"] == 1


async def test_the_sql_of_the_pages_runs(database: Database) -> None:
    """What an operator pastes in the middle of a fault reads what it says, and changes nothing."""
    found = [sample for page in sorted(DOCS.rglob("*.md")) for sample in samples(page, "sql")]
    assert found
    async with database.snapshot() as session:
        connection = await session.connection()
        for sample in found:
            assert (await connection.exec_driver_sql(sample)).returns_rows

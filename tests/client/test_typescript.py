"""The TypeScript client as its package has it: typed, and the samples of its guide work."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from open_memory_bank import Client
from tests.client.faulty import Fault, Proxy, proxy
from tests.packaging.checkout import scratch_folder
from tests.support.documents import DOCS, ROOT, samples
from tests.support.live import KEY, LiveServer, live_server

_PACKAGE = ROOT / "clients/typescript"
_TSC = ROOT / "tests/clients/node_modules/.bin/tsc"
_OPTIONS = {"strict": True, "module": "nodenext", "target": "es2022", "types": []}

pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(
        shutil.which("node") is None or not _TSC.exists(),
        reason="TypeScript is not installed: make test-node",
    ),
]

_Run = Callable[..., list[str]]


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    with scratch_folder() as folder, live_server(folder) as running:
        yield running


@pytest.fixture(scope="module")
def between(server: LiveServer) -> Iterator[Proxy]:
    with proxy(server.url) as made:
        yield made


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which the package is installed as `npm pack` has it."""
    folder = tmp_path_factory.mktemp("project")
    installed = folder / "node_modules/open-memory-bank-client"
    ignored = shutil.ignore_patterns("node_modules", "dist")
    shutil.copytree(_PACKAGE, installed, ignore=ignored)
    _done(_TSC, "--project", installed)
    shutil.rmtree(installed / "src")
    (folder / "package.json").write_text('{"type": "module"}')
    lib = ["es2022", "dom", "dom.iterable"]
    settings = {"compilerOptions": {**_OPTIONS, "lib": lib}, "files": ["program.ts"]}
    (folder / "tsconfig.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture
def run(project: Path, between: Proxy) -> Iterator[_Run]:
    """Run a program with the guide's variables, and return the lines it prints.

    With `is_typed`, it is compiled before, which takes seconds.
    """
    with Client(between.url, key=KEY) as bank:
        engine = bank.engines.create(display_name="typescript")["name"].rpartition("/")[2]
    between.seen.clear()

    def ran(program: str, *, is_typed: bool = False) -> list[str]:
        placed = program.replace("http://127.0.0.1:8000", between.url)
        placed = placed.replace('engine: "1"', f'engine: "{engine}"').replace('"..."', "KEY")
        suffix = "ts" if is_typed else "js"
        (project / f"program.{suffix}").write_text(f'const KEY = "{KEY}";\n{placed}')
        if is_typed:
            _done(_TSC, "--project", project)
        return _done("node", project / "program.js").splitlines()

    yield ran
    between.faults.clear()


def test_the_samples_of_the_guide(run: _Run) -> None:
    guide = DOCS / "guides/typescript-client.md"
    _, *printed = samples(guide, "text")
    assert run("\n".join(samples(guide, "ts")), is_typed=True) == "".join(printed).splitlines()


def test_the_sample_of_the_readme(run: _Run) -> None:
    (program,) = samples(_PACKAGE / "README.md", "ts")
    assert run(program, is_typed=True) == ["I prefer window seats."]


_MADE = """\
import { ApiError, Client, Unreachable, WaitTimeout } from "open-memory-bank-client";
const bank = new Client({ url: "http://127.0.0.1:8000", key: KEY, engine: "1" });
const scope = { user_id: "42" };
const failure = async (work) => work.then(() => undefined, (error) => error);
"""


def test_types_refuse_what_the_service_would(run: _Run) -> None:
    wrong = """\
import { Client } from "open-memory-bank-client";
const { memories } = new Client({ url: "http://127.0.0.1:8000", key: KEY, engine: "1" });
const scope = { user_id: "42" };
// @ts-expect-error a fact is text
const number = () => memories.create({ fact: 1, scope });
// @ts-expect-error the scope is missing
const nowhere = () => memories.create({ fact: "I like tea." });
// @ts-expect-error there is no such field
const unknown = () => memories.create({ fact: "I like tea.", scope, fcat: 1 });
await unknown().catch((error: unknown) => console.log(String(error), number, nowhere));
"""
    (line,) = run(wrong, is_typed=True)
    assert line.startswith("TypeError: createMemory takes no fcat.")


def test_bytes_lines_rows_and_other_engines(run: _Run) -> None:
    program = """\
const rows = [{ fact: "I like tea.", scope }, { fact: "I live in Bergen.", scope }];
const imported = await bank.memories.import(rows);
for await (const revision of bank.memories.revisions.export()) console.log(revision.fact);
const bytes = new TextEncoder().encode("Zürich");
const sent = { userId: "42", mediaType: "text/plain" };
await bank.taskMemory.upload("1", "tools", "a.txt", bytes, sent);
const read = await bank.taskMemory.download("1", "tools", "a.txt");
console.log(new TextDecoder().decode(read));
console.log((await bank.service.metrics()).includes("memory_bank"));
console.log(bank.at("other").engine);
console.log(bank.at("projects/p/locations/l/reasoningEngines/e").engine);
const listed = await bank.memories.retrieve({ scope, pageSize: 1 }).toArray();
const { name } = listed[0].memory;
console.log(listed.length, (await bank.memories.get(name)).name === name);
console.log(JSON.stringify(bank).includes(KEY));
"""
    lines = run(_MADE + program)
    assert sorted(lines[:2]) == ["I like tea.", "I live in Bergen."]
    assert lines[2:] == [
        "Zürich",
        "true",
        "projects/default/locations/local/reasoningEngines/other",
        "projects/p/locations/l/reasoningEngines/e",
        "2 true",
        "false",
    ]


@pytest.mark.parametrize(
    "faults",
    [
        [Fault("before")],
        [Fault("in")],
        [Fault("after")],
        [
            Fault("answer", 429, headers={"Retry-After": "0"}),
            Fault("answer", 503, headers={"Retry-After": "0"}),
        ],
    ],
)
def test_a_lost_answer_is_one_memory(run: _Run, between: Proxy, faults: list[Fault]) -> None:
    between.faults.extend(faults)
    program = """\
await bank.memories.create({ fact: "I like tea.", scope });
console.log((await bank.memories.list().toArray()).length);
"""
    assert run(_MADE + program) == ["1"]
    changes = [seen for seen in between.seen if seen.method == "POST"]
    ids = [seen.headers["Idempotency-Key"] for seen in changes if "Idempotency-Key" in seen.headers]
    assert len(ids) == len(faults) + 1
    assert len(set(ids)) == 1


def test_what_is_not_sent_again(run: _Run, between: Proxy) -> None:
    too_late = Fault("answer", 429, headers={"Retry-After": "61"})
    between.faults.extend([too_late, Fault("after"), Fault("answer", 502, b"<html>")])
    program = """\
const late = await failure(bank.memories.create({ fact: "I like tea.", scope }));
console.log(late instanceof ApiError && [late.code, late.status, late.retryAfter].join());
console.log((await failure(bank.keys.create({ displayName: "x" }))) instanceof Unreachable);
const away = await failure(bank.keys.create({ displayName: "x" }));
console.log(away instanceof ApiError && [away.code, away.status].join());
"""
    assert run(_MADE + program) == ["429,UNKNOWN,61", "true", "502,UNKNOWN"]
    assert len(between.seen) == 3


def test_waits_end_and_failures_are_told(run: _Run, between: Proxy) -> None:
    state = {"name": "projects/p/locations/l/reasoningEngines/1/operations/7", "metadata": {}}
    detail = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "MODEL_FAILED"}
    error = {"code": 13, "message": "The model failed.", "details": [detail]}
    answers = [state, state, state, {**state, "done": True, "error": error}]
    between.faults.extend(Fault("answer", body=json.dumps(answer).encode()) for answer in answers)
    program = """\
const own = new Client({ url: "http://127.0.0.1:8000", key: KEY });
const operation = await own.memories.startGenerate({ scope, texts: ["I like tea."] });
const late = await failure(operation.wait(0));
console.log(late instanceof WaitTimeout && late.operation === operation);
const gone = new AbortController();
const ended = failure(operation.wait(9, gone.signal));
setTimeout(() => gone.abort(new Error("enough")), 100);
console.log(String(await ended));
await operation.refresh();
console.log(String(await failure(operation.wait())));
"""
    lines = run(_MADE + program)
    assert lines[:2] == ["true", "Error: enough"]
    assert re.fullmatch(r"OperationFailed: \S+/operations/7: The model failed\.", lines[2])


def test_a_key_is_neither_shown_nor_sent_unseen(run: _Run) -> None:
    program = """\
console.warn = console.log;
new Client({ url: "http://bank.example", key: "secret" }).at("2");
for (const options of [{ url: "ftp://bank" }, { key: "a b" }, { engine: "a/b" }]) {
  try {
    new Client(options);
  } catch (error) {
    console.log(String(error));
  }
}
console.log(bank);
"""
    lines = run(_MADE + program)
    assert lines[:4] == [
        "The key travels unencrypted to bank.example; use https.",
        "TypeError: url must be http://HOST or https://HOST, with no password and no query.",
        "TypeError: key must be of printable ASCII characters, without spaces.",
        'TypeError: engine must be an id or a full name; got "a/b".',
    ]
    assert KEY not in "\n".join(lines)


def _done(*command: str | Path) -> str:
    """Run a command, which must succeed; return what it prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

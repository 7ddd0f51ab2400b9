"""The TypeScript client as its package has it: typed, and the samples of its guide work."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from open_memory_bank import Client, _requests, _store_values
from tests.client.faulty import Fault, Proxy, proxy
from tests.packaging.checkout import scratch_folder
from tests.support.documents import DOCS, ROOT, samples
from tests.support.live import KEY, LiveServer, live_server

_PACKAGE = ROOT / "clients/typescript"
_MODULES = ROOT / "tests/clients/node_modules"
_TSC = _MODULES / ".bin/tsc"
_OPTIONS = {
    "strict": True,
    "module": "nodenext",
    "target": "es2022",
    "types": [],
    "skipLibCheck": True,
}

pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(
        shutil.which("node") is None or not (_MODULES / "ai").is_dir(),
        reason="its packages are not installed: make test-node",
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
    for name in ("@ai-sdk", "@langchain", "ai"):
        (folder / "node_modules" / name).symlink_to(_MODULES / name)
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
    odd = b'{"error": {"details": [null, 1, {}]}}'
    too_late = Fault("answer", 429, odd, {"Retry-After": "61"})
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


def test_an_answer_that_is_late_or_breaks_off(run: _Run, between: Proxy) -> None:
    between.faults.append(Fault("answer", body=b'{"fact":"I like tea."}\n{"fact":'))
    program = """\
async function read(rows) {
  for await (const { fact } of rows) console.log(fact);
}
console.log(String(await failure(read(bank.memories.revisions.export()))).split(": ").pop());
const never = (url, { signal }) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
const late = new Client({ fetch: never, timeout: 0.05, retries: 1 });
console.log(String(await failure(late.service.health())));
"""
    assert run(_MADE + program) == [
        "I like tea.",
        "the answer broke off in a row",
        "Unreachable: GET /healthz: no answer in time",
    ]


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


_STORED = """\
import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import { MemoryBankStore } from "open-memory-bank-client/langgraph";
const ours = new MemoryBankStore(bank);
const seat = { content: "I prefer window seats.", row: 12, window: true, deep: { a: ["ü", 1] } };
"""


def test_a_store_does_what_the_one_of_langgraph_does(run: _Run) -> None:
    program = """\
async function used(store) {
  const seen = [];
  const plain = (item) => item && [item.namespace, item.key, item.value];
  const search = async (prefix, options) => {
    const found = (await store.search(prefix, options)).map(plain);
    seen.push(found.map((item) => JSON.stringify(item)).sort());
  };
  await store.put(["memories", "42"], "seat", seat);
  await store.put(["memories", "42"], "drink", { text: "I like tea.", row: 3 });
  await store.put(["memories", "7"], "drink", { text: "I like coffee." });
  await store.put(["others"], "drink", { text: "Water" });
  seen.push(plain(await store.get(["memories", "42"], "seat")));
  seen.push(await store.get(["memories", "42"], "none"));
  await search(["memories"]);
  await search(["memories", "42"]);
  await search([]);
  await search(["mem"]);
  for (const row of [12, { $gt: 3 }, { $gte: 3 }, { $lt: 12, $gt: 2 }, { $lte: 3 }, { $eq: 3 }]) {
    await search(["memories", "42"], { filter: { row } });
  }
  await search(["memories", "42"], { filter: { row: { $ne: 12 }, text: "I like tea." } });
  await search(["memories", "42"], { filter: { window: true } });
  seen.push(await store.listNamespaces());
  seen.push(await store.listNamespaces({ prefix: ["memories"], suffix: ["7"] }));
  seen.push(await store.listNamespaces({ maxDepth: 1, limit: 1, offset: 1 }));
  await store.put(["memories", "42"], "seat", { content: "I prefer aisle seats." });
  await store.delete(["memories", "42"], "drink");
  await store.delete(["memories", "42"], "drink");
  await search(["memories", "42"]);
  await store.put(["memories", "42"], "drink", { text: "I like tea again." });
  const ops = [
    { namespace: ["memories", "42"], key: "drink" },
    { namespace: ["memories", "42"], key: "drink", value: { text: "one" } },
    { namespace: ["memories", "42"], key: "drink", value: { text: "two" } },
  ];
  const [read] = await store.batch(ops);
  seen.push(read.key, (await store.get(["memories", "42"], "drink")).value.text);
  return seen.map((row) => JSON.stringify(row));
}
const [mine, theirs] = [await used(ours), await used(new InMemoryStore())];
console.log(mine.length === theirs.length);
mine.forEach((row, place) => row === theirs[place] || console.log(row, "is not", theirs[place]));
"""
    assert run(_MADE + _STORED + program) == ["true"]


def test_a_store_searches_by_meaning_and_says_what_it_does_not_serve(run: _Run) -> None:
    program = """\
await ours.put(["memories", "42"], "seat", seat);
await ours.put(["memories", "42"], "drink", { text: "I like tea." });
await ours.put(["memories", "42"], "hidden", { text: "window seats" }, false);
const found = await ours.search(["memories"], { query: "Which window seats?", limit: 5 });
console.log(found.map(({ key }) => key).join(), found[0].score > found[1].score);
const levels = new MemoryBankStore(bank, { levels: ["kind", "user_id"] });
await levels.put(["facts", "42"], "a", { text: "I like tea." });
console.log((await bank.memories.scopes().toArray()).map(({ scope }) => scope.kind).join("-"));
console.log((await levels.search(["facts"])).map(({ namespace }) => namespace.join()).join());
for (const wrong of [
  () => levels.get(["facts"], "a"),
  () => ours.search(["memories"], { query: "x", limit: 101 }),
  () => ours.search(["memories"], { filter: { a: { $in: [1] } } }),
  () => ours.search(["memories"], { filter: { a: { $gt: "x" } } }),
  () => ours.put(["a"], "b", { text: "x".repeat(96001) }),
  () => ours.put(["a"], "b", { text: "x" }, ["other"]),
]) {
  console.log(String(await failure(wrong())).split(":")[0]);
}
"""
    assert run(_MADE + _STORED + program) == [
        "seat,drink true",
        "-facts",
        "facts,42",
        *["RangeError"] * 2,
        *["TypeError"] * 2,
        "RangeError",
        "TypeError",
    ]


def test_both_stores_write_the_same_memories(run: _Run) -> None:
    namespace, key = ("Zoë's \U0001f600", "a-b"), 'k"\n\x7f'
    value = {"text": "\U0001f600" * 4001, "n": 1.5, "yes": True, "deep": {"a": [None, "ü"]}}
    program = f"""\
const namespace = {json.dumps(namespace)};
await ours.put(namespace, {json.dumps(key)}, {json.dumps(value)});
const [memory] = await bank.memories.list().toArray();
console.log(JSON.stringify(memory));
console.log((await ours.search(namespace)).length);
"""
    said, count = run(_MADE + _STORED + program)
    memory, fields = json.loads(said), ("content", "text")
    made = _store_values.content_of(key, value, fields, is_indexed=True)
    assert memory["name"].endswith(f"/{_store_values.memory_id_of(namespace, key)}")
    assert memory["scope"] == _store_values.scope_of(namespace, None)
    assert memory["fact"] == made["fact"]
    metadata = {name: _requests.metadata_value(kept) for name, kept in made["metadata"].items()}
    assert memory["metadata"] == metadata
    assert _store_values.key_and_value(memory["metadata"]) == (key, value)
    assert count == "1"


def test_tools_of_the_ai_sdk(run: _Run) -> None:
    program = """\
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { memoryTools } from "open-memory-bank-client/ai";

const tools = await memoryTools(bank, { scope, tools: ["remember", "search_memories"] });
console.log(Object.keys(tools).sort().join());
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
function answer({ prompt }) {
  const { role, content: [last] } = prompt.at(-1);
  const answered = (content, unified) =>
    ({ content: [content], finishReason: { unified }, usage, warnings: [] });
  if (role === "tool") return answered({ type: "text", text: last.output.value }, "stop");
  const [toolName, input] = last.text.endsWith("?")
    ? ["search_memories", { query: last.text }]
    : ["remember", { facts: [last.text] }];
  const call = { type: "tool-call", toolCallId: "1", toolName, input: JSON.stringify(input) };
  return answered(call, "tool-calls");
}
const model = new MockLanguageModelV4({ doGenerate: async (options) => answer(options) });
for (const prompt of ["I prefer window seats.", "Where do I like to sit?"]) {
  const { text } = await generateText({ model, tools, prompt, stopWhen: stepCountIs(2) });
  console.log(text.split(" (id")[0]);
}
"""
    names, *told = run(_MADE + program)
    assert names == "remember,search_memories"
    assert told[-1] == "1. I prefer window seats."


def _done(*command: str | Path) -> str:
    """Run a command, which must succeed; return what it prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

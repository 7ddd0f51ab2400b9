"""`memory-bank check-model` and `check-embedder`, against a server on the loopback address."""

import json

import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner, Result

from app.process.cli import app
from tests.support.model_server import Behaviour, Json, ModelServer, refusal

LINE = (
    "Tomorrow \u2014 at 7:30 \u2014 I\u2019ll bring Zo\u00eb\u2019s \u201cblue\u201d folder,"
    " not the red one."
)
NURSE = {"fact": "I work as a nurse.", "quote": "I work as a nurse", "line": 2, "topics": []}
TALL = {"fact": "I am tall.", "quote": "I am tall", "line": 0, "topics": []}


@pytest.fixture(autouse=True)
def _without_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.adapters.terminal.configure_logs", lambda _: None)
    for name in ("MODEL", "MODEL_BASE_URL", "EMBEDDER", "EMBEDDING_MODEL", "EMBEDDING_BASE_URL"):
        monkeypatch.delenv(f"MEMORY_BANK_{name}", raising=False)


def run(command: str, **settings: str) -> Result:
    variables = {f"MEMORY_BANK_{name.upper()}": value for name, value in settings.items()}
    with capture_logs():
        return CliRunner().invoke(app, [command], env=variables)


def model(server: ModelServer, quote: str = LINE, *facts: Json, **settings: str) -> Result:
    """Check a model that gives this quote, and finds these facts in the talk."""

    def answer(body: Json) -> Json:
        asked = json.dumps(body)
        if "Count the words" in asked:
            return {"words": 5}
        return {"quote": quote} if "folder" in asked else {"facts": list(facts)}

    server.always(answer)
    return run("check-model", model="openai:own", model_base_url=server.url, **settings)


def test_what_works_is_told_call_by_call(server: ModelServer) -> None:
    done = model(server, LINE, NURSE, TALL)

    lines = done.stdout.splitlines()
    assert done.exit_code == 0
    assert lines[0] == f"openai:own at {server.url}"
    assert lines[1].startswith("Structure: by native. (1 call, ")
    assert lines[2].startswith("Quotes: exact. (1 call, ")
    assert lines[3].startswith("A talk of six lines: facts kept: 1, dropped: 1. (1 call, ")
    assert lines[4:6] == ["  I work as a nurse.", "  dropped, NO_QUOTE: I am tall."]
    assert lines[6:] == ["Nothing has to be changed."]
    assert len(server.seen) == 3


def test_what_is_to_be_set_is_told(server: ModelServer) -> None:
    def judge(body: Json) -> Behaviour | None:
        if "response_format" in body:
            return refusal(500, "Failed to parse grammar")
        if body["max_tokens"] > 4_096:
            return refusal(400, "max_tokens must be at most 4096")
        return None

    server.judge = judge

    done = model(server, "Tomorrow, I bring a folder.", NURSE, model_timeout_seconds="0.001e3")

    assert "Structure: by tool; the server refuses native; it takes answers of 4,096" in done.stdout
    assert done.stdout.partition("Change:\n")[2].splitlines()[:3] == [
        "  MEMORY_BANK_MODEL_OUTPUT=tool",
        "  MEMORY_BANK_MODEL_MAX_OUTPUT_TOKENS=4096",
        "  Use a model that quotes exactly: a fact whose quote is wrong is dropped.",
    ]


def test_a_model_that_finds_nothing_is_of_no_use(server: ModelServer) -> None:
    done = model(server, LINE.replace("\u2019", "'").replace("\u2014", "-"), TALL)

    assert done.exit_code == 1
    assert "Quotes: exact but for punctuation" in done.stdout
    assert "Use a larger model: this one found no fact" in done.stdout


def test_without_a_model_it_says_how_to_name_one() -> None:
    done = run("check-model")

    assert done.exit_code == 1
    assert done.stderr.startswith("MEMORY_BANK_MODEL is not set, so built-in rules write memories.")
    assert "MEMORY_BANK_MODEL=ollama:qwen3" in done.stderr


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (
            refusal(401, "No such key."),
            "see MEMORY_BANK_MODEL_KEY. It says: No such key.",
        ),
        (refusal(404, "Not here."), "HTTP 404; see MEMORY_BANK_MODEL. It says: Not here."),
        (Behaviour("{}"), "The model's output was invalid, also when asked again."),
    ],
)
def test_what_is_wrong_is_one_sentence(
    server: ModelServer, behaviour: Behaviour, said: str
) -> None:
    server.always(behaviour)

    done = run("check-model", model="openai:own", model_base_url=server.url)

    assert done.exit_code == 1
    assert done.stderr.strip().endswith(said)
    assert len(done.stderr.splitlines()) == 1


def test_an_address_without_its_end_is_told(server: ModelServer) -> None:
    server.always(refusal(404, "Not here."))
    base = server.url.removesuffix("/v1")

    done = run("check-model", model="openai:own", model_base_url=base)

    assert done.stderr.splitlines()[1:] == ["The addresses of most servers end in /v1."]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model_base_url": "http://127.0.0.1:1/v1"}, "cannot be reached; see MEMORY_BANK_MODEL_"),
        ({"model_base_url": "127.0.0.1/v1"}, "MEMORY_BANK_MODEL_BASE_URL must be an address with"),
        ({"model": "gpt-5"}, "MEMORY_BANK_MODEL must be one of openai:..., "),
        ({"model_key": "se\u201ccret"}, "MEMORY_BANK_MODEL_KEY must have printable ASCII"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_told_without_its_secret(settings: dict[str, str], said: str) -> None:
    done = run("check-model", **{"model": "openai:own"} | settings)

    assert done.exit_code in {1, 2}
    assert said in done.stderr
    assert "cret" not in done.stderr.replace("secret", "")


def embedder(server: ModelServer, **settings: str) -> Result:
    given = {"embedder": "http", "embedding_model": "bge", "embedding_base_url": server.url}
    return run("check-embedder", **given | settings)


def test_an_embedder_tells_its_vectors_meaning_and_size(server: ModelServer) -> None:
    server.judge = lambda body: (
        refusal(413, "batch size is too large") if len(body["input"]) > 4 else None
    )

    done = embedder(server)

    lines = done.stdout.splitlines()
    assert lines[0] == f"http:bge at {server.url}"
    assert lines[1].startswith("Vectors: 8 numbers. (")
    assert lines[2].startswith("Meaning: ")
    assert lines[3].startswith("Texts at once: 4. (texts: 16, ")


def test_an_embedder_that_cuts_says_where(server: ModelServer) -> None:
    server.judge = lambda body: (
        refusal(413, "too long") if max(map(len, body["input"])) > 3_000 else None
    )

    assert "  Only the first 2,370 characters of a text are embedded." in embedder(server).stdout


@pytest.mark.parametrize(
    ("near", "code", "said"),
    [
        ("tea", 0, "the text that answers a question is nearest (distances 0.00 and 1.41)."),
        ("invoice", 1, "another text is nearer than the answer (distances 1.41 and 0.00)."),
    ],
)  # fmt: skip
def test_what_is_nearest_is_told(server: ModelServer, near: str, code: int, said: str) -> None:
    def judge(body: Json) -> Behaviour:
        rows = [
            {"index": at, "embedding": [1, 0] if near in text or "?" in text else [0, 1]}
            for at, text in enumerate(body["input"])
        ]
        return Behaviour(body=json.dumps({"data": rows}).encode())

    server.judge = judge

    done = embedder(server)

    assert (done.exit_code, said in done.stdout) == (code, True)
    assert ("Use a model that is made for search" in done.stdout) == (code == 1)


def test_the_embedder_of_this_process_can_be_checked_too() -> None:
    done = run("check-embedder", embedder="hash")

    assert done.exit_code == 0
    assert "Meaning: it compares words, not meanings." in done.stdout
    assert done.stdout.endswith("Nothing has to be changed.\n")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"embedder": "http"}, "The embedder http needs MEMORY_BANK_EMBEDDING_BASE_URL and"),
        ({"embedder": "auto"}, "MEMORY_BANK_EMBEDDER is auto, so MEMORY_BANK_EMBEDDING_MODEL is"),
    ],
)
def test_an_embedder_that_is_not_configured_is_told(settings: dict[str, str], said: str) -> None:
    given = settings if settings["embedder"] == "http" else settings | {"embedding_model": "bge"}
    done = run("check-embedder", **given)

    assert done.exit_code == 1
    assert done.stderr.startswith(said)

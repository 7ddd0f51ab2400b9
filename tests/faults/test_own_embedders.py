"""Embedders of an operator's own, as the guides have them: a folder, and servers over HTTP."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.live import KEY, LiveServer, live_server
from tests.support.model_server import ModelServer, model_server
from tests.support.own_model import bundled, make_folder

_ENGINE = "/v1beta1/projects/default/locations/local/reasoningEngines/1"
_USER = {"user_id": "42"}
_FACTS = ("I live in Oslo, by the harbour.", "I prefer a window seat.", "Ich trinke gern Tee.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    return tmp_path


def _call(server: LiveServer, method: str, path: str, **body: object) -> Any:
    headers = {"Authorization": f"Bearer {KEY}"}
    sent = {"json": body} if method == "POST" else {}
    answer = httpx.request(method, server.url + path, headers=headers, timeout=60, **sent)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    return answer.json()


def _search(server: LiveServer, query: str) -> list[Any]:
    params = {"searchQuery": query, "topK": 3}
    body = {"scope": _USER, "similaritySearchParams": params, "explain": True}
    found: list[Any] = _call(server, "POST", f"{_ENGINE}/memories:retrieve", **body)[
        "retrievedMemories"
    ]
    return found


def _fill(server: LiveServer) -> None:
    for fact in _FACTS:
        _call(server, "POST", f"{_ENGINE}/memories", fact=fact, scope=_USER)


def _checks(server: LiveServer) -> dict[str, str]:
    found: dict[str, str] = httpx.get(f"{server.url}/readyz").json()["checks"]
    return found


def test_a_server_searches_by_the_model_of_a_folder(folder: Path) -> None:
    model = make_folder(folder / "model", bundled())
    data = folder / "data"
    data.mkdir(mode=0o755)
    given = {
        "MEMORY_BANK_EMBEDDER": "onnx",
        "MEMORY_BANK_EMBEDDER_FOLDER": str(model),
        "MEMORY_BANK_EMBEDDER_LANGUAGES": "en",
    }
    with live_server(data, **given) as server:
        _fill(server)
        found = _search(server, "Where does the user like to sit?")
        assert found[0]["memory"]["fact"] == "I prefer a window seat."
        assert "vectorDistance" in found[0]["explanation"]
        asked = _search(server, "Wo sitze ich gern, und mit wem?")
        assert all(one["explanation"]["vectorsUnsuited"] for one in asked)
        checks = _checks(server)
    assert checks["embedder"].startswith("onnx:")
    told = f"English ({checks['embedder']}); in other languages they find mainly by words"
    assert checks["languages"] == told
    assert f"Searches understand: {told}" in (data / "stdout").read_text()
    logged = (data / "stderr").read_text()
    assert "embedder.opened" in logged
    assert "Traceback" not in logged


def _inputs(model: ModelServer) -> list[str]:
    found = [text for seen in model.seen for text in seen.body["input"]]
    model.seen.clear()
    return found


@pytest.mark.parametrize(
    ("name", "prefixes"),
    [("bge-m3", ("", "")), ("intfloat/multilingual-e5-base", ("query: ", "passage: "))],
    ids=["Ollama", "text-embeddings-inference"],
)
def test_an_engine_is_brought_to_a_multilingual_model_of_a_server(
    folder: Path, name: str, prefixes: tuple[str, str]
) -> None:
    with live_server(folder, MEMORY_BANK_EMBEDDER="hash") as server:
        _fill(server)
    query, text = prefixes
    with model_server(16) as model:
        given = {
            "MEMORY_BANK_EMBEDDER": "http",
            "MEMORY_BANK_EMBEDDING_BASE_URL": model.url,
            "MEMORY_BANK_EMBEDDING_MODEL": name,
            "MEMORY_BANK_EMBEDDER_QUERY_PREFIX": query,
            "MEMORY_BANK_EMBEDDER_TEXT_PREFIX": text,
        }
        with live_server(folder, **given) as server:
            # Served by the former vectors until the new ones are there.
            assert len(_search(server, "Oslo")) == 3
            model.seen.clear()
            operation = _call(server, "POST", f"{_ENGINE}:reembed")["name"]
            done = _call(server, "POST", f"/v1beta1/{operation}:wait")
            assert done["done"] is True, done
            assert "error" not in done
            assert {f"{text}{fact}" for fact in _FACTS} <= set(_inputs(model))
            found = _search(server, "Wo sitze ich gern?")
            assert _inputs(model) == [f"{query}Wo sitze ich gern?"]
            assert len(found) == 3
            assert all("vectorDistance" in one["explanation"] for one in found)
            assert _checks(server)["embedder"].startswith(f"http:{name}")
            assert ("#" in _checks(server)["embedder"]) == bool(text)

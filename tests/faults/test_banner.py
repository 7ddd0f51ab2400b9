"""What a server says of itself at its start: who writes memories, what searches understand."""

from pathlib import Path

import httpx
import pytest

from tests.support.live import live_server
from tests.support.model_server import model_server

LOST = "If the administrator's key is lost, this makes another: "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    return tmp_path


def test_without_a_model_the_rules_write_and_the_first_key_is_left_in_a_file(folder: Path) -> None:
    path = folder / "admin-key"
    path.symlink_to(folder / "elsewhere")  # neither followed nor kept
    with live_server(folder, MEMORY_BANK_EMBEDDER="minilm", MEMORY_BANK_ADMIN_KEY="") as server:
        checks = httpx.get(f"{server.url}/readyz").json()["checks"]
        lines = (folder / "stdout").read_text().splitlines()
        key = path.read_text().removesuffix("\n")
        page = httpx.get(f"{server.url}/docs", auth=("anyone", key))
        assert page.status_code == 200, "the key is the password of the documentation"
    assert lines[0].startswith("API key, in a file") and lines[0].endswith(f": {path}")  # noqa: PT018
    assert "password of /docs" in lines[1]
    assert lines[2].startswith(f"Open Memory Bank serves {server.url} ")
    assert lines[3] == (
        "Memories are written by: built-in rules 3 (set MEMORY_BANK_MODEL for a language model)"
    )
    assert lines[4] == (
        "Searches understand: English (all-MiniLM-L6-v2); in other languages they find mainly by"
        " words"
    )
    assert key.startswith("omb_")
    assert path.stat().st_mode & 0o777 == 0o600
    assert not (folder / "elsewhere").exists()
    assert lines[5] == f"The key opens the console: {server.url}/console"
    assert lines[6].startswith(LOST)
    logged = (folder / "stderr").read_text()
    assert "admin_key.written" in logged
    assert key not in logged + "".join(lines)
    assert checks["writer"] == "builtin-rules/3"
    assert checks["embedder"] == checks["model"] == "all-MiniLM-L6-v2/int8"


def test_a_model_is_named_and_not_asked(folder: Path) -> None:
    with model_server() as model:
        given = {"MEMORY_BANK_MODEL": "openai:small", "MEMORY_BANK_MODEL_BASE_URL": model.url}
        given["MEMORY_BANK_FAVOURITE_COLOUR"] = "red-as-roses"
        with live_server(folder, MEMORY_BANK_EMBEDDER="hash", **given) as server:
            checks = httpx.get(f"{server.url}/readyz").json()["checks"]
        assert model.seen == []
    said = (folder / "stderr").read_text()
    assert said.count("settings.unknown") == said.count("MEMORY_BANK_FAVOURITE_COLOUR") == 1
    assert "roses" not in said
    assert (checks["writer"], checks["embedder"]) == ("openai:small", "hash-384/1 (lexical only)")
    lines = (folder / "stdout").read_text().splitlines()
    assert lines[1:] == [
        "Memories are written by: openai:small",
        "Searches understand: words alone, in every language (hash-384/1)",
    ]

"""The generated files of the client are those of the document, and its methods cover it."""

import ast
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import open_memory_bank
from open_memory_bank import _calls, _requests
from scripts import make_client
from scripts.client.calls import calls_file, operation_ids, snake
from scripts.client.schemas import types_file
from tests.support.documents import ROOT

_DOCUMENT = json.loads((ROOT / "openapi/openapi.json").read_text())
_WITHOUT_METHOD: dict[str, str] = {
    "exportReasoningEngine": "an administrator's: `memory-bank export`",
    "restoreReasoningEngine": "an administrator's: `memory-bank restore`",
}
"""Operations that the client does not serve, each with the reason."""
_OTHERS_IMPORTED = {"httpx", "typing_extensions", "open_memory_bank"}


def test_the_generated_files_are_current(tmp_path: Path) -> None:
    """Mend it by `make client`."""
    python, web = tmp_path / "python", tmp_path / "typescript"
    make_client.write(python, web)
    stale = [
        path.relative_to(tmp_path).as_posix()
        for made, kept in ((python, make_client.PACKAGE), (web, make_client.TYPESCRIPT))
        for path in sorted(made.rglob("*.*"))
        if path.read_text() != (kept / path.relative_to(made)).read_text()
    ]
    assert stale == []
    written = {path.name for path in (python / "_sync").iterdir()}
    assert written == {path.name for path in (make_client.PACKAGE / "_sync").glob("*.py")}


def test_every_operation_has_a_method() -> None:
    sources = (make_client.PACKAGE / "_async").glob("*.py")
    used = set(re.findall(r"_calls\.([A-Z_]+)\b", "".join(path.read_text() for path in sources)))
    ids = operation_ids(_DOCUMENT)
    assert {id_ for id_ in ids if snake(id_).upper() not in used} == _WITHOUT_METHOD.keys()
    methods = "".join(path.read_text() for path in make_client.TYPESCRIPT.glob("*.ts"))
    assert set(re.findall(r"\bcalls\.([A-Z_]+)\b", methods)) == used


def test_all_arguments_of_an_operation_can_be_given() -> None:
    """Each call has its arguments by where they go, and none twice."""
    calls = [value for value in vars(_calls).values() if isinstance(value, _requests.Call)]
    assert {call.id for call in calls} == operation_ids(_DOCUMENT)
    assert [call.id for call in calls if call.query.keys() & call.body.keys()] == []


@pytest.mark.parametrize(
    ("place", "schema", "said"),
    [
        (("components", "schemas", "Memory", "properties", "fact"), {"type": "decimal"}, "decimal"),
        (("components", "schemas", "a-b"), {"type": "object"}, "a-b"),
    ],
)
def test_a_schema_without_a_type_stops_the_writing(
    place: tuple[str, ...], schema: Any, said: str
) -> None:
    document = json.loads(json.dumps(_DOCUMENT))
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = schema
    with pytest.raises(ValueError, match=said):
        types_file(document)


def test_a_header_that_is_not_known_stops_the_writing() -> None:
    document = json.loads(json.dumps(_DOCUMENT))
    row = {"name": "x-new", "in": "header", "schema": {"type": "string"}}
    document["paths"]["/healthz"]["get"]["parameters"] = [row]
    with pytest.raises(ValueError, match="x-new"):
        calls_file(document)


def test_a_new_change_without_an_id_is_not_sent_again() -> None:
    document = json.loads(json.dumps(_DOCUMENT))
    document["paths"]["/healthz"]["post"] = {
        **document["paths"]["/healthz"]["get"],
        "operationId": "changeHealth",
    }
    (line,) = (row for row in calls_file(document).splitlines() if '"changeHealth"' in row)
    assert "is_repeatable=False" in line


def test_the_package_imports_httpx_alone() -> None:
    """Its core, which never imports the service; adapters import their frameworks."""
    imported = set()
    for path in make_client.PACKAGE.rglob("*.py"):
        if path.name in {"langgraph.py", "openai.py", "openai_agents.py"}:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").partition(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
    assert imported - sys.stdlib_module_names == _OTHERS_IMPORTED


def test_the_typescript_package_imports_nothing() -> None:
    """Its core, which runs in browsers; adapters import their frameworks."""
    imported = {
        name
        for path in make_client.TYPESCRIPT.glob("*.ts")
        if path.name not in {"ai.ts", "langgraph.ts"}
        for name in re.findall(r'from "([^"]+)"', path.read_text())
    }
    assert imported
    assert {name for name in imported if not name.startswith("./")} == set()


def test_both_clients_have_the_same_methods() -> None:
    blocking, awaited = open_memory_bank.Client(), open_memory_bank.AsyncClient()
    assert _signatures(blocking) == _signatures(awaited)
    blocking.close()


def _signatures(client: Any) -> dict[str, str]:
    found = {}
    for name, part in vars(client).items():
        for method, function in inspect.getmembers(part, inspect.ismethod):
            if not (name.startswith("_") or method.startswith("_")):
                said = str(inspect.signature(function)).replace("Async", "")
                found[f"{name}.{method}"] = said
    assert len(found) > 70
    return found


def test_the_version_is_that_of_the_service() -> None:
    version = re.compile(r'^version = "(.+)"$', re.MULTILINE)
    found = [
        version.findall((ROOT / name).read_text())[0]
        for name in ("pyproject.toml", "clients/python/pyproject.toml")
    ]
    assert found[0] == found[1]

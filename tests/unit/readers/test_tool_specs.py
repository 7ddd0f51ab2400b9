"""The readers as tools of agents."""

import json

from jsonschema import Draft202012Validator

from app.artifacts.readers.schemas import ToolFormat
from app.artifacts.readers.services.tool_specs import tool_specs


def test_the_tools_ask_for_memory_and_namespace() -> None:
    specs = tool_specs("TaskMemory", may_export=True, sources=["in", "more"])
    named = {one["function"]["name"]: one["function"]["parameters"] for one in specs.openai or ()}
    assert [name.removesuffix("_task_memory") for name in named] == [
        "query",
        "summarize",
        "extract",
        "export",
        "list",
        "load",
    ]
    assert named["list_task_memory"]["required"] == ["memory"]
    load = named["load_task_memory"]
    assert load["required"] == ["memory", "namespace", "source"]
    assert load["properties"]["source"]["enum"] == ["in", "more"]
    assert named["query_task_memory"]["required"] == ["memory", "namespace", "query"]
    assert named["summarize_task_memory"]["required"] == ["memory", "namespace"]
    assert named["extract_task_memory"]["required"] == ["memory", "namespace", "schema"]
    for reader in ("query", "summarize", "extract"):
        assert "artifacts" in named[f"{reader}_task_memory"]["properties"]
    export = named["export_task_memory"]
    assert export["required"] == ["memory", "namespace"]
    assert list(export["properties"])[2:] == ["artifact", "file_name", "folder"]
    for schema in named.values():
        Draft202012Validator.check_schema(schema)
        assert schema["properties"]["memory"]["enum"] == ["TaskMemory"]
        assert set(schema["required"]) <= set(schema["properties"])
        assert schema["additionalProperties"] is False


def test_gemini_has_the_same_tools_in_its_own_spelling() -> None:
    specs = tool_specs("TaskMemory", may_export=True)
    for openai, gemini in zip(specs.openai or (), specs.gemini or (), strict=True):
        assert openai["type"] == "function"
        assert gemini["name"] == openai["function"]["name"]
        assert gemini["parameters"]["type"] == "OBJECT"
        assert "additionalProperties" not in gemini["parameters"]
        types = {one["type"] for one in gemini["parameters"]["properties"].values()}
        assert types <= {"STRING", "INTEGER", "BOOLEAN", "ARRAY"}
        for one in gemini["parameters"]["properties"].values():
            assert one.get("items") in (None, {"type": "STRING"})


def test_anthropic_has_the_same_tools_as_input_schemas() -> None:
    specs = tool_specs("TaskMemory", may_export=True)
    for gemini, anthropic in zip(specs.gemini or (), specs.anthropic or (), strict=True):
        assert set(anthropic) == {"name", "description", "input_schema"}
        assert anthropic["name"] == gemini["name"]
        Draft202012Validator.check_schema(anthropic["input_schema"])
        assert anthropic["input_schema"]["required"] == gemini["parameters"]["required"]


def test_a_format_is_answered_alone() -> None:
    found = tool_specs(None, ToolFormat.ANTHROPIC, may_export=False).wire()
    assert [*found] == ["anthropic"]
    assert [one["name"] for one in found["anthropic"]] == [
        "query_task_memory",
        "summarize_task_memory",
        "extract_task_memory",
        "list_task_memory",
    ]


def test_who_may_not_read_has_the_list_alone() -> None:
    found = tool_specs(None, ToolFormat.GEMINI, may_read=False, may_export=False).wire()
    assert [one["name"] for one in found["gemini"]] == ["list_task_memory"]


def test_without_a_memory_any_may_be_named() -> None:
    assert "enum" not in json.dumps(tool_specs(None, may_export=True).wire())


def test_one_answer_is_not_changed_by_another() -> None:
    first = json.dumps(tool_specs("a", may_export=True).wire())
    tool_specs("b", may_export=True)
    assert json.dumps(tool_specs("a", may_export=True).wire()) == first

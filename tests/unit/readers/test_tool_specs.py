"""The readers as tools of agents."""

import json

from jsonschema import Draft202012Validator

from app.artifacts.readers.services.tool_specs import tool_specs


def test_the_tools_ask_for_memory_and_namespace() -> None:
    specs = tool_specs("TaskMemory")
    named = {one["function"]["name"]: one["function"]["parameters"] for one in specs.openai}
    assert set(named) == {"query_task_memory", "summarize_task_memory"}
    assert named["query_task_memory"]["required"] == ["memory", "namespace", "query"]
    assert named["summarize_task_memory"]["required"] == ["memory", "namespace"]
    for schema in named.values():
        Draft202012Validator.check_schema(schema)
        assert schema["properties"]["memory"]["enum"] == ["TaskMemory"]
        assert set(schema["required"]) <= set(schema["properties"])
        assert schema["additionalProperties"] is False


def test_gemini_has_the_same_tools_in_its_own_spelling() -> None:
    specs = tool_specs("TaskMemory")
    for openai, gemini in zip(specs.openai, specs.gemini, strict=True):
        assert openai["type"] == "function"
        assert gemini["name"] == openai["function"]["name"]
        assert gemini["parameters"]["type"] == "OBJECT"
        assert "additionalProperties" not in gemini["parameters"]
        types = {one["type"] for one in gemini["parameters"]["properties"].values()}
        assert types <= {"STRING", "INTEGER", "BOOLEAN"}


def test_without_a_memory_any_may_be_named() -> None:
    assert "enum" not in json.dumps(tool_specs(None).wire())


def test_one_answer_is_not_changed_by_another() -> None:
    first = json.dumps(tool_specs("a").wire())
    tool_specs("b")
    assert json.dumps(tool_specs("a").wire()) == first

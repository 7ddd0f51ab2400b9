"""The definitions of tools: what a prompt pays for them, and what model APIs accept."""

import json
from typing import Any

import anthropic.types
import jsonschema
import openai.types.chat
import pytest
from google.genai.types import FunctionDeclaration
from pydantic import TypeAdapter

from app.kernel import tools
from app.kernel.auth import Caller, Reach
from app.kernel.errors import InvalidArgument
from app.kernel.permissions import OF_ROLE, Role
from app.kernel.tools import ToolName
from app.settings.settings import Settings
from app.surfaces.mcp.prompts import INSTRUCTIONS
from app.surfaces.tools import catalogue
from app.surfaces.tools.calls import CALLS
from app.surfaces.tools.catalogue import TOOLS, Tool
from app.surfaces.tools.scopes import choose

USUAL = Settings().mcp_tools
FIXED = choose({}, {"user_id": "42"})
OPEN = choose({}, {})
_CHARS_A_TOKEN = 4


def _caller(role: Role, reach: Reach | None = None) -> Caller:
    return Caller("k", OF_ROLE[role], reach or Reach())


def _tokens(tools: list[Tool], *, is_fixed: bool) -> float:
    scope = FIXED if is_fixed else OPEN
    texts = (f"{tool.name}{tool.description}{json.dumps(tool.schema_for(scope))}" for tool in tools)
    return sum(map(len, texts)) / _CHARS_A_TOKEN


def test_the_definitions_are_within_their_budget() -> None:
    tools = catalogue.shown(_caller(Role.ADMIN), USUAL)
    assert len(tools) == 8
    assert 0 < _tokens(tools, is_fixed=True) <= 1_500
    assert _tokens(tools, is_fixed=False) <= 1_750


def test_the_instructions_are_short() -> None:
    assert 20 <= len(INSTRUCTIONS.split()) <= 120


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_a_description_has_at_most_60_words(tool: Tool) -> None:
    assert 5 <= len(tool.description.split()) <= 60


@pytest.mark.parametrize(
    ("role", "count"), [(Role.VIEWER, 3), (Role.USER, 5), (Role.EDITOR, 8), (Role.ADMIN, 8)]
)
def test_a_role_is_shown_what_it_may_use(role: Role, count: int) -> None:
    bound = Reach(conditions={"user_id": frozenset({"42"})})
    assert len(catalogue.shown(_caller(role), USUAL)) == count
    assert len(catalogue.shown(_caller(role, bound), USUAL)) == count


def test_each_tool_is_run_by_something() -> None:
    assert set(TOOLS) == set(CALLS) == set(ToolName)


def test_only_forgetting_is_destructive() -> None:
    destructive = {name for name, tool in TOOLS.items() if tool.is_destructive}
    assert destructive == {ToolName.FORGET_MEMORY}
    read_only = {name for name, tool in TOOLS.items() if tool.is_read_only}
    assert read_only == {
        ToolName.SEARCH_MEMORIES,
        ToolName.LIST_MEMORIES,
        ToolName.MEMORY_HISTORY,
        ToolName.RECALL_CONVERSATION,
    }


@pytest.mark.parametrize("scope", [FIXED, OPEN, choose({"user_id": frozenset("12")}, {})])
@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_each_schema_is_json_schema_and_closed(tool: Tool, scope: Any) -> None:
    schema = tool.schema_for(scope)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert ("scope" in schema["properties"]) is not scope.is_fixed
    assert ("scope" in schema.get("required", ())) is not scope.is_fixed


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_the_clients_of_model_apis_take_the_declarations(tool: Tool) -> None:
    given = tool.name, tool.description, tool.schema
    TypeAdapter(openai.types.chat.ChatCompletionToolParam).validate_python(tools.openai(*given))
    TypeAdapter(anthropic.types.ToolParam).validate_python(tools.anthropic(*given))
    # Its model refuses every keyword that it does not know.
    declared = FunctionDeclaration.model_validate(tools.gemini(*given))
    assert declared.parameters is not None
    assert declared.parameters.type == "OBJECT"


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        (
            ToolName.SEARCH_MEMORIES,
            {"query": "tea", "limit": 99},
            "limit: must be 1 to 50. search_memories accepts: query, limit, topics, max_tokens.",
        ),
        (ToolName.SEARCH_MEMORIES, {}, "query: is required."),
        (ToolName.SEARCH_MEMORIES, {"query": " "}, "query: must not be blank."),
        (ToolName.SEARCH_MEMORIES, {"query": "tea", "limit": "51"}, "limit: must be 1 to 50."),
        (ToolName.SEARCH_MEMORIES, {"query": "tea", "limit": "few"}, "limit: must be 1 to 50."),
        (ToolName.SEARCH_MEMORIES, {"query": "tea", "limit": "2.5"}, "limit: must be 1 to 50."),
        (
            ToolName.SEARCH_MEMORIES,
            {"query": "tea", "topics": "tea, cake"},
            "topics: must be a list of 0 to 10 items.",
        ),
        (
            ToolName.REMEMBER,
            {"facts": '{"fact": "I like tea."}'},
            "facts: must be a list of 1 to 5 items.",
        ),
        (ToolName.REMEMBER, {"facts": "[" * 100_000}, "facts: must be a list of 1 to 5 items."),
        (ToolName.SEARCH_MEMORIES, {"query": "tea", "limit": 2.5}, "limit: must be 1 to 50."),
        (ToolName.SEARCH_MEMORIES, {"query": "tea", "limit": 1e300}, "limit: must be 1 to 50."),
        (ToolName.SEARCH_MEMORIES, {"query": "tea", "limit": True}, "limit: must be 1 to 50."),
        (ToolName.SEARCH_MEMORIES, {"query": "tea", "top": 3}, "top: is not a parameter."),
        (ToolName.REMEMBER, {"facts": []}, "facts: must be a list of 1 to 5 items."),
        (ToolName.REMEMBER, "tea", "arguments: must be an object."),
        (ToolName.FORGET_MEMORY, {}, "give either ids or query."),
        (
            ToolName.LEARN_FROM_CONVERSATION,
            {"messages": [{"role": "system", "text": "x"}]},
            "messages[0].role: must be user or assistant.",
        ),
        (
            ToolName.LIST_MEMORIES,
            {"changed_since": "lately"},
            "changed_since: must be a date or time such as 2030-01-31.",
        ),
        (
            ToolName.LIST_MEMORIES,
            {"changed_since": "0001-01-01T00:00:00+10:00"},
            "changed_since: must be a date or time such as 2030-01-31.",
        ),
    ],
)
def test_wrong_arguments_are_named_with_what_is_accepted(
    name: ToolName, given: object, told: str
) -> None:
    tool = TOOLS[name]
    with pytest.raises(InvalidArgument) as refused:
        tool.read(given, tool.schema)
    assert refused.value.message.startswith(told)
    assert f"{name} accepts: " in refused.value.message


@pytest.mark.parametrize("invented", ["q", "text"])
def test_models_may_call_a_query_otherwise(invented: str) -> None:
    tool = TOOLS[ToolName.SEARCH_MEMORIES]
    assert tool.read({invented: "tea"}, tool.schema).model_dump()["query"] == "tea"


_TALK = [{"role": "user", "text": "I like tea."}]


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        (ToolName.SEARCH_MEMORIES, {"query": "tea", "limit": "3"}, {"limit": 3}),
        (ToolName.SEARCH_MEMORIES, {"query": "tea", "max_tokens": " 50.0 "}, {"max_tokens": 50}),
        (ToolName.SEARCH_MEMORIES, {"query": 42}, {"query": "42"}),
        (
            ToolName.SEARCH_MEMORIES,
            {"q": 7, "topics": '["tea"]'},
            {"query": "7", "topics": ["tea"]},
        ),
        (
            ToolName.REMEMBER,
            {"facts": '["I like tea.", "I am 7."]'},
            {"facts": ["I like tea.", "I am 7."]},
        ),
        (ToolName.FORGET_MEMORY, {"ids": [12, "13"]}, {"ids": ["12", "13"]}),
        (ToolName.FORGET_MEMORY, {"ids": "[12]"}, {"ids": ["12"]}),
        (ToolName.UPDATE_MEMORY, {"id": 12, "fact": "I like tea."}, {"id": "12"}),
        (ToolName.LEARN_FROM_CONVERSATION, {"messages": json.dumps(_TALK)}, {"messages": _TALK}),
        (
            ToolName.LEARN_FROM_CONVERSATION,
            {"messages": [json.dumps(_TALK[0])]},
            {"messages": _TALK},
        ),
        (ToolName.LIST_MEMORIES, '{"limit": "5"}', {"limit": 5}),
    ],
)
def test_a_value_of_another_type_is_taken_where_it_can_mean_nothing_else(
    name: ToolName, given: object, read: dict[str, object]
) -> None:
    tool = TOOLS[name]
    found = tool.read(given, tool.schema).model_dump()
    assert {field: found[field] for field in read} == read


def test_a_whole_number_may_be_a_float() -> None:
    """Some model APIs hand over every number as one."""
    tool = TOOLS[ToolName.SEARCH_MEMORIES]
    given = {"query": "tea", "limit": 3.0, "max_tokens": 100.0}
    read = tool.read(given, tool.schema).model_dump()
    assert (read["limit"], read["max_tokens"]) == (3, 100)
    assert tool.schema["properties"]["limit"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 50,
        "default": 10,
    }


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("2030-01-31", "2030-01-31T00:00:00Z"),
        ("20300131", "2030-01-31T00:00:00Z"),
        ("2030-01-31T10:00", "2030-01-31T10:00:00Z"),
        ("2030-01-31 10:00+02:00", "2030-01-31T08:00:00Z"),
        ("2030-W05-4", "2030-01-31T00:00:00Z"),
    ],
)
def test_a_time_is_read_in_any_usual_form(given: str, read: str) -> None:
    tool = TOOLS[ToolName.LIST_MEMORIES]
    arguments = tool.read({"changed_since": given}, tool.schema)
    assert arguments.model_dump()["changed_since"] == read

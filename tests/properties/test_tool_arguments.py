"""Whatever a model sends to a tool: no fault, no trace, and nothing of another's memories."""

from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from app.adapters.resources import Resources
from app.kernel.tools import ToolName
from app.surfaces.tools.catalogue import TOOLS
from tests.conftest import ADMIN_KEY
from tests.support.tools import app_with, made, mcp_call

_EXAMPLES, _NIGHTLY_EXAMPLES = 25, 1_000
_NEEDING_A_MEMORY = {
    ToolName.MEMORY_HISTORY,
    ToolName.UPDATE_MEMORY,
    ToolName.RESTORE_MEMORY,
}
"""Tools that succeed only with the id of a memory, which no random text is."""
_SECRET = "The canary sings at dawn."
_NAMES = sorted({name for tool in TOOLS.values() for name in tool.schema["properties"]})
_TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40),
    st.sampled_from(["canary", "..", "-", "1", "1/2", "memories/1", "*", "2026-01-01", "%2e"]),
)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 2**63), st.floats(-9, 9), _TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(_TEXTS, inner, max_size=3)
    ),
    max_leaves=6,
)


def _fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that a schema mostly accepts."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "object":
            fields = {name: _fitting(field) for name, field in schema["properties"].items()}
            required = {name: fields.pop(name) for name in schema.get("required", ())}
            return st.fixed_dictionaries(required, optional=fields)
        case "array":
            return st.lists(_fitting(schema["items"]), max_size=3)
        case "integer":
            return st.integers(schema["minimum"], schema["maximum"])
        case _:
            return _TEXTS


def _arguments(schema: dict[str, Any], count: int) -> list[Any]:
    found: list[Any] = []
    odd = st.dictionaries(st.one_of(st.sampled_from(_NAMES), _TEXTS), _VALUES, max_size=4)

    @hypothesis_settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(_fitting(schema), odd))
    def collect(arguments: Any) -> None:
        found.append(arguments)

    collect()
    return found


@pytest.mark.parametrize("name", TOOLS)
async def test_any_arguments_are_answered(
    resources: Resources, client: httpx.AsyncClient, name: ToolName, *, is_nightly: bool
) -> None:
    # All tools, none of which waits for a worker.
    app = app_with(resources, mcp_wait_seconds=0, mcp_tools=tuple(TOOLS))
    foreign = await made(client, _SECRET, user="43")
    count = _NIGHTLY_EXAMPLES if is_nightly else _EXAMPLES
    outcomes = set()
    for arguments in [{"id": foreign}, *_arguments(TOOLS[name].schema, count)]:
        answer = await mcp_call(app, ADMIN_KEY, name, arguments, path="/mcp?scope.user_id=42")
        outcomes.add(answer["isError"])
        text = answer["content"][0]["text"]
        assert "The service failed" not in text, arguments
        assert "Traceback" not in text, arguments
        assert _SECRET not in str(answer), arguments
    assert True in outcomes
    assert (False in outcomes) is (name not in _NEEDING_A_MEMORY)
    assert (await client.get(f"memories/{foreign}")).json()["fact"] == _SECRET

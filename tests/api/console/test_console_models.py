"""The model that writes the memories of an engine: which one it is, and the choice of it."""

import re
from dataclasses import replace
from typing import Any

import httpx
import pytest

from app.adapters.llm.models import TextModels
from app.adapters.resources import Resources
from tests.api.console.conftest import SignedIn
from tests.support.bank import ENGINE_URL, ok
from tests.support.console import page
from tests.support.scripted_models import ScriptedTextModel
from tests.support.usage import LOCAL, MINI

_SETTINGS = "/console/e/1/settings"


@pytest.fixture
def resources(resources: Resources, models: TextModels) -> Resources:
    return replace(resources, models=models)


@pytest.fixture
def models() -> TextModels:
    large = ScriptedTextModel([], model_id=MINI)
    return TextModels(default=ScriptedTextModel([], model_id=LOCAL), aliases={"large": large})


async def _name(client: httpx.AsyncClient, model: str | None) -> Any:
    generation = {"model": model} if model else {}
    config = {"memoryBankConfig": {"generationConfig": generation}}
    ok(await client.patch("", json={"contextSpec": config}))
    return ok(await client.get(f"{ENGINE_URL}:usage"))["generation"]


@pytest.mark.parametrize(
    ("named", "writer", "told"),
    [
        (None, LOCAL, LOCAL),
        (LOCAL, LOCAL, LOCAL),
        ("large", MINI, f"{MINI} for large"),
        ("gemini-2.5-flash", LOCAL, f"{LOCAL} for gemini-2.5-flash"),
    ],
)
async def test_the_writer_is_the_configured_model_behind_the_name(
    client: httpx.AsyncClient, signed_in: SignedIn, named: str | None, writer: str, told: str
) -> None:
    found = await _name(client, named)
    assert found == {"model": writer, "availableModels": [LOCAL, "large"]}
    admin = await signed_in("admin")
    assert told in (await page(admin, "/console")).text
    html = (await admin.get(_SETTINGS)).text
    chosen = re.findall(r"<option([^>]*)>([^<]*)</option>", html[html.index('id="model"') :])
    offered = chosen[: 3 if named != "gemini-2.5-flash" else 4]
    assert [text for _, text in offered][:3] == ["of the service", LOCAL, "large"]
    selected = [text for attributes, text in offered if "selected" in attributes]
    assert selected == {None: [], "gemini-2.5-flash": [f"{named}, for which {LOCAL} writes"]}.get(
        named, [named]
    )
    assert f"Now {writer} writes." in html


async def test_a_model_is_chosen_from_the_list(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    admin = await signed_in("admin")
    form = (await page(admin, _SETTINGS)).forms[_SETTINGS]
    assert (await admin.post(_SETTINGS, data={**form, "model": "large"})).status_code == 303
    assert ok(await client.get(f"{ENGINE_URL}:usage"))["generation"]["model"] == MINI
    form = (await page(admin, _SETTINGS)).forms[_SETTINGS]
    assert (await admin.post(_SETTINGS, data={**form, "model": ""})).status_code == 303
    assert ok(await client.get(f"{ENGINE_URL}:usage"))["generation"]["model"] == LOCAL


class TestWithoutModels:
    """A service whose rules write."""

    @pytest.fixture
    def models(self) -> TextModels:
        return TextModels()

    async def test_the_rules_write(self, client: httpx.AsyncClient, signed_in: SignedIn) -> None:
        found = ok(await client.get(f"{ENGINE_URL}:usage"))["generation"]
        assert found["availableModels"] == []
        assert found["model"].startswith("builtin-rules/")
        assert found["model"] in (await page(await signed_in("viewer"), "/console")).text

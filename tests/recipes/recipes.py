"""The recipes of clients/recipes: each in a process and an engine of its own, with a bound key."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from open_memory_bank import Client
from tests.recipes import models
from tests.support.documents import ROOT
from tests.support.live import KEY, LiveServer
from tests.support.model_server import Json, ModelServer, Seen

FOLDER = ROOT / "clients/recipes"
CLIENT = ROOT / "clients/python/src"
USER = "42"
_FOREIGN_SCOPES = ({"user_id": "43"}, {"kind": "memories", "user_id": "43"})
_FOREIGN = "Where should we sit on the plane, where does the user like to sit? Never at all."
"""Somebody else's memory, nearer to what recipes search for than their own: none may find it."""
_ENDS_WITH = re.compile(r"^# prints: (.+)\n\Z", re.MULTILINE)
_TIMEOUT_SECONDS = 240


@dataclass(frozen=True)
class Recipe:
    """A recipe.

    Attributes:
        package: the framework's, whose version is told.
        is_apart: it has an environment of its own.
        model: answers where the recipe asks a model.
        check: raises AssertionError if a model was asked anything wrong.
    """

    name: str
    package: str
    is_apart: bool = False
    model: Callable[[Json], models.Answer] | None = None
    check: Callable[[Sequence[Seen]], None] | None = None

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.py"

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        apart = ROOT / f".venv/recipes/{self.name}/bin/python"
        return apart if self.is_apart else Path(sys.executable)

    @property
    def promised(self) -> str:
        """The last line that it promises to print."""
        (line,) = _ENDS_WITH.findall(self.path.read_text())
        return str(line)


RECIPES = (
    Recipe("plain_loop", "httpx", model=models.remembering),
    Recipe("mcp_client", "mcp"),
    Recipe("pydantic_ai_tools", "pydantic-ai-slim"),
    Recipe(
        "openai_agents_session",
        "openai-agents",
        is_apart=True,
        model=models.planning,
        check=models.check_prompts,
    ),
    Recipe("langgraph_store", "langmem", is_apart=True),
)


def run(recipe: Recipe, service: LiveServer, model: ModelServer) -> str:
    """Run a recipe in an engine of its own; return the last line that it printed.

    Raises:
        AssertionError: it failed.
    """
    model.reset()
    if recipe.model is not None:
        model.always(recipe.model)
    lines = printed(recipe, recipe.path, service, model).splitlines()
    if recipe.check is not None:
        recipe.check(model.seen)
    return lines[-1]


def printed(recipe: Recipe, program: Path, service: LiveServer, model: ModelServer) -> str:
    """Run a program in a recipe's environment with a key bound to one user; return its output."""
    with Client(service.url, key=KEY) as bank:
        engine = bank.engines.create(display_name=recipe.name)["name"]
        key = bank.keys.create(
            display_name=recipe.name,
            roles=["editor"],
            engines=[engine],
            scope_conditions={"user_id": USER} if program == recipe.path else None,
        )
        for scope in _FOREIGN_SCOPES if program == recipe.path else ():
            bank.at(engine).memories.create(scope=scope, fact=_FOREIGN)
    environment = {
        **os.environ,
        "PYTHONPATH": str(CLIENT),
        "MEMORY_BANK_CLIENT_URL": service.url,
        "MEMORY_BANK_CLIENT_KEY": str(key["secret"]),
        "RECIPE_ENGINE": engine,
        "OPENAI_BASE_URL": model.url,
        "OPENAI_API_KEY": "none",
    }
    command = [str(recipe.python), str(program)]
    ended = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_SECONDS,
    )
    assert ended.returncode == 0, f"{program.name}: {ended.stderr[-3000:]}"
    return ended.stdout

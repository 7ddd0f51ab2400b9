"""The recipes of clients/recipes: each in a process and an engine of its own, with a bound key."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from open_memory_bank import Client
from tests.packaging.checkout import scratch_folder
from tests.recipes import models
from tests.support.documents import DOCS, ROOT
from tests.support.live import KEY, LiveServer, live_server
from tests.support.model_server import Json, ModelServer, Seen

FOLDER = ROOT / "clients/recipes"
CLIENT = ROOT / "clients/python/src"
USER = "42"
_FOREIGN_SCOPES = ({"user_id": "43"}, {"kind": "memories", "user_id": "43"})
_FOREIGN = "Where should we sit on the plane, where does the user like to sit? Never at all."
"""Somebody else's memory, nearer to what recipes search for than their own: none may find it."""
_ENDS_WITH = re.compile(r"^# prints: (.+)\n\Z", re.MULTILINE)
_SHOWN = r"{name}\.py\"\n```\n+```text\n(.*?)\n```"
"""A story of the guide: the program, which the site includes, and its output."""
_TIMEOUT_SECONDS = 240


@dataclass(frozen=True)
class Recipe:
    """A recipe.

    Attributes:
        package: the framework's, whose version is told.
        is_apart: it has an environment of its own.
        model: answers where the recipe asks a model.
        check: raises AssertionError if a model was asked anything wrong.
        is_story: the guide shows all that it prints; it has few lines.
        saves: the files that it saves, by name.
    """

    name: str
    package: str
    is_apart: bool = False
    model: Callable[[Json], models.Answer] | None = None
    check: Callable[[Sequence[Seen]], None] | None = None
    is_story: bool = False
    saves: Mapping[str, str] = field(default_factory=dict)

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
        """The end of what it prints: its last comment, or the output that the guide shows."""
        if self.is_story:
            guide = (DOCS / "guides/recipes.md").read_text()
            (output,) = re.findall(_SHOWN.format(name=self.name), guide, re.DOTALL)
            return str(output)
        (line,) = _ENDS_WITH.findall(self.path.read_text())
        return str(line)


RECIPES = (
    Recipe("plain_loop", "httpx", model=models.remembering),
    Recipe("openai_client", "openai", model=models.seating),
    Recipe("anthropic_client", "anthropic", model=models.seating),
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
    Recipe("llamaindex_memory", "llama-index-core", is_apart=True, model=models.reminded),
    Recipe("crewai_memory", "crewai", is_apart=True, model=models.reminded),
    Recipe(
        "page_off_prompt",
        "httpx",
        model=models.saving,
        check=models.check_unseen,
        is_story=True,
        saves={"door.txt": "7419"},
    ),
    Recipe("summarising_conversation", "httpx", model=models.advising, is_story=True),
    Recipe("memory_over_sessions", "httpx", model=models.recalling, is_story=True),
    Recipe("cost_tables", "httpx", is_story=True),
    Recipe("vertex_revisions", "google-cloud-aiplatform", is_story=True),
)


@dataclass(frozen=True)
class Kitchen:
    """A running service, its models, and the folder of its exports."""

    service: LiveServer
    model: ModelServer
    sink: Path


@contextmanager
def kitchen(model: ModelServer) -> Iterator[Kitchen]:
    """Serve beside the block, with a reader and a summariser at the model's server."""
    house = {"model": "openai:house", "locality": "local", "base_url": model.url}
    with scratch_folder() as folder:
        sink = folder / "out"
        sink.mkdir()
        settings = {
            "MEMORY_BANK_TASK_EXPORT_SINKS": json.dumps({"out": str(sink)}),
            "MEMORY_BANK_TASK_READERS": json.dumps({"house": house}),
            "MEMORY_BANK_MODEL_ALIASES": json.dumps({"small": "openai:small"}),
            "MEMORY_BANK_MODEL_BASE_URL": model.url,
        }
        (folder / "data").mkdir()
        with live_server(folder / "data", **settings) as service:
            yield Kitchen(service, model, sink)


def run(recipe: Recipe, kitchen: Kitchen) -> str:
    """Run a recipe in an engine of its own; return what it printed, as far as it is promised.

    Raises:
        AssertionError: it failed.
    """
    model = kitchen.model
    model.reset()
    if recipe.model is not None:
        model.always(recipe.model)
    output = printed(recipe, recipe.path, kitchen).rstrip()
    if recipe.check is not None:
        recipe.check(model.seen)
    files = [path for path in kitchen.sink.rglob("*") if path.is_file()]
    assert {path.name: path.read_text() for path in files} == recipe.saves
    for folder in kitchen.sink.iterdir():
        shutil.rmtree(folder)
    return output if recipe.is_story else output.splitlines()[-1]


def printed(recipe: Recipe, program: Path, kitchen: Kitchen) -> str:
    """Run a program in a recipe's environment with a key bound to one user; return its output."""
    service, model = kitchen.service, kitchen.model
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
        "ANTHROPIC_BASE_URL": model.url.removesuffix("/v1"),
        "ANTHROPIC_API_KEY": "none",
        "CREWAI_DISABLE_TELEMETRY": "true",
        "HOME": str(kitchen.sink.parent),  # CrewAI keeps results of tasks there
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

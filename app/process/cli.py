"""The command `memory-bank`."""

import ast
from collections.abc import Mapping, Sequence
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command
from typing_extensions import override

from app.adapters.allocator import collect_seldom
from app.kernel.release import RELEASE
from app.process import commands
from app.process.progress import stoppable

_GROUPS: Mapping[str, Sequence[str]] = {
    "Run": ["serve", "worker", "demo"],
    "Try a model": ["check-model", "check-embedder"],
    "Look up": ["settings", "costs", "openapi"],
    "Keys and agents": ["connect", "mcp", "keys"],
    "Move memories in and out": ["import", "export", "restore"],
    "Back up": ["backup", "backups", "restore-backup", "erasures"],
    "Keep the database": ["check", "migrate", "reembed", "operations", "pg", "distribute"],
}
"""All commands, by purpose. Each is a module of `commands`, whose docstring is its help."""


class _Commands(TyperGroup):
    """The commands. A module is imported once its command is called, since most load slowly."""

    @override
    def invoke(self, ctx: Any) -> Any:
        with stoppable("Stopped."):
            return super().invoke(ctx)

    @override
    def format_help(self, ctx: Any, formatter: Any) -> None:
        for name, command in self.commands.items():
            command.help = _summary(name)
        super().format_help(ctx, formatter)

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name is None or command is None:
            return name, command, rest
        return name, _load(name), rest


def _module(name: str) -> str:
    return name.replace("-", "_") + ("_" if iskeyword(name) else "")


def _load(name: str) -> Any:  # noqa: ANN401 - typer hides its base class of commands
    module = import_module(f"{commands.__name__}.{_module(name)}")
    if hasattr(module, "app"):
        return get_command(module.app)
    loaded = typer.Typer(add_completion=False)
    context = getattr(module, "CONTEXT_SETTINGS", None)
    loaded.command(help=module.__doc__, context_settings=context)(module.run)
    return get_command(loaded)


def _summary(name: str) -> str | None:
    """Return the help of a command without importing its module."""
    path = Path(commands.__path__[0], f"{_module(name)}.py")
    return ast.get_docstring(ast.parse(path.read_bytes()))


app = typer.Typer(
    cls=_Commands,
    help="Open Memory Bank: a self-hosted memory service for AI agents.\n\n"
    "Start it with `serve`: it needs no database, account or model. `demo` shows it at work.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(is_asked: bool) -> None:  # noqa: FBT001 - typer gives the option's value
    if is_asked:
        typer.echo(f"memory-bank {RELEASE}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the release and exit."
        ),
    ] = False,
) -> None:
    """Take the options of the program itself."""
    del version  # its callback has ended the command


def _unloaded() -> None:
    """Stand for a command until its module is imported."""


for _purpose, _names in _GROUPS.items():
    for _name in _names:
        app.command(_name, rich_help_panel=_purpose)(_unloaded)


def main() -> None:
    """Run the command line."""
    # By the collector's defaults, the imports of a command take a fifth longer.
    collect_seldom()
    app()


if __name__ == "__main__":
    main()

"""Restore an engine from an archive; the same command goes on after a break."""

from pathlib import Path
from typing import Annotated

import typer

from app.process import restoring
from app.process.remote_api import KeyFile, Url


def run(
    *,
    file: Annotated[Path, typer.Argument(help="An archive, as `memory-bank export` writes it.")],
    engine: Annotated[
        str, typer.Option(help="Empty engine, by its id; `new` creates one.", show_default=False)
    ],
    extend_recovery: Annotated[
        bool,
        typer.Option(
            "--extend-recovery",
            help="Deleted memories that could be recovered at the export can be for as long as"
            " then.",
        ),
    ] = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Export the engine afterwards, and compare both archives by kind."
        ),
    ] = False,
    url: Url = None,
    key_file: KeyFile = None,
) -> None:
    wanted = restoring.WantedRestore(file, engine, extend_recovery, verify)
    restoring.run(wanted, url, key_file)

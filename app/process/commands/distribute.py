"""Spread an external database over the nodes of a Citus cluster, by engine. Experimental.

Run again, it adds what is new: nodes, or tables of a later release. The service must not run
while tables are distributed.
"""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from app.adapters.db.distribute import (
    AskedDistribution,
    ChecksFailedError,
    Distributed,
    distribute,
)
from app.adapters.db.distribution import Address
from app.adapters.db.migrate import SchemaError
from app.adapters.terminal import FAILED, MISUSED, fail, read_settings
from app.process.progress import stoppable

_REBALANCE = "select citus_rebalance_start('by_shard_count')"


def run(
    *,
    coordinator: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="Address at which workers reach the server of MEMORY_BANK_DATABASE_URL.",
        ),
    ],
    worker: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT", help="A worker; repeatable, later only new workers."),
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(
            help="Parts in which the tables are spread, for good: 1 to 1024.",
            show_default="128, or as many as there are",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, and change nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    url = _url()
    workers = [_address("--worker", each) for each in worker or ()]
    asked = AskedDistribution(
        _address("--coordinator", coordinator), workers, shards, is_dry=dry_run
    )
    done = _done(url, asked, as_json=as_json)
    typer.echo(json.dumps(_document(done, asked), indent=2) if as_json else _text(done, asked))


def _url() -> str:
    settings = read_settings()
    if settings.database_url is None:
        fail(
            "distribute needs MEMORY_BANK_DATABASE_URL; the embedded database cannot be"
            " distributed.",
            MISUSED,
        )
    return settings.database_url.get_secret_value()


def _done(url: str, asked: AskedDistribution, *, as_json: bool) -> Distributed:
    try:
        with stoppable("Stopped: no table was distributed. Nodes that were added stay."):
            return distribute(url, asked)
    except ChecksFailedError as error:
        if as_json:
            typer.echo(json.dumps({"failures": error.failures}, indent=2))
            raise typer.Exit(FAILED) from None
        fail(str(error))
    except SchemaError as error:
        fail(str(error))


def _address(option: str, given: str) -> Address:
    try:
        return Address.parse(given)
    except ValueError:
        fail(f"{option} must be HOST:PORT; got {given}.", MISUSED)


def _text(done: Distributed, asked: AskedDistribution) -> str:
    return "\n".join(_lines(done, asked))


def _lines(done: Distributed, asked: AskedDistribution) -> Iterator[str]:
    if not done.is_changed:
        yield f"already distributed over {_workers(done)}"
        yield from _held(done)
        return
    would = "would be " if asked.is_dry else ""
    width = max((len(placed.table) for placed in done.tables), default=0)
    for address in done.added:
        yield f"{address}  {would}added"
    for placed in done.tables:
        yield (
            f"{placed.table:<{width}}  {would}distributed  {done.shards} shards"
            f"  {placed.rows:,} rows"
        )
    if asked.is_dry:
        yield "Nothing was changed."
        return
    yield f"Distributed over {_workers(done)}."
    yield from _held(done)
    yield from _next(done)


def _held(done: Distributed) -> Iterator[str]:
    width = max((len(str(held.node)) for held in done.held), default=0)
    for held in done.held:
        yield (
            f"{held.node!s:<{width}}  {held.engines:,} engines  {held.memories:,} memories"
            f"  {held.bytes:,} bytes"
        )


def _next(done: Distributed) -> Iterator[str]:
    if done.added and done.was_distributed:
        yield f"Next, move shards to the new workers: {_REBALANCE}"
    if done.late_sessions:
        yield (
            "Processes of the service started while tables moved"
            f" (sessions: {done.late_sessions}); stop them."
        )
    if done.tables:
        yield "Next, start the service again."


def _workers(done: Distributed) -> str:
    return f"{done.workers} worker{'' if done.workers == 1 else 's'}"


def _document(done: Distributed, asked: AskedDistribution) -> dict[str, Any]:
    return {
        "dryRun": asked.is_dry,
        "changed": done.is_changed and not asked.is_dry,
        "workers": done.workers,
        "shards": done.shards,
        "added": [str(address) for address in done.added],
        "tables": [{"table": placed.table, "rows": placed.rows} for placed in done.tables],
        "nodes": [
            {
                "node": str(held.node),
                "engines": held.engines,
                "memories": held.memories,
                "bytes": held.bytes,
            }
            for held in done.held
        ],
        "next": [] if asked.is_dry else list(_next(done)),
    }

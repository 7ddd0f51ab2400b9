"""Write `migrations/schema.json` anew: what the migrations leave in an empty database.

Usage: `python -m scripts.make_schema`.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

import migrations
from app.adapters.db import migrate, schema
from app.adapters.db.engine import open_blocking_engine
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.settings.settings import Settings
from migrations.needed import FILE, Needed

PLACE = Path(migrations.__file__).with_name(FILE)


def document(connection: Connection) -> str:
    """Return the content of the file for a migrated database."""
    found = [Needed._make(row) for row in connection.execute(schema.listing())]
    tables: dict[str, dict[str, list[str]]] = {
        thing.table: {} for thing in found if thing.kind == "table"
    }
    for thing in found:
        if thing.table and thing.kind != "table":
            tables[thing.table].setdefault(thing.kind, []).append(thing.name)
    functions = {thing.name: thing.digest for thing in found if thing.digest}
    whole: dict[str, Any] = {"functions": functions, "tables": tables}
    return json.dumps(whole, indent=1) + "\n"


def main() -> None:
    """Write the file."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with EmbeddedPostgres(Settings(data_dir=Path(folder))) as postgres:
            # By name: the newest revision would be checked against the file, which is behind.
            migrate.upgrade(postgres.url, revision="heads")
            with open_blocking_engine(postgres.url).connect() as connection:
                PLACE.write_text(document(connection), "utf-8")


if __name__ == "__main__":
    main()

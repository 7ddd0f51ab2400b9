"""Write a migration: the difference between the tables and a database with every one so far.

Usage: `python -m scripts.new_migration "add x"`.
"""

import sys
import tempfile
from pathlib import Path

from app.adapters.db import migrate
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.settings.settings import Settings


def main(title: str) -> None:
    """Write the migration into `migrations/versions`."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with EmbeddedPostgres(Settings(data_dir=Path(folder))) as postgres:
            # By name, since the newest revision is checked against the tables, which are ahead.
            migrate.upgrade(postgres.url, revision="heads")
            migrate.make_revision(postgres.url, title)


if __name__ == "__main__":
    main(sys.argv[1])

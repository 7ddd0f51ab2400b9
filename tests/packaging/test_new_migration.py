"""`make migration` writes the difference between the tables and the migrations."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from app.adapters.db import migrate
from app.adapters.db.schema import wanted_revision
from tests.packaging.checkout import ROOT
from tests.schema.conftest import database_beside

_ENGINES = "app/platform/engines/store/tables.py"
_MEMORIES = "app/memory/memories/store/tables.py"
_BYTES = b"select sum(bytes) from engine_totals"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("app", "migrations", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


@pytest.fixture
def url(database_url: str) -> Iterator[str]:
    """A database with a memory, at the newest migration of this checkout."""
    with database_beside(database_url, "before") as url:
        migrate.upgrade(url)
        with psycopg.connect(url) as connection:
            connection.execute(
                b"insert into memories (engine_id, memory_id, version, scope, scope_hash, fact,"
                b" topics, metadata, memory_type, create_time, update_time)"
                b" values (1, 'a', 1, '{}', 'x', 'tea', '[]', '{}', 'm', now(), now())"
            )
        yield url


def _repeat(path: Path, start: str, name: str, other: str) -> None:
    """Repeat each line that starts so, with another name in place of the name."""
    lines = path.read_text().splitlines()
    for place, line in reversed(list(enumerate(lines))):
        if line.startswith(start):
            lines.insert(place + 1, line.replace(name, other))
    path.write_text("\n".join(lines))


def _run(checkout: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, *command], cwd=checkout, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def _write(checkout: Path) -> str:
    """Write the migration; return its text."""
    before = set((checkout / "migrations/versions").glob("*.py"))
    _run(checkout, "-m", "scripts.new_migration", "add a column")
    (written,) = set((checkout / "migrations/versions").glob("*.py")) - before
    return written.read_text()


def test_a_new_column_is_written(checkout: Path) -> None:
    _repeat(checkout / _ENGINES, "    display_name", "display_name", "nickname")
    written = _write(checkout)
    assert 'op.add_column("engines"' in written.replace("'", '"')
    assert "nickname" in written
    assert "count_bytes" not in written


def test_the_triggers_count_a_new_column_of_content(checkout: Path, url: str) -> None:
    _repeat(checkout / _MEMORIES, "    context: Mapped", "context", "probe")
    for path in ("store/columns.py", "schemas/memories.py"):
        _repeat(checkout / "app/memory/memories" / path, "    context: str", "context", "probe")
    written = _write(checkout)
    upgrade, downgrade = written.split("def downgrade")
    for half, first, second in (
        (upgrade, "op.add_column('{0}'", "count_bytes('{0}', "),
        (downgrade, "count_bytes('{0}', ", "op.drop_column('{0}'"),
    ):
        for table in ("memories", "memory_revisions"):
            assert half.index(first.format(table)) < half.index(second.format(table))
            assert half.count(f"count_bytes('{table}', ") == 1

    with psycopg.connect(url, autocommit=True) as connection:
        bytes_before = connection.execute(_BYTES).fetchone()
        _migrate(checkout, f"upgrade({url!r})")
        assert connection.execute(_BYTES).fetchone() == bytes_before
        connection.execute(b"update memories set probe = 'twelve bytes'")
        assert bytes_before is not None
        assert connection.execute(_BYTES).fetchone() == (bytes_before[0] + 12,)
        _migrate(checkout, f"downgrade({url!r}, {wanted_revision()!r})")
        assert connection.execute(_BYTES).fetchone() == bytes_before
        connection.execute(b"delete from memories")
        assert connection.execute(_BYTES).fetchone() == (0,)


def _migrate(checkout: Path, call: str) -> None:
    _run(checkout, "-c", f"from app.adapters.db import migrate; migrate.{call}")

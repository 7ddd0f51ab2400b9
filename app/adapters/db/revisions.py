"""The schema revisions of this release, read from its migrations without running any.

Alembic would import every migration, which costs half a second and ten megabytes. A process that
only compares revisions does not need this.
"""

import functools
import re
import runpy
from pathlib import Path

from sqlalchemy import Connection, text

import migrations

FOLDER = Path(migrations.__file__).parent
"""The folder of the migrations."""
_NAMED = re.compile(
    r'^revision: str = "(?P<own>\w+)"\ndown_revision: str \| None = (?:None|"(?P<former>\w+)")$',
    re.MULTILINE,
)


class RevisionError(RuntimeError):
    """Alembic refuses a run; the message is Alembic's."""


@functools.cache
def _former() -> dict[str, str | None]:
    """Return the previous revision of each revision."""
    scripts = sorted(FOLDER.glob("versions/*.py"))
    named = (_named(script) for script in scripts if script.stem != "__init__")
    return dict(named)


def _named(script: Path) -> tuple[str, str | None]:
    """Return the revision of a migration and its previous revision."""
    if (match := _NAMED.search(script.read_text("utf-8"))) is not None:
        return match["own"], match["former"]
    # In a form other than `make migration` writes.
    values = runpy.run_path(str(script))
    return values["revision"], values["down_revision"]


@functools.cache
def wanted_revision() -> str:
    """Return the schema revision of this release. Reads files."""
    (head,) = known_revisions() - set(_former().values())
    return head


def known_revisions() -> set[str]:
    """Return all schema revisions up to this release's. Reads files."""
    return set(_former())


def revisions_of(connection: Connection) -> set[str]:
    """Return the revisions that a database has: one, or none before its first migration."""
    has_any = connection.execute(text("select to_regclass('alembic_version') is not null"))
    if not has_any.scalar_one():
        return set()
    return set(connection.execute(text("select version_num from alembic_version")).scalars())

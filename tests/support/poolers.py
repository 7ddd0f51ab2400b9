"""PgBouncer in transaction mode before the server of a database, where the machine has it."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from tests.support.live import free_port

PROGRAM = shutil.which("pgbouncer")
_FIRST_WITH_PREPARED = (1, 22)
_START_SECONDS = 20
_END_SECONDS = 30


def keeps_prepared() -> bool:
    """Return True if the machine's pooler can keep prepared statements."""
    assert PROGRAM is not None
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    major, minor = said.stdout.split()[1].split(".")[:2]
    return (int(major), int(minor)) >= _FIRST_WITH_PREPARED


class Pooler:
    """A pooler that may be started again; `url` is its own address of the database."""

    def __init__(self, url: str, folder: Path, *lines: str) -> None:
        assert PROGRAM is not None
        told, self._port = conninfo_to_dict(url), free_port()
        for parent in (folder, *folder.parents[:2]):
            # The user that it runs as has to read its configuration, and to write its log.
            parent.chmod(0o777 if parent == folder else 0o755)
        target = f"host={told['host']} port={told['port']} user={told['user']}"
        configuration = folder / "pgbouncer.ini"
        configuration.write_text(
            "\n".join(
                [
                    "[databases]",
                    f"{told['dbname']} = {target}",
                    "[pgbouncer]",
                    "listen_addr = 127.0.0.1",
                    f"listen_port = {self._port}",
                    "unix_socket_dir =",
                    "auth_type = any",
                    "pool_mode = transaction",
                    f"logfile = {folder / 'pgbouncer.log'}",
                    *lines,
                ]
            )
        )
        as_user = ["-u", "nobody"] if Path.home() == Path("/root") else []
        self._command = [PROGRAM, "-q", *as_user, str(configuration)]
        self.url = f"postgresql://{told['user']}@127.0.0.1:{self._port}/{told['dbname']}"

    def start(self) -> "subprocess.Popen[bytes]":
        """Start a process that nobody waits for yet."""
        return subprocess.Popen(self._command)

    def wait(self) -> None:
        """Wait until it listens."""
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            else:
                return


@contextmanager
def pooler(url: str, folder: Path, *lines: str) -> Iterator[str]:
    """Run a pooler beside the block; give its own address."""
    found = Pooler(url, folder, *lines)
    process = found.start()
    try:
        found.wait()
        yield found.url
    finally:
        process.terminate()
        process.wait(timeout=_END_SECONDS)

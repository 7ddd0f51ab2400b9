"""A restore whose server or command is killed with -9: the same command goes on to the end."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

from tests.packaging.checkout import scratch_folder
from tests.support import live
from tests.support.restores import archive_of, zipped
from tests.support.traffic import open_client

KILLS, NIGHTLY_KILLS = 2, 10
_MEMORIES_PER_KILL = 2_500
"""So many that a restore has rarely ended when the last kill comes."""
_BEGIN_SECONDS, _LONGEST_SECONDS = 0.1, 0.4
_SOON_SECONDS = 300


class _Restoring:
    """The command, run again and again against a server that is started again."""

    def __init__(self, folder: Path, file: Path) -> None:
        self._folder, self._file = folder, file
        self.output = folder / "command"
        self.server = live.start_in_steps(folder, live.free_port(), 100)

    def begin(self) -> "subprocess.Popen[bytes]":
        """Start the command; return it once it sends the archive."""
        arguments = ["restore", str(self._file), "--engine", "new", "--url", self.server.url]
        program = [sys.executable, "-m", "app.process.cli", *arguments]
        variables = {**os.environ, "MEMORY_BANK_CLIENT_KEY": live.KEY}
        self.output.unlink(missing_ok=True)
        with self.output.open("ab") as output:
            running = subprocess.Popen(program, stdout=output, stderr=output, env=variables)
        deadline = time.monotonic() + _SOON_SECONDS
        while running.poll() is None and _BEGUN not in self.output.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return running

    def kill_server(self) -> None:
        self.server.process.kill()
        self.server.process.wait()
        self.server = live.start_in_steps(self._folder, self.server.port, 100)


_LIST = "/v1beta1/projects/-/locations/-/reasoningEngines"
_BEGUN = "Restoring into "
"""The first words of the command, right before it sends the archive."""


def _count(client: httpx.Client, engine: str) -> int:
    count, token = 0, ""
    while True:
        query = {"pageSize": "1000", "pageToken": token}
        page = client.get(f"/v1beta1/{engine}/memories", params=query).json()
        count += len(page.get("memories", []))
        token = page.get("nextPageToken", "")
        if not token:
            return count


def test_a_restore_goes_on_after_each_kill(*, is_nightly: bool) -> None:
    """The killed ones are the server and the command in turn, at random moments."""
    kills = NIGHTLY_KILLS if is_nightly else KILLS
    memories = kills * _MEMORIES_PER_KILL
    hits = 0
    with scratch_folder() as folder:
        file = folder / "bank.omb.gz"
        file.write_bytes(zipped(archive_of(memories)))
        restoring = _Restoring(folder, file)
        try:
            running = restoring.begin()
            for number in range(kills):
                time.sleep(random.uniform(_BEGIN_SECONDS, _LONGEST_SECONDS))
                if running.poll() is None:
                    hits += 1
                    if number % 2:
                        running.send_signal(signal.SIGKILL)
                    else:
                        restoring.kill_server()
                if running.wait() == 0:
                    # It was quicker than the kill; another would be a restore of its own.
                    break
                running = restoring.begin()
            assert running.wait(_SOON_SECONDS) == 0, restoring.output.read_text()
            assert f"memory: {memories:,}\n" in restoring.output.read_text()
            with open_client(restoring.server.url) as client:
                engines = client.get(_LIST).json()["reasoningEngines"]
                counts = sorted(_count(client, engine["name"]) for engine in engines)
            # The first engine of the service, and one new one for all attempts.
            assert counts == [0, memories]
        finally:
            live.stop(restoring.server)
    assert hits >= kills / 2

"""Rows of a file of weights are those that were stored, and are not kept in memory."""

import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from app.adapters.llm.minilm_model import Rows, find_weights


def _resident(path: Path) -> int:
    """Return the kilobytes of a file that are in the memory of this process."""
    of_file, found = False, 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *_, last = line.split()
        if "-" in first:
            of_file = last == str(path)
        elif of_file and first == "Rss:":
            found += int(line.split()[1])
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what is in memory")
def test_rows_are_read_and_let_go(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    stored = np.arange(40_000 * 64, dtype=np.float32).reshape(40_000, 64)
    save_file({"small": np.ones((3, 2), np.float32), "words": stored}, path)
    rows = Rows(path, find_weights(path)["words"])
    positions = np.array([[0, 39_999, 7], [12_345, 0, 20_000]])

    read = rows.at(positions)

    np.testing.assert_array_equal(read, stored[positions])
    assert _resident(path) == 0

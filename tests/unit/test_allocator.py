"""What a process gives back after its start."""

import subprocess
import sys

import pytest

_SCRIPT = """
import numpy as np
from app.adapters.allocator import keep_what_is_there

def code_kilobytes():
    rows = iter(open("/proc/self/smaps"))
    return sum(
        int(next(row for row in rows if row.startswith("Rss:")).split()[1])
        for line in rows if " r-xp " in line and "/" in line
    )

before = code_kilobytes()
keep_what_is_there()
print(before, code_kilobytes(), np.arange(4).sum())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads what the kernel of Linux tells")
def test_code_that_only_the_start_needed_is_let_go_and_comes_back() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True
    )

    before, after, total = map(int, ended.stdout.split())
    assert after < before / 2
    assert total == 6

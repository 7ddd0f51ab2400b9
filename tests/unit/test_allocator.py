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


_FREED = """
from app.adapters.allocator import limit_allocator

def resident_mebibytes():
    return int(open("/proc/self/statm").read().split()[1]) / 256

limit_allocator()
before = resident_mebibytes()
for _ in range(3):
    block = bytearray(b"x") * (7 * 2**20)
    del block
print(resident_mebibytes() - before)
"""
_REUSED = """
import resource
from app.adapters.allocator import limit_allocator

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

limit_allocator()
before = faults()
for _ in range(50):
    block = bytearray(b"x") * (3 * 2**20)
    del block
print(faults() - before)
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads what the kernel of Linux tells")


@linux
def test_code_that_only_the_start_needed_is_let_go_and_comes_back() -> None:
    before, after, total = map(int, _printed(_SCRIPT).split())

    assert after < before / 2
    assert total == 6


@linux
def test_a_large_block_goes_back_to_the_system_once_it_is_freed() -> None:
    assert float(_printed(_FREED)) < 3


@linux
def test_the_memory_of_a_smaller_block_is_reused() -> None:
    pages_of_block = 3 * 2**20 // 4096
    assert int(_printed(_REUSED)) < 5 * pages_of_block


def _printed(script: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout

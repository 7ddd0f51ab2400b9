"""File systems of their own, for disks that have no room."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MOUNT = shutil.which("mount")


@contextmanager
def own_disk(folder: Path, size: str) -> Iterator[bool]:
    """Mount an empty file system over a folder; give False where the machine does not let it."""
    is_mounted = _mount(folder, f"size={size}")
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Leave no room on a file system during the block: its size becomes what is used of it."""
    total = shutil.disk_usage(folder).total
    # Refused if something was written in between.
    while not _mount(folder, f"remount,size={shutil.disk_usage(folder).used}"):
        continue
    try:
        yield
    finally:
        assert _mount(folder, f"remount,size={total}")


def _mount(folder: Path, options: str) -> bool:
    if _MOUNT is None:
        return False
    command = [_MOUNT, "-t", "tmpfs", "-o", options, "none", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0

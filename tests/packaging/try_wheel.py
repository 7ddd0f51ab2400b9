"""Install a wheel by plain pip, with the newest packages that it takes, and serve from it.

Usage: `make test-wheel`, or `python -m tests.packaging.try_wheel WHEEL`. Downloads about 130 MB.
"""

import json
import sys
import time
from pathlib import Path

from tests.packaging.checkout import ROOT, scratch_folder
from tests.packaging.installed import (
    MOST_TRIMMED,
    UNWANTED,
    first_memory,
    new_environment,
    run,
    used_bytes,
)


def main(wheel: Path) -> None:
    """Print a row for each step; stop at the first that fails."""
    with scratch_folder() as folder:
        begin = time.monotonic()
        environment = folder / "environment"
        programs = new_environment(environment)
        run(programs / "pip", "install", "--quiet", wheel)
        print(f"installed in {time.monotonic() - begin:.0f} s")
        run(programs / "pip", "check")
        listed = json.loads(run(programs / "pip", "list", "--format", "json"))
        assert not UNWANTED & {package["name"] for package in listed}
        print(f"{len(listed)} packages, {used_bytes(environment) / 1e6:.0f} MB")
        (data := folder / "bank").mkdir(mode=0o755)
        assert first_memory(programs / "memory-bank", data) == ["I prefer a window seat."]
        run("find", environment, "-name", "__pycache__", "-prune", "-exec", "rm", "-r", "{}", "+")
        run(programs / "python", "-B", ROOT / "scripts/trim.py")
        trimmed = used_bytes(environment)
        print(f"without byte code and trimmed: {trimmed / 1e6:.0f} MB")
        assert trimmed < MOST_TRIMMED
        (data := folder / "trimmed").mkdir(mode=0o755)
        assert first_memory(programs / "open-memory-bank", data) == ["I prefer a window seat."]
        print(f"serves, also trimmed: {time.monotonic() - begin:.0f} s in all")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

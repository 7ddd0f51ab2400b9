"""Finds a browser: `python chromium.py` prints its path, or says what is missing and fails."""

import os
import shutil
import sys

MISSING = "no chromium: apt install chromium, or set MEMORY_BANK_TEST_CHROMIUM"
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def find() -> str | None:
    """Return the path of the browser that tests use; None: there is none."""
    chosen = os.environ.get("MEMORY_BANK_TEST_CHROMIUM")
    names = (chosen,) if chosen else _NAMES
    return next(filter(None, map(shutil.which, names)), None)


if __name__ == "__main__":
    found = find()
    print(found or MISSING)
    sys.exit(found is None)

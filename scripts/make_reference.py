"""Write the pages of docs/reference.

Usage: `python -m scripts.make_reference [FOLDER]`.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from scripts.reference.api_page import api_page, types_page
from scripts.reference.errors_page import errors_page
from scripts.reference.limits_page import limits_page
from scripts.reference.metrics_page import metrics_page
from scripts.reference.permissions_page import permissions_page
from scripts.reference.settings_page import settings_page

FOLDER = Path(__file__).parents[1] / "docs" / "reference"

PAGES: Mapping[str, Callable[[], str]] = {
    "settings": settings_page,
    "api": api_page,
    "types": types_page,
    "errors": errors_page,
    "permissions": permissions_page,
    "limits": limits_page,
    "metrics": metrics_page,
}
"""What writes each page, by the name of its file."""


def write(folder: Path) -> None:
    """Write every page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (folder / f"{name}.md").write_text(make(), encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Write the pages into the folder that is named, or into docs/reference."""
    write(Path(arguments[0]) if arguments else FOLDER)


if __name__ == "__main__":
    main(sys.argv[1:])

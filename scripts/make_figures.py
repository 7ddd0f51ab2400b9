"""Write the tables of benchmarks/figures.toml into the pages that show them.

Usage: `python -m scripts.make_figures`.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "benchmarks/figures.toml"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
_PLACE = re.compile(
    r"(?P<begin><!-- figures: (?P<name>\w+) -->\n).*?(?P<end><!-- end of figures -->)", re.DOTALL
)


def with_figures(text: str, tables: Mapping[str, Any]) -> str:
    """Return a page with the present tables in place of those that it shows.

    Raises:
        KeyError: the page names an unknown table.
    """
    return _PLACE.sub(
        lambda found: f"{found['begin']}\n{_table(tables[found['name']])}\n{found['end']}", text
    )


def _table(given: Mapping[str, Any]) -> str:
    columns: Sequence[str] = given["columns"]
    lines = [columns, ["---"] * len(columns), *given["rows"]]
    table = "".join(
        "|" + "".join(f" {cell} |" if cell else " |" for cell in one) + "\n" for one in lines
    )
    ways = f"Embedder: {given['embedder']}; key: {given['key']}; request id: {given['request id']}"
    return f"{table}\n`{given['command']}`, {given['taken']}. {ways}.\n"


def main() -> None:
    """Rewrite the pages."""
    tables = tomllib.loads(FIGURES.read_text())
    for page in PAGES:
        text = page.read_text()
        if (new := with_figures(text, tables)) != text:
            page.write_text(new)


if __name__ == "__main__":
    main()

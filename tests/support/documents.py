"""The documents for people: their texts, and the samples in them."""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"


def samples(path: Path, language: str) -> list[str]:
    """Return the fenced blocks of one language, in order."""
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def copy_site(target: Path) -> None:
    """Copy what the site is built from."""
    for folder in ("docs", "clients/recipes"):
        shutil.copytree(ROOT / folder, target / folder)
    for name in ("mkdocs.yml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, target)
    (target / "benchmarks").mkdir()
    shutil.copy(ROOT / "benchmarks" / "README.md", target / "benchmarks")

"""The guide of imports: a short program for each product, and every option."""

import ast
import re

from app.process.commands.import_ import run as import_memories
from app.process.imports.products import SOURCES
from tests.support.documents import DOCS, samples

_GUIDE = DOCS / "guides" / "import.md"
_MOST_LINES = 10


def test_programs_are_short_and_can_be_read() -> None:
    programs = samples(_GUIDE, "python")
    assert len(programs) >= 7
    for program in programs:
        # One is the continuation of another.
        ast.parse(program if not program.startswith(" ") else f"if True:\n{program}")
        assert len([line for line in program.splitlines() if line.strip()]) <= _MOST_LINES


def test_every_source_and_option_is_described() -> None:
    text = _GUIDE.read_text(encoding="utf-8")
    told = {name for name in SOURCES if re.search(rf"`--from {name}`|`{name}`|{name}\.", text)}
    sections = {
        "openmemory": "OpenMemory",
        "hindsight": "Hindsight",
        "zep": "Zep",
        "mcp-memory": "The reference memory server of MCP",
    }
    for name in SOURCES.keys() - told:
        assert f"### {sections[name]}\n" in text
    own = {"file", "source", "engine", "key_file"}
    for option in import_memories.__annotations__.keys() - own - {"return"}:
        assert f"--{option.replace('_', '-')}" in text

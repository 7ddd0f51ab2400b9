"""`memory-bank import`: what it refuses before it calls anybody, and its preview."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.process.cli import app

_DATA = Path(__file__).parents[2] / "data/importers"
_MEM0 = str(_DATA / "mem0.json")


def _import(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["import", *arguments], env={"MEMORY_BANK_CLIENT_KEY": ""})


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "Give a FILE"),
        ((_MEM0,), "--from: must name the product"),
        ((_MEM0, "--from", "diary"), "--from: must be one of mem0, openmemory"),
        ((_MEM0, "--from", "mem0"), "--engine: must be the id"),
        ((_MEM0, "--from", "mem0", "--engine", "x"), "--engine: must be the id"),
        ((_MEM0, "--from", "mem0", "--engine", "newest", "--dry-run"), "--engine: must be the id"),
        ((_MEM0, "--from", "mem0", "--engine", "1"), "Set MEMORY_BANK_CLIENT_KEY"),
        ((_MEM0, "--from", "mem0", "--sessions"), "--sessions: must be used with letta or vertex"),
        ((_MEM0, "--from", "mem0", "--scope", "=1"), "--scope: must be KEY=VALUE"),
        ((_MEM0, "--from", "mem0", "--scope", "a,,b"), "--scope: must be KEY=VALUE, or KEY,KEY"),
        ((_MEM0, "--from", "mem0", "--scope", "a=1,b=2"), "a --scope of its own"),
        ((_MEM0, "--from", "mem0", "--label", "a"), "--label: must be KEY=VALUE"),
        ((_MEM0, "--from", "mem0", "--metadata", "a"), "--metadata: must be KEY=VALUE"),
        ((_MEM0, "--from", "langgraph"), "--scope: must name the places of a namespace"),
        ((_MEM0, "--from", "mem0", "--revisions", "x"), "--revisions: must be used with --from"),
        (("-", "--from", "mem0", "--engine", "new"), "new needs a FILE"),
        (("-", "--from", "vertex", "--revisions", "x"), "--revisions: needs a FILE"),
        ((_MEM0, "--from", "vertex", "--revisions", "x"), "--engine: must be the id"),
        *(
            ((_MEM0, "--from", "vertex", "--revisions", "x", option), f"used with {option}")
            for option in ("--undo", "--infer", "--sessions", "--with-ended", "--overwrite")
        ),
        (("--undo", "missing.result"), "missing.result cannot be read"),
        (("--undo", _MEM0), "must be the .result file of an import"),
    ],
)
def test_a_misused_command_says_so(arguments: tuple[str, ...], told: str) -> None:
    ended = _import(*arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert told in ended.stderr


def test_a_preview_counts_and_shows(tmp_path: Path) -> None:
    ended = _import(_MEM0, "--from", "mem0", "--dry-run")
    assert ended.exit_code == 1
    before = ended.stdout.partition("\nBefore: ")[0]
    assert before.splitlines() == [
        "Would import: 3",
        "By the keys of their scopes:",
        "  agent_id, run_id, user_id: 1",
        "  user_id: 2",
        "Would reject:",
        "  FACT_EMPTY: 1",
        "  ITEM_UNKNOWN: 1",
        "  SCOPE_MISSING: 1",
        "Left out:",
        "  expired memories: 1",
        "  field internal_rank: 1",
        "  relations: 1",
        "  updateTime before createTime: 1",
    ]
    assert ended.stdout.count("Before: ") == ended.stdout.count("After: ") == 3
    lines = [{"id": str(number), "memory": "x", "user_id": "42"} for number in range(9)]
    file = tmp_path / "nine.json"
    file.write_text(json.dumps(lines))
    nine = _import(str(file), "--from", "mem0", "--dry-run", "--limit", "8")
    assert (nine.exit_code, nine.stdout.splitlines()[0]) == (0, "Would import: 8")
    assert nine.stdout.count("Before: ") == 5
    assert list(tmp_path.iterdir()) == [file]


def test_a_preview_counts_revisions() -> None:
    revisions = str(_DATA / "vertex-revisions.json")
    told = (str(_DATA / "vertex.json"), "--from", "vertex", "--revisions", revisions)
    ended = _import(*told, "--dry-run")
    assert (ended.exit_code, ended.stdout.splitlines()) == (
        1,
        [
            "Would import: 3",
            "Revisions: 6",
            "Of these, made of memories that differ: 2",
            "Left out:",
            "  field disableMemoryRevisions: 1",
            "  revisions of memories that are not in the file: 1",
            "  sessions, without --sessions: 1",
            "Would reject:",
            "  ITEM_UNKNOWN: 2",
        ],
    )
    missing = _import(*told[:-1], "missing.json", "--dry-run")
    assert (missing.exit_code, missing.stderr.splitlines()) == (
        1,
        ["missing.json cannot be read: No such file or directory."],
    )


def test_a_preview_of_a_broken_file_says_where() -> None:
    ended = _import(str(Path(__file__)), "--from", "mem0", "--dry-run")
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr == "The file is not JSON after item 0.\n"

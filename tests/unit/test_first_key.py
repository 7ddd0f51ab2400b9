"""The first API key is printed on a terminal, and left in a file otherwise."""

import io
import sys
from pathlib import Path

import pytest
import structlog
from typing_extensions import override

from app.process.serving import FILE, handed_over


class _Terminal(io.StringIO):
    @override
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_told_the_key_and_no_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", _Terminal())
    assert handed_over("omb_1", tmp_path)[0] == "API key, shown only this once: omb_1"
    assert list(tmp_path.iterdir()) == []


def test_no_new_key_is_no_line_and_no_file(tmp_path: Path) -> None:
    assert handed_over(None, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_former_key_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    for key in ("omb_1", "omb_2"):
        assert str(folder / FILE) in handed_over(key, folder)[0]
    assert (folder / FILE).read_text() == "omb_2\n"


def test_a_key_that_cannot_be_written_is_an_error_in_the_log(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with structlog.testing.capture_logs() as logged:
        assert handed_over("omb_1", tmp_path) == []
    assert [(entry["event"], entry["path"]) for entry in logged] == [
        ("admin_key.not_written", str(tmp_path / FILE))
    ]
    assert "omb_1" not in str(logged)

"""What `connect` refuses before it asks a service, and where the files of programs are."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from app.process.cli import app
from app.process.connecting.config_file import ConfigFile
from app.process.connecting.programs import PROGRAMS


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("app.adapters.terminal.configure_logs", lambda _: None)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "APPDATA"):
        monkeypatch.delenv(name, raising=False)


def _refused(*arguments: str, code: int) -> str:
    ended = CliRunner().invoke(app, ["connect", *arguments])
    assert ended.exit_code == code, ended.output
    return ended.stderr


@pytest.mark.parametrize(
    ("program", "text", "reason"),
    [
        ("cursor", '{"mcpServers": {', "line 1 column 17"),
        ("cursor", "[]", "mcpServers must be an object"),
        ("cursor", '{"mcpServers": []}', "mcpServers must be an object"),
        ("cursor", '{"mcpServers": {"memory": {"command": "npx"}}}', "another --name"),
        ("codex", 'model = "x\n', "line 1"),
        ("codex", '[mcp_servers.memory]\ncommand = "npx"\n', "another --name"),
        ("codex", b"\xff", "can't decode"),
    ],
)
@pytest.mark.parametrize("option", ["--yes", "--remove", "--dry-run"])
def test_a_file_that_cannot_be_edited_is_left_alone(
    program: str, text: str | bytes, reason: str, option: str
) -> None:
    path = PROGRAMS[program].file()
    path.parent.mkdir()
    content = text.encode() if isinstance(text, str) else text
    path.write_bytes(content)
    told = _refused(program, option, code=1)
    assert reason in told
    assert str(path) in told
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["emacs"], "PROGRAM: must be one of claude-code, cursor"),
        (["cursor", "--name", "a b"], "--name: must be"),
        (["cursor", "--user", "a", "--key-file", "b"], "--user or --key-file"),
        (["claude-desktop", "--project"], "has no file for a project"),
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str], reason: str) -> None:
    assert reason in _refused(*arguments, code=2)


@pytest.mark.parametrize(
    ("platform", "variables", "files"),
    [
        (
            "linux",
            {},
            [
                ".claude.json",
                ".cursor/mcp.json",
                ".config/Code/User/mcp.json",
                ".config/Claude/claude_desktop_config.json",
                ".codex/config.toml",
            ],
        ),
        (
            "darwin",
            {"CODEX_HOME": "codex", "CLAUDE_CONFIG_DIR": "claude"},
            [
                "claude/.claude.json",
                ".cursor/mcp.json",
                "Library/Application Support/Code/User/mcp.json",
                "Library/Application Support/Claude/claude_desktop_config.json",
                "codex/config.toml",
            ],
        ),
        (
            "win32",
            {"APPDATA": "data"},
            [
                ".claude.json",
                ".cursor/mcp.json",
                "data/Code/User/mcp.json",
                "data/Claude/claude_desktop_config.json",
                ".codex/config.toml",
            ],
        ),
    ],
)
def test_files_are_where_the_programs_look(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    platform: str,
    variables: dict[str, str],
    files: list[str],
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    found = [program.file() for program in PROGRAMS.values()]
    assert found == [tmp_path / file for file in files]


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { b = { command = "b" } }\n',
        '[mcp_servers]\nb.command = "b"\nmemory.url = "c"\n',
    ],
)
def test_a_form_that_no_edit_fits_is_left_alone(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = PROGRAMS["codex"]
    program.file().parent.mkdir()
    program.file().write_text(text)
    file = ConfigFile.of(program, program.file(), "memory")
    with pytest.raises(typer.Exit):
        file.with_entry(program.entry("http://127.0.0.1:8000/mcp", "KEY"))
    assert "edit it by hand" in capsys.readouterr().err
    assert program.file().read_text() == text


def test_a_file_that_changed_meanwhile_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    program = PROGRAMS["claude-code"]
    file = ConfigFile.of(program, program.file(), "memory")
    program.file().write_text("{}")
    with pytest.raises(typer.Exit):
        file.write(file.with_entry(program.entry("http://127.0.0.1:8000/mcp", "KEY")))
    assert "has changed meanwhile" in capsys.readouterr().err
    assert program.file().read_text() == "{}"

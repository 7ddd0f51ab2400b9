"""A configuration file of another program: read, edited at one place, and written with a backup."""

import difflib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from app.adapters.terminal import fail
from app.kernel.clock import SystemClock
from app.platform.access.logic import has_shape
from app.process.connecting.programs import Entry, Program
from app.process.private_file import written

_BEARER = "Bearer "


@dataclass(frozen=True)
class ConfigFile:
    """A file of a program as it was read, and the name of this service's entry in it."""

    program: Program
    path: Path
    name: str
    text: str
    content: dict[str, Any]

    @classmethod
    def of(cls, program: Program, path: Path, name: str) -> Self:
        """Read a file, which may be absent; end the command if it cannot be understood."""
        text = _read(path)
        try:
            content = program.form.read(text)
        except (ValueError, RecursionError) as error:
            fail(f"{path} cannot be read, and is left as it is: {error}.")
        if not isinstance(content, dict) or not isinstance(content.get(program.section, {}), dict):
            fail(f"{path} is left as it is: {program.section} must be an object of servers.")
        return cls(program, path, name, text, content)

    @property
    def entry(self) -> Any:  # noqa: ANN401 - anything that the file has there
        """The entry of the name; None: there is none."""
        return self.content.get(self.program.section, {}).get(self.name)

    @property
    def key(self) -> str | None:
        """The key in the entry; None: it has none of this service, so the entry is another's."""
        texts = (text.removeprefix(_BEARER) for text in _texts(self.entry))
        return next((text for text in texts if has_shape(text)), None)

    def with_entry(self, entry: Entry) -> str:
        """Return the text with an entry in place of the former one."""
        wanted = deepcopy(self.content)
        wanted.setdefault(self.program.section, {})[self.name] = entry
        return self._checked(wanted, self.program.form.put, entry)

    def without_entry(self) -> str:
        """Return the text without the entry."""
        wanted = deepcopy(self.content)
        del wanted[self.program.section][self.name]
        return self._checked(wanted, self.program.form.take)

    def _checked(self, wanted: dict[str, Any], edit: Any, *given: Entry) -> str:  # noqa: ANN401
        """Return an edited text, if it means what was wanted and nothing else has changed."""
        section = self.program.section
        edited: str = edit(self.text, section, self.name, *given)
        try:
            # An edit may leave an empty section.
            is_right = {section: {}, **self.program.form.read(edited)} == {section: {}, **wanted}
        except ValueError:
            is_right = False
        if not is_right:
            fail(
                f"{self.path} is left as it is: its form of {section}.{self.name} cannot be edited"
                " here; edit it by hand."
            )
        return edited

    def changes(self, edited: str) -> str:
        """Return the lines that differ, and no others, which may hold the keys of others."""
        before, after = self.text.splitlines(), edited.splitlines()
        lines = difflib.unified_diff(before, after, str(self.path), str(self.path), "", "", 0, "")
        return "\n".join(lines)

    def write(self, edited: str) -> Path | None:
        """Write the file for its owner alone; return its backup, unless there was no file."""
        # A link, as people keep them for files under version control, stays a link.
        path = self.path.resolve()
        if _read(path) != self.text:
            fail(f"{path} has changed meanwhile, and is left as it is; try again.")
        path.parent.mkdir(parents=True, exist_ok=True)
        backup = None
        if path.exists():
            backup = path.with_name(f"{path.name}.{SystemClock().now():%Y%m%dT%H%M%S.%f}.bak")
            _write(backup, self.text)
        _write(path, edited)
        return backup


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{path} cannot be read: {error}.")


def _write(path: Path, text: str) -> None:
    with written(path) as file:
        file.write(text.encode())


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for held in value.values() if isinstance(value, dict) else value:
            yield from _texts(held)

"""Reads the Dockerfile, and runs the steps of a stage as plain commands in a folder."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.packaging.checkout import ROOT, UNSET

_ABSOLUTE = re.compile(r"(?<![\w.])/(opt|src|data)\b")


@dataclass(frozen=True)
class Instruction:
    keyword: str
    text: str

    @property
    def words(self) -> list[str]:
        """The words of the exec form (JSON), or those between spaces."""
        if self.text.startswith("["):
            return [str(word) for word in json.loads(self.text)]
        return self.text.split()


@dataclass
class Stage:
    name: str
    base: str
    instructions: list[Instruction] = field(default_factory=list)

    def all(self, keyword: str) -> list[Instruction]:
        """Return the instructions of one kind."""
        return [found for found in self.instructions if found.keyword == keyword]

    def only(self, keyword: str) -> Instruction:
        """Return the one instruction of its kind."""
        (found,) = self.all(keyword)
        return found

    @property
    def environment(self) -> dict[str, str]:
        """What its ENV instructions set."""
        pairs = (word.partition("=") for item in self.all("ENV") for word in item.words)
        return {name: value for name, _, value in pairs}


def read_stages() -> list[Stage]:
    """Read the stages, in order; ARG before the first one is filled in."""
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for instruction in _instructions((ROOT / "Dockerfile").read_text()):
        if instruction.keyword == "ARG" and not stages:
            name, _, default = instruction.text.partition("=")
            arguments[name] = default
        elif instruction.keyword == "FROM":
            base, _, name = instruction.text.partition(" AS ")
            base = re.sub(r"\$\{(\w+)\}", lambda found: arguments[found[1]], base)
            stages.append(Stage(name, base))
        else:
            stages[-1].instructions.append(instruction)
    return stages


def _instructions(text: str) -> list[Instruction]:
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = "\n".join(lines).replace("\\\n", " ")
    split = (line.split(maxsplit=1) for line in joined.splitlines() if line.strip())
    return [Instruction(keyword, rest.strip()) for keyword, rest in split]


class Machine:
    """A folder that stands for the root of a container's file system."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folder = root
        self._programs = root / "programs"
        self._programs.mkdir()
        python = self._programs / "python"
        python.write_text(f'#!/bin/sh\nexec "{Path(sys.executable).resolve()}" "$@"\n')
        python.chmod(0o755)

    def here(self, text: str) -> str:
        """Return the text with the container's paths moved into the folder."""
        return _ABSOLUTE.sub(lambda found: f"{self.root}/{found[1]}", text)

    def command(self, words: list[str], environment: dict[str, str]) -> list[str]:
        """Return the command line that runs the words with a container's environment."""
        path = f"{self._programs}:/usr/bin:/bin"
        values = {"PATH": path} | {
            name: self.here(value).replace("$PATH", path) for name, value in environment.items()
        }
        return ["env", *UNSET, *(f"{name}={value}" for name, value in values.items()), *words]

    def build(self, stage: Stage) -> None:
        """Run the stage's steps in order."""
        for instruction in stage.instructions:
            match instruction.keyword:
                case "WORKDIR":
                    self._folder = Path(self.here(instruction.text))
                    self._folder.mkdir(parents=True, exist_ok=True)
                case "COPY":
                    self._copy(instruction.words)
                case "RUN":
                    script = ["sh", "-euc", self.here(instruction.text)]
                    subprocess.run(self.command(script, {}), cwd=self._folder, check=True)
                case other:
                    raise NotImplementedError(other)

    def _copy(self, words: list[str]) -> None:
        *sources, target = words
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(
                    ROOT / source,
                    self._folder / target,
                    ignore=shutil.ignore_patterns("__pycache__"),
                )
            else:
                shutil.copy(ROOT / source, self._folder / target)

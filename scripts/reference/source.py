"""Facts that only the source text of the service tells."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

_APP = Path(__file__).parents[2] / "app"
_HEADING = re.compile(r" {4}# (\S.*)")


def member_docstrings(owner: type) -> dict[str, str]:
    """Return the text below each member of an enum, or field of a dataclass, by its name."""
    return {
        target.id: following.value.value
        for statement, following in pairwise(_class_body(owner))
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in (
            statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        )
        if isinstance(target, ast.Name)
        and isinstance(following, ast.Expr)
        and isinstance(following.value, ast.Constant)
        and isinstance(following.value.value, str)
    }


def field_headings(owner: type) -> dict[str, str]:
    """Return the comment that heads the block of each field of a class, where there is one."""
    lines = inspect.getsource(owner).splitlines()
    headings = {}
    heading = ""
    previous = ""
    for line in lines:
        if (found := _HEADING.fullmatch(line)) and not previous.strip():
            heading = found[1]
        elif field := re.match(r" {4}(\w+): ", line):
            headings[field[1]] = heading
        previous = line
    return {name: heading for name, heading in headings.items() if heading}


def _class_body(owner: type) -> list[ast.stmt]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    definition = tree.body[0]
    if not isinstance(definition, ast.ClassDef):
        raise TypeError(f"{owner} must be a class.")
    return definition.body


@dataclass(frozen=True)
class Construction:
    """A call that makes an object of a class, or that hands its arguments to one as its base."""

    owner: str
    call: ast.Call
    numbers: Mapping[str, int]
    """Constants of the module."""

    def attributes_of(self, name: str) -> set[str]:
        """Return the attributes of an object that the arguments name."""
        arguments = (*self.call.args, *(keyword.value for keyword in self.call.keywords))
        return {
            node.attr
            for argument in arguments
            for node in ast.walk(argument)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == name
        }

    def number(self, argument: str) -> int | None:
        """Return the number that is given for a named argument, if it can be told."""
        for keyword in self.call.keywords:
            match keyword.value if keyword.arg == argument else None:
                case ast.Constant(value=int(number)):
                    return number
                case ast.Name(id=name):
                    return self.numbers.get(name)
                case _:
                    continue
        return None


@cache
def constructions() -> tuple[Construction, ...]:
    """Return every call in the source of the service whose callee has a name."""
    return tuple(
        construction
        for path in sorted(_APP.rglob("*.py"))
        for construction in _constructions(ast.parse(path.read_text(encoding="utf-8")))
    )


def _constructions(tree: ast.Module) -> Iterator[Construction]:
    numbers = {
        statement.targets[0].id: statement.value.value
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, int)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                for call in ast.walk(node):
                    if isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__":
                        yield Construction(_last_name(base), call, numbers)
        elif isinstance(node, ast.Call):
            yield Construction(_last_name(node.func), node, numbers)


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""

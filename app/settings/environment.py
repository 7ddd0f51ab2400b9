"""Environment variables with this service's prefix: misspelt ones, and secrets from files.

The variable `X_FILE` names a file with the value of `X`.
"""

import os
import re
import stat
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, get_args

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from pydantic_settings import PydanticBaseSettingsSource
from typing_extensions import override

from app.settings.providers import PROVIDERS
from app.settings.setting_types import (
    UnsendableKeyError,
    cleaned_address,
    cleaned_key,
    is_of_a_link,
)

PREFIX = "MEMORY_BANK_"
_MOST_EDITS = 2
_OF_OTHERS = re.compile(
    r"(?:TEST|CLIENT)_.*|PUBLISH|(?:.*_)?SERVICE_HOST|(?:.*_)?SERVICE_PORT(?:_.*)?|(?:.*_)?PORT_.*"
)
"""Names that tests, clients, compose and container platforms use."""
SUFFIX = "_FILE"
PROVIDER_KEYS = [name for provider in PROVIDERS.values() for name in provider.key_variables]
"""Variables that the client libraries of model providers read."""
_MAX_BYTES = 64 * 1024
_OTHERS_MAY_READ = stat.S_IRGRP | stat.S_IROTH


def environment() -> MutableMapping[str, str]:
    """Return the environment variables of this process."""
    return os.environ


def misspelt(variables: Mapping[str, str], settings: Iterable[str]) -> dict[str, str]:
    """Map each misspelt name to the nearest setting, which is at most two edits away.

    `settings` are names of fields and of files with secrets.
    """
    names = [name.upper() for name in settings]
    nearest_settings = {}
    for given in unknown(variables, names):
        distance, nearest = min((_edits(given.removeprefix(PREFIX), name), name) for name in names)
        if distance <= _MOST_EDITS:
            nearest_settings[given] = PREFIX + nearest
    return nearest_settings


def unknown(variables: Mapping[str, str], settings: Iterable[str]) -> list[str]:
    """Return the names of unknown variables, in capitals; the case of names is ignored."""
    known = {name.upper() for name in settings}
    return sorted(
        name.upper()
        for name, value in variables.items()
        if (given := name.upper()).startswith(PREFIX)
        and (own := given.removeprefix(PREFIX)) not in known
        and not _OF_OTHERS.fullmatch(own)
        and not is_of_a_link(value)
    )


def _edits(name: str, other: str) -> int:
    # The optimal string alignment distance: insert, delete, replace, swap neighbours.
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, sign in enumerate(name, start=1):
        before, last, row = row, before, [at]
        for place, wanted in enumerate(other, start=1):
            cost = min(row[-1] + 1, before[place] + 1, before[place - 1] + (sign != wanted))
            is_swapped = (
                at > 1 and place > 1 and sign == other[place - 2] and name[at - 2] == wanted
            )
            row.append(min(cost, last[place - 2] + 1) if is_swapped else cost)
    return row[-1]


class SecretError(Exception):
    """A secret is invalid. The message names the variable but never the content."""


class SecretFiles(PydanticBaseSettingsSource):
    """The settings source for secrets."""

    @override
    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        variable = PREFIX + field_name.upper()
        return _read(environment(), variable), field_name, False

    @override
    def __call__(self) -> dict[str, Any]:
        fields = self.settings_cls.model_fields
        values = {
            name: self.get_field_value(fields[name], name)[0] for name in secret_names(fields)
        }
        return {name: value for name, value in values.items() if value is not None}


def secret_names(fields: Mapping[str, FieldInfo]) -> list[str]:
    """Return the names of the settings that are secrets."""
    return [name for name, field in fields.items() if _is_secret(field.annotation)]


def take_provider_keys(variables: MutableMapping[str, str]) -> None:
    """Set the keys of model providers that are in files, and clean all of them.

    Raises:
        SecretError: a file cannot be used, a variable and its file are both set, or a key cannot
            be sent.
    """
    for name in PROVIDER_KEYS:
        try:
            held = cleaned_key(_read({**variables, name: ""}, name) or "")
            given = cleaned_key(variables.get(name, ""))
        except UnsendableKeyError as error:
            raise SecretError(f"{name} {error}") from None
        # An earlier command in the same process may have set the variable to the same value.
        if held and given not in {"", held}:
            raise _both(name)
        if name in variables or held:
            variables[name] = held or given


def clean_provider_addresses(
    variables: MutableMapping[str, str], providers: Collection[str]
) -> None:
    """Clean the addresses of these providers; the others are for other programs.

    Raises:
        SecretError: an address is none, or has a query that its provider does not take.
    """
    for provider in [PROVIDERS[name] for name in PROVIDERS if name in providers]:
        name = provider.address_variable
        if not variables.get(name, "").strip():
            variables.pop(name, None)
            continue
        try:
            variables[name] = address = cleaned_address(variables[name])
        except PydanticCustomError as error:
            raise SecretError(f"{name} {error}.") from None
        if "?" in address and not provider.takes_query:
            raise SecretError(f"{name} must be an address without a query.")


def exposed(variables: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Return the variables whose files are readable by the group or by all users."""
    given = _in_capitals(variables)
    files = {name: path for name in names if (path := given.get(name + SUFFIX))}
    return [
        name + SUFFIX
        for name, path in files.items()
        if Path(path).stat().st_mode & _OTHERS_MAY_READ
    ]


def _is_secret(annotation: Any) -> bool:  # noqa: ANN401 - an annotation may be anything
    return annotation is SecretStr or any(map(_is_secret, get_args(annotation)))


def _in_capitals(variables: Mapping[str, str]) -> dict[str, str]:
    # The case of names is ignored.
    return {name.upper(): value for name, value in variables.items()}


def _read(variables: Mapping[str, str], name: str) -> str | None:
    """Return the content of a variable's file; None if the variable names no file."""
    given = _in_capitals(variables)
    # An empty value counts as absent, because Docker Compose passes variables without a value.
    if not (path := given.get(name + SUFFIX)):
        return None
    if given.get(name):
        raise _both(name)
    return _content(name + SUFFIX, Path(path))


def _both(name: str) -> SecretError:
    return SecretError(f"{name} and {name}{SUFFIX} are both set: set only one of them.")


def _content(variable: str, path: Path) -> str:
    try:
        # Excludes pipes: opening a pipe without a writer would block for ever.
        if not path.is_file():
            raise SecretError(f"{variable} must name a file that exists; got {path}.")
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        value = content.decode()
    except OSError as error:
        reason = error.strerror
        raise SecretError(f"{variable}: {path} cannot be read: {reason}.") from None
    except UnicodeDecodeError:
        raise SecretError(f"{variable}: {path} must be text in UTF-8.") from None
    if len(content) > _MAX_BYTES:
        raise SecretError(f"{variable}: {path} must have at most {_MAX_BYTES} bytes.")
    if not (value := value.removesuffix("\n").removesuffix("\r")):
        raise SecretError(f"{variable}: {path} must hold a value; it is empty.")
    return value

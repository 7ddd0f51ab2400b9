"""Connect a program on this machine: write its MCP entry, with a key for one person.

PROGRAM is claude-code, cursor, vscode, claude-desktop or codex. The command shows the change of the
program's configuration file, asks, keeps a backup beside the file, and changes this entry alone. If
the entry has a valid key of the same person, it keeps that key; otherwise it creates one, and
revokes the former one that it had created.
"""

import getpass
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from app.adapters.api_client import ApiClient, RemoteError, status_of_mcp
from app.adapters.terminal import FAILED, MISUSED, fail, read_settings
from app.platform.access.schemas import ApiKey, CreateKeyRequest
from app.process.commands.keys import managed
from app.process.commands.mcp import (
    MCP_PATH,
    SERVER_NAME,
    STAND_IN,
    address_of,
    service_address,
)
from app.process.connecting.config_file import ConfigFile
from app.process.connecting.programs import PROGRAMS, Program
from app.process.remote_api import described, read_key
from app.settings.settings import Settings

_NO_KEY = 401
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_USER = "user_id"
Caller = Mapping[str, Any]
"""The answer of `getSelf`."""


def run(  # noqa: PLR0913 - one parameter for each option: typer reads them
    program: Annotated[str, typer.Argument(metavar="PROGRAM", help="The program.")],
    *,
    user: Annotated[
        str | None,
        typer.Option(help="The person, as user_id of memories; absent: the name of the login."),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="The service's address; absent: as `keys create` finds it.")
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(help="File with a person's key, where the database is on another machine."),
    ] = None,
    project: Annotated[
        bool, typer.Option("--project", help="Write the file of the project in this folder.")
    ] = False,
    name: Annotated[str, typer.Option(help="Name of the entry.")] = SERVER_NAME,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take the entry out, and revoke its key.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the change, and write nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data_dir: Annotated[Path | None, typer.Option(help="Folder of the embedded Postgres.")] = None,
) -> None:
    known = _program(program)
    if not _NAME.fullmatch(name):
        fail("--name: must be 1 to 64 letters, digits, - and _.", MISUSED)
    if user is not None and key_file is not None:
        fail("Give --user or --key-file: a key has its person.", MISUSED)
    settings = read_settings(data_dir=data_dir)
    file = ConfigFile.of(known, _path(known, is_of_project=project), name)
    if project and not remove:
        _check_ignored(file.path)
    if file.entry is not None and file.key is None:
        fail(f"{file.path} has another server as {name!r}; give this one another --name.")
    address = url.rstrip("/") if url else service_address(address_of(settings))
    connection = _Connection(program, file, address, settings, _Asking(dry_run, yes))
    try:
        if remove:
            connection.remove()
        elif key_file is not None:
            connection.write_key(read_key(key_file))
        else:
            connection.write_for(_login() if user is None else user)
    except RemoteError as error:
        fail(f"{described(error)} {file.path} is left as it is.")


@dataclass(frozen=True)
class _Asking:
    """The options for showing a change and asking about it."""

    is_trial: bool
    is_sure: bool

    def confirmed(self) -> bool:
        """Return True if the change may be written."""
        return not self.is_trial and (self.is_sure or typer.confirm("Write this?"))


class _Connection:
    """The entry of a program, and the key in it."""

    def __init__(
        self, name: str, file: ConfigFile, address: str, settings: Settings, asking: _Asking
    ) -> None:
        self._name = name
        self._file = file
        self._address = address
        self._url = address + MCP_PATH
        self._settings = settings
        self._asking = asking

    def write_key(self, key: str) -> None:
        """Write the entry with a key that somebody has created."""
        self._check_serves()
        _check_bound(self._caller(key))
        former = None if key == self._file.key else self._former()
        if self._is_new(key) and self._is_confirmed(self._with(key), key):
            self._save(self._with(key))
            self._revoke(former)

    def write_for(self, user: str) -> None:
        """Write the entry with its own key, if that is still one of this person, or a new key."""
        self._check_serves()
        former = self._former()
        if self._file.key is not None and former is not None and _person(former) == user:
            if self._is_new(self._file.key) and self._is_confirmed(self._with(self._file.key)):
                self._save(self._with(self._file.key))
            return
        if not self._is_confirmed(self._with(STAND_IN)):
            return
        created = self._create(user)
        try:
            self._check_known(created)
            self._save(self._with(created.secret or ""))
        except (typer.Exit, RemoteError):
            self._revoke_by_name(created.name)
            raise
        self._revoke(former)

    def remove(self) -> None:
        """Take the entry out of the file, also while the service is away."""
        if self._file.key is None:
            typer.echo(f"{self._file.path} has no entry {self._file.name!r}.")
            return
        edited = self._file.without_entry()
        if not self._is_confirmed(edited):
            return
        try:
            former = self._former()
        except RemoteError as error:
            typer.echo(f"{described(error)} The key of the entry stays valid.", err=True)
            former = None
        self._save(edited)
        self._revoke(former)

    def _with(self, key: str) -> str:
        return self._file.with_entry(self._file.program.entry(self._url, key))

    def _is_new(self, key: str) -> bool:
        if self._file.entry != self._file.program.entry(self._url, key):
            return True
        typer.echo(f"{self._file.path} is connected to {self._url} already.")
        return False

    def _is_confirmed(self, edited: str, key: str | None = None) -> bool:
        """Show a change without the keys in it; return True if it may be written."""
        shown = self._file.changes(edited)
        for secret in filter(None, (self._file.key, key)):
            shown = shown.replace(secret, STAND_IN)
        typer.echo(shown)
        return self._asking.confirmed()

    def _check_serves(self) -> None:
        try:
            status = status_of_mcp(self._url, STAND_IN)
        except RemoteError as error:
            fail(f"{described(error)} Start the service, or give its address by --url.")
        if status != _NO_KEY:
            fail(f"{self._url} is not this service's MCP: it answers with status {status}.")

    def _caller(self, key: str) -> Caller | None:
        """Return whose key this is; None: the service does not know it."""
        with ApiClient(self._address, key) as api:
            try:
                return api.ask("GET", "/self")
            except RemoteError as error:
                if error.status == _NO_KEY:
                    return None
                raise

    def _former(self) -> Caller | None:
        return None if self._file.key is None else self._caller(self._file.key)

    def _create(self, user: str) -> ApiKey:
        given = {
            "displayName": self._display_name(user),
            "roles": ["editor"],
            "scopeConditions": {_USER: [user]},
        }
        try:
            request = CreateKeyRequest.model_validate(given)
        except ValidationError as error:
            reason = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
            fail(f"--user: {reason}.", MISUSED)
        created: ApiKey = managed(self._settings, "createKey", lambda keys, _: keys.create(request))
        typer.echo(f"Created {created.name} for the memories of {_USER}={user} alone.")
        return created

    def _check_known(self, created: ApiKey) -> None:
        if self._caller(created.secret or "") is None:
            fail(
                f"The service at {self._address} has another database than this command: give the"
                " folder of its data by --data-dir, or a key of its own by --key-file."
            )

    def _save(self, edited: str) -> None:
        backup = self._file.write(edited)
        typer.echo(f"Wrote {self._file.path}")
        if backup is not None:
            typer.echo(f"Backup: {backup}")
        typer.echo(f"Start {self._file.program.title} again.")

    def _display_name(self, user: str) -> str:
        return f"connect {self._name}: {user}"

    def _revoke(self, caller: Caller | None) -> None:
        """Revoke a former key if this command has created it for this program."""
        if caller is None:
            return
        person = _person(caller)
        if person is not None and caller.get("displayName") == self._display_name(person):
            self._revoke_by_name(caller["name"])
        else:
            typer.echo(f"{caller['name']}, the key of the former entry, stays valid.")

    def _revoke_by_name(self, name: str) -> None:
        revoked = managed(
            self._settings,
            "revokeKey",
            lambda keys, key_id: keys.revoke(key_id),
            named=name,
        )
        typer.echo(f"Revoked {revoked.name}.")


def _program(name: str) -> Program:
    if name not in PROGRAMS:
        fail(f"PROGRAM: must be one of {', '.join(PROGRAMS)}.", MISUSED)
    return PROGRAMS[name]


def _path(program: Program, *, is_of_project: bool) -> Path:
    if not is_of_project:
        return program.file()
    if program.project_file is None:
        fail(f"--project: {program.title} has no file for a project.", MISUSED)
    return Path.cwd() / program.project_file


def _check_ignored(path: Path) -> None:
    """End the command if a file in a folder under version control could be committed."""
    git = shutil.which("git")
    asked = [git or "", "check-ignore", "--quiet", str(path)]
    # 0: ignored, 1: not ignored, 128: no repository.
    if git and subprocess.run(asked, check=False, stderr=subprocess.DEVNULL).returncode == 1:  # noqa: S603 - a fixed command
        fail(f"{path} would hold a key, and git does not ignore it: add it to .gitignore first.")


def _login() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        fail("The login has no name: give --user.", MISUSED)


def _person(caller: Caller) -> str | None:
    """Return the only person whose memories a key reaches; None: there is no such bound."""
    values = caller.get("scopeConditions", {}).get(_USER, [])
    return values[0] if len(values) == 1 else None


def _check_bound(caller: Caller | None) -> None:
    if caller is None:
        fail("--key-file: the service does not know the key.", FAILED)
    if _person(caller) is None:
        fail(f"--key-file: the key must be bound to one {_USER}.", MISUSED)

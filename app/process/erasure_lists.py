"""The lists of erasures beside backups, by which a restore erases again."""

from collections.abc import Iterable
from pathlib import Path

from app.adapters.postgres.backup import BACKUPS
from app.adapters.postgres.catalog import BackupFolder
from app.adapters.postgres.manifest import BackupError
from app.memory.erasures.services.certificates import LIST


def keep_copy(data_dir: Path, folder: BackupFolder) -> None:
    """Copy the list of a data folder beside its backups; lines that were there stay.

    Without any erasure the copy is empty: then a restore knows that there was none.
    """
    folder.write_file(LIST, joined([folder.path / LIST, data_dir / LIST]))


def lists_of(folder: BackupFolder, given: Path | None, data_dir: Path) -> list[Path]:
    """Return the lists that a restore applies, of those that exist.

    They are the copy beside the backups, the one given, that of the folder to restore into, and
    for backups before migrations that of the data folder around them.
    """
    around = [folder.path.parent / LIST] if folder.path.name == BACKUPS else []
    beside = [path for path in (folder.path / LIST, data_dir / LIST, *around) if path.exists()]
    return [*beside, given] if given else beside


def joined(paths: Iterable[Path]) -> str:
    """Return the lines of lists, each once; absent lists are empty.

    Raises:
        BackupError: a list cannot be read.
    """
    lines: dict[str, None] = {}
    for path in paths:
        try:
            lines |= dict.fromkeys(path.read_text(encoding="utf-8").splitlines())
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise BackupError(f"{path} cannot be read: {error}.") from error
    return "".join(f"{line}\n" for line in lines if line.strip())

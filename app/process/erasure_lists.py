"""The lists of erasures stored with backups, which a restore repeats."""

from collections.abc import Iterable
from pathlib import Path

from app.adapters.postgres.backup import BACKUPS
from app.adapters.postgres.catalog import BackupError, BackupFolder
from app.memory.erasures.services.erasures import LIST


def keep_copy(data_dir: Path, folder: BackupFolder) -> None:
    """Merge the list of a data folder into the copy stored with its backups.

    The copy is empty if there was no erasure; a restore then knows that none is missing.
    """
    folder.write_file(LIST, joined([folder.path / LIST, data_dir / LIST]))


def lists_of(folder: BackupFolder, given: Path | None, data_dir: Path) -> list[Path]:
    """Return the existing lists that a restore applies, and the given one.

    They are the copy stored with the backups and the list in the folder to restore into. Backups
    before migrations are in a data folder, whose list is included.
    """
    around = [folder.path.parent / LIST] if folder.path.name == BACKUPS else []
    beside = [path for path in (folder.path / LIST, data_dir / LIST, *around) if path.exists()]
    return [*beside, given] if given else beside


def joined(paths: Iterable[Path]) -> str:
    """Return the distinct lines of all lists; missing lists count as empty.

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

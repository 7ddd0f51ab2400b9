"""`make migration` writes the difference between the tables and the migrations."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.packaging.checkout import ROOT


def test_a_new_column_is_written(tmp_path: Path) -> None:
    for folder in ("app", "migrations", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    tables = tmp_path / "app/platform/engines/store/tables.py"
    text = tables.read_text()
    line = next(line for line in text.splitlines() if "display_name" in line)
    tables.write_text(text.replace(line, f"{line}\n{line.replace('display_name', 'nickname')}"))
    before = set((tmp_path / "migrations/versions").glob("*.py"))
    command = [sys.executable, "-m", "scripts.new_migration", "add nickname"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (written,) = set((tmp_path / "migrations/versions").glob("*.py")) - before
    assert 'op.add_column("engines"' in written.read_text().replace("'", '"')
    assert "nickname" in written.read_text()

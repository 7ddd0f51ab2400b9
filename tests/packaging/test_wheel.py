"""The wheel has what the console serves, so that it works where it is installed."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from tests.packaging.checkout import ROOT

_CONSOLE = Path("app/surfaces/console")


def test_the_wheel_has_the_templates_and_files_of_the_console(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    packed = set(ZipFile(wheel).namelist())
    needed = {
        str(path.relative_to(ROOT))
        for folder in ("templates", "static")
        for path in (ROOT / _CONSOLE / folder).iterdir()
    }
    assert len(needed) > 10
    assert needed <= packed

"""The texts of the console from one file, to allow translations."""

import tomllib
from pathlib import Path
from types import SimpleNamespace

TEXTS = SimpleNamespace(**tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")))

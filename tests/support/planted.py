"""Texts with sensitive values of every kind planted in them, and harmless ones."""

import json
from pathlib import Path
from typing import Any

from app.kernel.wire.privacy_config import Kind

DEFAULTS = {Kind.CREDENTIAL, Kind.PAYMENT_CARD}
"""The kinds that are masked where no rule says otherwise."""
_DATA = Path(__file__).parents[1] / "data"


def _read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_DATA / name).read_text().splitlines()]


CORPUS = _read("privacy.jsonl")
"""Each with its `kind` (None: harmless), and the parts of the `value` that its `text` holds."""
LANGUAGES = _read("privacy_languages.jsonl")
"""The same in eleven languages: values in disguise, and sentences with numbers of all sorts."""

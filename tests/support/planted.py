"""Texts with sensitive values of every kind planted in them, and harmless ones."""

import json
from pathlib import Path
from typing import Any

from app.kernel.wire.privacy_config import Kind

DEFAULTS = {Kind.CREDENTIAL, Kind.PAYMENT_CARD}
"""The kinds that are masked where no rule says otherwise."""
CORPUS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "privacy.jsonl").read_text().splitlines()
]
"""Each with its `kind` (None: harmless), and the parts of the `value` that its `text` holds."""

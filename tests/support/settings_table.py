"""The README's table of settings, from the settings themselves.

`python -m tests.support.settings_table` prints it.
"""

import json
from enum import Enum

from app.settings.settings import Settings

_HEAD = "| Setting | Default | What it does |\n| --- | --- | --- |\n"


def settings_table() -> str:
    rows = []
    for name, field in Settings.model_fields.items():
        default = _shown(field.get_default(call_default_factory=True))
        rows.append(f"| `MEMORY_BANK_{name.upper()}` | {default} | {field.description} |")
    return _HEAD + "\n".join(rows) + "\n"


def _shown(default: object) -> str:
    match default:
        case None | "":
            return ""
        case bool():
            return f"`{str(default).lower()}`"
        case Enum():
            return f"`{default.value}`"
        case list() | dict():
            return f"`{json.dumps(default)}`"
        case _:
            return f"`{default}`"


if __name__ == "__main__":
    print(settings_table())

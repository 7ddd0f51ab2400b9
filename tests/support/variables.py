"""Environment variables of processes that tests start."""

import json
from collections.abc import Mapping

from app.settings.environment import PREFIX
from app.settings.settings import CONSTANTS

_TUNING = f"{PREFIX}TUNING"


def with_constants(variables: Mapping[str, str]) -> dict[str, str]:
    """Return variables with the constants among them in the one variable that takes these."""
    constants, others = {}, {}
    for variable, value in variables.items():
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name in CONSTANTS:
            constants[name] = json.loads(value)
        else:
            others[variable] = value
    return {**others, _TUNING: json.dumps(constants)} if constants else others

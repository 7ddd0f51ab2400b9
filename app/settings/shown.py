"""The settings of a process for administrators, without secrets."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import BaseModel, JsonValue, SecretStr
from pydantic_core import to_jsonable_python

from app.kernel.tuning import Tuning
from app.settings.described import variable
from app.settings.settings import Settings

HIDDEN = "set"
"""Stand-in for a secret."""
# User information or a query may contain a password or an access key.
_ADDRESS_WITH_SECRET = re.compile(r"://\S*[@?]")


@dataclass(frozen=True)
class ShownSetting:
    """A setting; `HIDDEN` replaces each secret in the value, and None means not set."""

    name: str
    description: str
    default: JsonValue
    value: JsonValue

    @property
    def is_default(self) -> bool:
        """True if the value is the default."""
        return self.value == self.default


def shown_settings(settings: Settings) -> Iterator[ShownSetting]:
    """Yield all settings with the names of their variables."""
    for name, field in type(settings).model_fields.items():
        value = _shown(getattr(settings, name))
        default = _shown(field.get_default(call_default_factory=True))
        description = field.description or ""
        yield ShownSetting(variable(name), description, default, value)


def is_shown(text: str) -> bool:
    """Return True unless the text may be an address with a password or an access key."""
    return not _ADDRESS_WITH_SECRET.search(text)


def _shown(value: Any) -> JsonValue:  # noqa: ANN401 - settings are of any type
    match _plain(value):
        case SecretStr() as secret:
            return HIDDEN if secret.get_secret_value() else None
        case str() as text if not is_shown(text):
            return HIDDEN
        case Mapping() as entries:
            return {str(key): _shown(entry) for key, entry in entries.items()}
        case list() | tuple() as items:
            return [_shown(item) for item in items]
        case other:
            shown: JsonValue = to_jsonable_python(other)
            return shown


def _plain(value: Any) -> Any:  # noqa: ANN401 - as above
    """Convert a group of values to a map that keeps `SecretStr`; other values are unchanged."""
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True, exclude_none=True)
    return asdict(value) if isinstance(value, Tuning) else value

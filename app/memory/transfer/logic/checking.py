"""Validation of an archive's values against the rules of the API, since it can be forged."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ValidationError

from app.kernel.wire.archived import ArchivedRow, WrongColumnError
from app.kernel.wire.violations import invalid_fields
from app.memory.transfer.logic.fields import LineKind
from app.memory.transfer.logic.kinds import NOT_EXPORTED, OPERATION

_OF_EVERY_ANSWER = frozenset({"@type", "withdrawn"})


@dataclass
class LineChecks:
    """Checks of the lines of one archive.

    Attributes:
        rows: the model of each kind's columns, by the kind's name.
        answers: the model of the response fields that the service relies on, by operation kind.
        messages: the response types of operations, by `@type`.
        latest: the latest value that is accepted for a time in the past.
        converted: the number of values converted from an older form, by kind and field.
    """

    rows: Mapping[str, type[ArchivedRow]]
    answers: Mapping[str, type[BaseModel]]
    messages: Mapping[str, type[BaseModel]]
    latest: datetime
    converted: Counter[str] = field(default_factory=Counter)

    def checked(self, kind: LineKind, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a line in their stored form, by column.

        Raises:
            ValueError: no request could have stored a value; the message names its field.
        """
        try:
            stored, converted = self.rows[kind.name].read(values, self.latest)
        except WrongColumnError as error:
            raise ValueError(f"{kind.path_of(error.column, error.path)}: {error}") from None
        if kind is OPERATION:
            self._check_operation(values)
        self.converted.update(f"{kind.name}.{kind.path_of(name)}" for name in converted)
        return stored

    def _check_operation(self, values: Mapping[str, Any]) -> None:
        kind, response = values["kind"], values["response"]
        if kind in NOT_EXPORTED:
            raise ValueError("operationKind: must be a kind that an archive has")
        if response is None:
            return
        answered = self.messages.get(response["@type"])
        if answered is None:
            raise ValueError("response.@type: must be the type of an answer")
        fields = {name: response[name] for name in response if name not in _OF_EVERY_ANSWER}
        # Stored responses lack the fields that are filled in when they are served.
        _check_message(answered, fields, ignored="missing")
        if (stored := self.answers.get(kind)) is not None:
            _check_message(stored, response)


def _check_message(message: type[BaseModel], fields: Mapping[str, Any], ignored: str = "") -> None:
    try:
        message.model_validate(fields)
    except ValidationError as error:
        errors = [item for item in error.errors(include_input=False) if item["type"] != ignored]
        if errors:
            wrong = invalid_fields(errors[:1], message).violations[0]
            reason = wrong.description.rstrip(".")
            raise ValueError(f"response.{wrong.field}: {reason}") from None

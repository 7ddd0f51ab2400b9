"""Checks of an archive's values, by what the API accepts: an archive can be forged."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ValidationError

from app.kernel.wire.archived import ArchivedRow, WrongColumnError
from app.kernel.wire.violations import invalid_fields
from app.memory.transfer.logic.fields import Kind
from app.memory.transfer.logic.kinds import NOT_EXPORTED, OPERATION

_OF_EVERY_ANSWER = frozenset({"@type", "withdrawn"})


@dataclass
class LineChecks:
    """The checks of the lines of one archive.

    Attributes:
        rows: by the name of a kind, its columns.
        answers: by the kind of operations, what is relied on in their stored answers.
        messages: by their `@type`, what operations answer with.
        latest: the last moment that has passed.
        converted: the values that a former release wrote in another form, by kind and field.
    """

    rows: Mapping[str, type[ArchivedRow]]
    answers: Mapping[str, type[BaseModel]]
    messages: Mapping[str, type[BaseModel]]
    latest: datetime
    converted: Counter[str] = field(default_factory=Counter)

    def checked(self, kind: Kind, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a line, by column, as they are stored.

        Raises:
            ValueError: a request could not have stored one; the message names its field.
        """
        try:
            read = self.rows[kind.name].read(values, self.latest)
        except WrongColumnError as error:
            raise ValueError(f"{kind.path_of(error.column, error.path)}: {error}") from None
        if kind is OPERATION:
            self._check_operation(values)
        self.converted.update(f"{kind.name}.{kind.path_of(name)}" for name in read.converted)
        return read.values

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
        # What completes an answer is not stored.
        _check_message(answered, fields, ignored="missing")
        if (stored := self.answers.get(kind)) is not None:
            _check_message(stored, response)


def _check_message(message: type[BaseModel], fields: Mapping[str, Any], ignored: str = "") -> None:
    try:
        message.model_validate(fields)
    except ValidationError as error:
        errors = [one for one in error.errors(include_input=False) if one["type"] != ignored]
        if errors:
            wrong = invalid_fields(errors[:1]).violations[0]
            reason = wrong.description.rstrip(".")
            raise ValueError(f"response.{wrong.field}: {reason}") from None

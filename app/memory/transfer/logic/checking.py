"""Checks of an archive's values, by what the API accepts: an archive can be forged."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ValidationError

from app.kernel.wire.archived import ArchivedRow, WrongColumnError
from app.kernel.wire.violations import invalid_fields
from app.memory.transfer.logic.fields import Kind
from app.memory.transfer.logic.kinds import NOT_EXPORTED, OPERATION


@dataclass
class LineChecks:
    """The checks of the lines of one archive.

    Attributes:
        rows: by the name of a kind, its columns.
        answers: by the kind of operations, what is relied on in their answers.
        latest: the last moment that has passed.
        converted: the values that a former release wrote in another form, by kind and field.
    """

    rows: Mapping[str, type[ArchivedRow]]
    answers: Mapping[str, type[BaseModel]]
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
        answer = self.answers.get(kind)
        if answer is None or response is None:
            return
        try:
            answer.model_validate(response)
        except ValidationError as error:
            wrong = invalid_fields(error.errors(include_input=False)).violations[0]
            reason = wrong.description.rstrip(".")
            raise ValueError(f"response.{wrong.field}: {reason}") from None


def checks_of(
    archived: Sequence[tuple[Mapping[str, type[ArchivedRow]], Mapping[str, type[BaseModel]]]],
    latest: datetime,
) -> LineChecks:
    """Return the checks of an archive, from what features say of their rows and answers."""
    rows = {name: row for those, _ in archived for name, row in those.items()}
    answers = {kind: answer for _, those in archived for kind, answer in those.items()}
    return LineChecks(rows, answers, latest)

"""Validation of the models and counters that a policy names."""

import re

from app.adapters.llm import encodings
from app.adapters.llm.models import TextModels
from app.kernel.errors import InvalidArgument
from app.kernel.wire.memory_policy import BUILTIN, COUNTERS, MemoryPolicy
from app.settings.settings import Settings

_OF_GOOGLE = re.compile(
    r"(?:projects/[^/]+/locations/[^/]+/)?publishers/google/models/[^/]+|(?:models/)?gemini-[\w.@-]+"
)


def check_policy(
    policy: MemoryPolicy | None, models: TextModels, settings: Settings, field: str
) -> None:
    """Check the names in a policy before it is used; no policy is valid.

    `field` is the path of the policy in the request, in wire spelling.

    Raises:
        InvalidArgument: the model or counter does not exist; the error lists those that do.
    """
    if policy is None:
        return
    if policy.summary_model is not None:
        check_model(policy.summary_model, models, f"{field}.summaryModel")
    if policy.counter is not None:
        check_counter(policy.counter, settings, f"{field}.counter")


def check_model(name: str, models: TextModels, field: str) -> None:
    """Check that a model exists.

    Raises:
        InvalidArgument: it does not.
    """
    if name == BUILTIN or models.knows(name):
        return
    accepted = ", ".join([BUILTIN, *models.names])
    raise InvalidArgument.of_field(field, f"must be one of: {accepted}.")


def check_writer(name: str | None, models: TextModels, field: str) -> None:
    """Check the model that an engine names for its memories; None is the default.

    Google's own names are taken, since its samples name one: the default writes in its place.

    Raises:
        InvalidArgument: there is no such model.
    """
    if name is None or models.knows(name) or _OF_GOOGLE.fullmatch(name):
        return
    own = f"one of: {', '.join(models.names)}; or " if models.names else ""
    raise InvalidArgument.of_field(
        field,
        f"must be {own}a name of Google's such as gemini-2.5-flash, for which"
        f" {models.writer} writes.",
    )


def check_counter(name: str, settings: Settings, field: str) -> None:
    """Check that a counter exists.

    Raises:
        InvalidArgument: it does not.
    """
    accepted = [*COUNTERS, *encodings.available(settings.tiktoken_dir)]
    if name not in accepted:
        raise InvalidArgument.of_field(field, f"must be one of: {', '.join(accepted)}.")

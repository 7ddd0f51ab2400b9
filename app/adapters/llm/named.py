"""Checks that a policy names models and counters that there are here."""

from pathlib import Path

from app.adapters.llm import encodings
from app.adapters.llm.models import TextModels
from app.kernel.errors import InvalidArgument
from app.kernel.wire.memory_policy import BUILTIN, COUNTERS, MemoryPolicy
from app.settings.settings import Settings


def check_policy(
    policy: MemoryPolicy | None, models: TextModels, settings: Settings, field: str
) -> None:
    """Check what a policy names, before any of it is used; without a policy nothing is wrong.

    `field` is where the policy stands in the request, in wire spelling.

    Raises:
        InvalidArgument: there is no such model, or no such counter; it says which there are.
    """
    if policy is None:
        return
    if policy.summary_model is not None:
        check_model(policy.summary_model, models, f"{field}.summaryModel")
    if policy.counter is not None:
        check_counter(policy.counter, settings, f"{field}.counter")


def check_model(name: str, models: TextModels, field: str) -> None:
    """Check that there is such a model.

    Raises:
        InvalidArgument: there is not.
    """
    if name == BUILTIN or models.knows(name):
        return
    accepted = ", ".join([BUILTIN, *models.names])
    raise InvalidArgument.of_field(field, f"no such model here; there are: {accepted}.")


def check_counter(name: str, settings: Settings, field: str) -> None:
    """Check that there is such a counter.

    Raises:
        InvalidArgument: there is not.
    """
    accepted = counters(settings.tiktoken_dir)
    if name not in accepted:
        raise InvalidArgument.of_field(
            field, f"no such counter here; there are: {', '.join(accepted)}."
        )


def counters(folder: Path | None) -> list[str]:
    """Return the counters there are."""
    return [*COUNTERS, *encodings.available(folder)]

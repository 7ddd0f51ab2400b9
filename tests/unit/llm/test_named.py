"""Which models and counters a policy may name."""

from pathlib import Path

import pytest

from app.adapters.llm.models import TextModels, check_policy, check_writer
from app.kernel.errors import InvalidArgument
from app.kernel.wire.memory_policy import MemoryPolicy
from app.settings.settings import Settings
from tests.support.encodings import write_encoding
from tests.support.scripted_models import ScriptedTextModel

_MODEL = ScriptedTextModel([])
_MODELS = TextModels(_MODEL, {"cheap": _MODEL})


def _check(models: TextModels, folder: Path | None = None, **named: str) -> None:
    policy = MemoryPolicy.model_validate({"strategy": "every_n", **named})
    check_policy(policy, models, Settings(tiktoken_dir=folder), "memoryPolicy")


@pytest.mark.parametrize("name", ["builtin", _MODEL.model_id, "cheap", "publishers/x/models/cheap"])
def test_a_model_of_the_settings_can_be_named(name: str) -> None:
    _check(_MODELS, summaryModel=name)


@pytest.mark.parametrize("name", ["dear", "cheap/dear", "Builtin"])
def test_another_model_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        _check(_MODELS, summaryModel=name)
    (violation,) = refused.value.violations
    assert violation.field == "memoryPolicy.summaryModel"
    assert violation.description.endswith(f"must be one of: builtin, {_MODEL.model_id}, cheap.")


def test_without_models_only_the_built_in_one_can_be_named() -> None:
    _check(TextModels(), summaryModel="builtin")
    with pytest.raises(InvalidArgument, match=r"must be one of: builtin\."):
        _check(TextModels(), summaryModel=_MODEL.model_id)


def test_a_counter_can_be_named_where_it_is_there(tmp_path: Path) -> None:
    for name in ("chars4", "declared"):
        _check(_MODELS, counter=name)
    with pytest.raises(InvalidArgument, match=r"memoryPolicy\.counter"):
        _check(_MODELS, tmp_path, counter="o200k_base")
    write_encoding(tmp_path, "o200k_base")
    _check(_MODELS, tmp_path, counter="o200k_base")


def test_without_a_policy_nothing_is_wrong() -> None:
    check_policy(None, TextModels(), Settings(), "memoryPolicy")


_GOOGLE = "projects/p/locations/l/publishers/google/models/gemini-2.5-flash"


@pytest.mark.parametrize(
    "name",
    [None, _MODEL.model_id, "cheap", "publishers/x/models/cheap", _GOOGLE, "gemini-3-pro",
     "models/gemini-2.5-flash", "publishers/google/models/text-x"],
)  # fmt: skip
def test_an_engine_may_name_a_model_that_is_there_or_is_googles(name: str | None) -> None:
    check_writer(name, _MODELS, "model")


@pytest.mark.parametrize("name", ["dear", "gpt-5", "openai:gpt-5", "builtin", "x/gemini-2.5", ""])
def test_an_engine_may_name_no_other_model(name: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        check_writer(name, _MODELS, "model")
    (violation,) = refused.value.violations
    assert violation.description.endswith(
        f"must be one of: {_MODEL.model_id}, cheap; or a name of Google's such as"
        f" gemini-2.5-flash, for which {_MODEL.model_id} writes."
    )
    with pytest.raises(InvalidArgument, match=r"must be a name of Google's such as"):
        check_writer(name, TextModels(), "model")

"""A namespace that no reader may read is known as such."""

from collections.abc import Mapping, Sequence

import pytest

from app.artifacts.tasks.logic import Allowed
from app.settings.surface_settings import ReaderModel

CLOUD = {"cloud": ReaderModel(model="openai:any", locality="remote")}
DESK = {"desk": ReaderModel(model="ollama:any", locality="local")}


@pytest.mark.parametrize(
    ("models", "of_none", "of_cloud", "of_cloud_and_desk"),
    [
        (None, True, True, True),
        ([], False, False, False),
        (["nobody"], False, False, False),
        (["builtin"], True, True, True),
        (["builtin:extractive"], True, True, True),
        (["cloud"], False, True, True),
        (["desk"], False, False, True),
    ],
)
@pytest.mark.parametrize("local_only", [True, False])
def test_what_may_read_it_is_a_reader_of_the_settings_or_the_built_in_one(
    models: Sequence[str] | None,
    *,
    of_none: bool,
    of_cloud: bool,
    of_cloud_and_desk: bool,
    local_only: bool,
) -> None:
    allowed = Allowed(local_only, models)
    if local_only and models == ["cloud"]:
        of_cloud = of_cloud_and_desk = False
    settings: Sequence[Mapping[str, ReaderModel]] = ({}, CLOUD, CLOUD | DESK)
    assert [allowed.takes_any(one) for one in settings] == [of_none, of_cloud, of_cloud_and_desk]

"""Which readers may read a namespace, and which of them does."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest

from app.adapters.llm.models import ReaderHandle
from app.artifacts.readers.services.reading_session import choose
from app.artifacts.tasks.logic import Allowed
from app.kernel.errors import PermissionDenied, Reason
from tests.support.scripted_models import ScriptedTextModel

READERS = {
    name: ReaderHandle(name, ScriptedTextModel([]), is_local=is_local)
    for name, is_local in (("cloud", False), ("desk", True), ("rack", True))
}
ALL = Allowed(local_only=False, models=None)


def _chosen(asked: str | None, allowed: Allowed) -> str:
    found = choose(asked, READERS, allowed)
    return "builtin" if found is None else found.name


def test_the_order_is_that_of_the_settings() -> None:
    assert _chosen(None, ALL) == "cloud"
    # Not that of the namespace.
    assert _chosen(None, Allowed(local_only=False, models=["rack", "desk"])) == "desk"
    assert _chosen(None, Allowed(local_only=True, models=None)) == "desk"
    assert choose(None, {}, ALL) is None


@pytest.mark.parametrize("name", ["builtin", "builtin:extractive"])
def test_the_built_in_one_has_two_names(name: str) -> None:
    assert _chosen(name, ALL) == "builtin"
    assert _chosen(name, Allowed(local_only=True, models=["builtin"])) == "builtin"
    assert _chosen("builtin", Allowed(local_only=True, models=[name])) == "builtin"
    with pytest.raises(PermissionDenied):
        _chosen(name, Allowed(local_only=False, models=["desk"]))


def test_one_that_may_not_read_is_never_chosen() -> None:
    lists: list[Sequence[str] | None] = [None, [], ["cloud"], ["desk", "builtin"], ["other"]]
    for local_only, models in product((False, True), lists):
        allowed = Allowed(local_only, models)
        for asked in (None, "cloud", "desk", "rack", "builtin", "other", ""):
            try:
                found = _chosen(asked, allowed)
            except PermissionDenied:
                continue
            assert asked in {None, found}
            assert models is None or found in models
            assert not local_only or found != "cloud"


def test_images_go_to_the_first_that_takes_them() -> None:
    takers = {
        name: replace(reader, reads_images=name != "desk") for name, reader in READERS.items()
    }

    def chosen(asked: str | None, allowed: Allowed, *, is_sensitive: bool = False) -> str:
        found = choose(asked, takers, allowed, is_sensitive=is_sensitive, is_of_images=True)
        return "builtin" if found is None else found.name

    assert chosen(None, ALL) == "cloud"
    assert chosen(None, ALL, is_sensitive=True) == "rack"
    assert chosen(None, Allowed(local_only=True, models=None)) == "rack"
    assert chosen("desk", ALL) == "desk"
    assert chosen(None, Allowed(local_only=False, models=["desk", "builtin"])) == "desk"


def test_a_refusal_names_those_that_may() -> None:
    with pytest.raises(PermissionDenied, match="only desk, rack, builtin may read") as told:
        choose("cloud", READERS, Allowed(local_only=True, models=None))
    assert told.value.reason is Reason.MODEL_NOT_ALLOWED
    assert told.value.metadata == {"allowedModels": "desk,rack,builtin"}
    with pytest.raises(PermissionDenied, match="no model of the settings may read"):
        choose(None, READERS, Allowed(local_only=True, models=["cloud"]))


def test_what_is_sensitive_goes_to_a_remote_reader_by_name_alone() -> None:
    far = {name: one for name, one in READERS.items() if not one.is_local}
    assert choose(None, far, ALL) is not None
    assert choose(None, far, ALL, is_sensitive=True) is None
    name = next(iter(far))
    assert choose(name, far, ALL, is_sensitive=True) is far[name]
    only = Allowed(local_only=False, models=[name])
    assert choose(None, far, only, is_sensitive=True) is far[name]
    near = choose(None, READERS, ALL, is_sensitive=True)
    assert near is not None
    assert near.is_local

"""Every feature is on the roster, and what features register fits together."""

import re
from dataclasses import replace
from importlib import import_module

import pytest

from app.process.features import FEATURES, RosterError, answers, check
from app.process.main import _ADMITTED
from app.web.feature import Feature
from tests.architecture.code import ROOT


def registered() -> dict[str, Feature]:
    """Return the feature of each folder that registers one, by the folder's name."""
    return {
        path.parent.name: import_module(
            ".".join(path.relative_to(ROOT).with_suffix("").parts)
        ).FEATURE
        for path in (ROOT / "app").glob("*/*/feature.py")
    }


def test_every_feature_is_on_the_roster() -> None:
    assert {feature.name for feature in FEATURES} == registered().keys()


def test_a_feature_bears_the_name_of_its_folder() -> None:
    assert {folder: feature.name for folder, feature in registered().items()} == {
        folder: folder for folder in registered()
    }


def test_every_folder_with_routes_registers_them() -> None:
    folders = {path.parent.name for path in (ROOT / "app").glob("*/*/routes*")}
    assert folders == {name for name, feature in registered().items() if feature.routers}


def test_a_path_is_served_by_its_own_route() -> None:
    """No route before it takes it; one whose last part is any id would take one with a verb."""
    for route in _ADMITTED:
        path = re.sub(r"{\w+}", "1", route.path)
        for method in route.methods or ():
            first = next(
                other
                for other in _ADMITTED
                if method in (other.methods or ()) and other.path_regex.fullmatch(path)
            )
            assert first is route, path


@pytest.mark.parametrize(
    "what",
    ["name", "kinds", "ticks", "sweeps", "routers", "gauges", "erasures", "answers"],
)
def test_what_two_features_register_is_refused(what: str) -> None:
    first = next(feature for feature in FEATURES if getattr(feature, what))
    second = replace(Feature("other"), **{what: getattr(first, what)})
    with pytest.raises(RosterError, match=first.name):
        check([first, second])


def test_an_answer_that_no_feature_describes_is_refused() -> None:
    others = [feature for feature in FEATURES if "UndoOperationResponse" not in feature.answers]
    with pytest.raises(RosterError, match="UndoOperationResponse"):
        answers(others)


def test_a_demand_without_a_route_is_refused() -> None:
    feature = next(feature for feature in FEATURES if feature.routers)
    router = feature.routers[0]
    demands = {**router.demands, "unknownMethod": next(iter(router.demands.values()))}
    routes = type(router)(demands=demands)
    routes.include_router(router)
    with pytest.raises(RosterError, match="unknownMethod"):
        check([replace(feature, routers=(routes,))])

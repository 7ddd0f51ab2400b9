"""Rules about sensitive values: which one holds at a place."""

import pytest

from app.kernel.errors import InvalidArgument
from app.kernel.wire.privacy_config import (
    CustomPattern,
    Kind,
    Place,
    PrivacyAction,
    PrivacyConfig,
    PrivacyRule,
    built_in_rules,
)
from app.platform.privacy.logic import Guard
from app.settings.settings import Settings

MAIL = "anna.k@example.com"


def guard(
    *rules: PrivacyRule,
    defaults: PrivacyConfig | None = None,
    place: Place = Place.GENERATION,
) -> Guard:
    return Guard.of(PrivacyConfig(rules=list(rules)), defaults or built_in_rules(), place)


def rule(kind: str, action: PrivacyAction, *where: Place) -> PrivacyRule:
    return PrivacyRule(kind=kind, action=action, where=list(where) or None)


def test_kinds_that_an_engine_does_not_name_follow_the_defaults() -> None:
    found = guard(rule(Kind.EMAIL, PrivacyAction.MASK), rule(Kind.CREDENTIAL, PrivacyAction.OFF))
    assert found.masks == {Kind.EMAIL, Kind.PAYMENT_CARD}
    assert guard(defaults=PrivacyConfig()).is_idle


def test_a_rule_for_the_place_wins() -> None:
    general = rule(Kind.EMAIL, PrivacyAction.MASK)
    found = guard(general, rule(Kind.EMAIL, PrivacyAction.REJECT, Place.GENERATION))
    assert (Kind.EMAIL in found.masks, Kind.EMAIL in found.rejects) == (False, True)


@pytest.mark.parametrize("place", Place)
def test_a_rule_without_a_place_holds_everywhere_and_defaults_in_generation(place: Place) -> None:
    found = guard(rule(Kind.EMAIL, PrivacyAction.MASK), place=place)
    by_default = {Kind.CREDENTIAL, Kind.PAYMENT_CARD} if place is Place.GENERATION else set()
    assert found.masks == {Kind.EMAIL, *by_default}
    assert guard(place=place).is_idle == (place is not Place.GENERATION)


def test_a_refusal_names_field_and_kind_but_no_value() -> None:
    found = guard(rule(Kind.EMAIL, PrivacyAction.REJECT))
    with pytest.raises(InvalidArgument) as caught:
        found.admitted({"parts": [{"text": f"write to {MAIL}"}]}, "content")
    [violation] = caught.value.violations
    assert violation.field == "content.parts[0].text"
    assert "EMAIL" in violation.description
    assert MAIL not in str(caught.value.as_http_body())
    assert found.without(MAIL).value == "[EMAIL]"


def test_an_installation_sets_defaults_with_patterns_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = (
        '{"rules": [{"kind": "EMAIL", "action": "MASK"}],'
        ' "customPatterns": [{"name": "CASE_NUMBER", "pattern": "CN-[0-9]{8}"}]}'
    )
    monkeypatch.setenv("MEMORY_BANK_PRIVACY_DEFAULTS", given)
    defaults = Settings().privacy_defaults
    found = guard(defaults=defaults)
    text = f"{MAIL} about CN-12345678, PIN 4812"
    assert found.admitted(text).value == "[EMAIL] about [CASE_NUMBER], PIN 4812"


def test_patterns_of_engine_and_installation_stand_side_by_side() -> None:
    own = PrivacyConfig(custom_patterns=[CustomPattern(name="A_NUMBER", pattern="A-[0-9]+")])
    defaults = PrivacyConfig(custom_patterns=[CustomPattern(name="B_NUMBER", pattern="B-[0-9]+")])
    found = Guard.of(own, defaults, Place.GENERATION)
    assert found.admitted("A-1 B-2").value == "[A_NUMBER] [B_NUMBER]"

"""What is found in a text, and what is left alone. All values are made up."""

from base64 import b64decode
from collections.abc import Collection
from typing import Any

import pytest
import re2  # type: ignore[import-untyped]  # google-re2 ships no types
from hypothesis import given
from hypothesis import strategies as st

from app.kernel.wire.privacy_config import Kind
from app.language.privacy.detect import find
from app.language.privacy.kinds import FORMS
from app.language.privacy.walk import mask, masked
from tests.support.planted import CORPUS, DEFAULTS, LANGUAGES

PLANTED = [one for one in CORPUS if one["kind"] is not None]
CARD = "4111 1111 1111 1111"


def kinds_for(planted: dict[str, Any]) -> Collection[str]:
    return DEFAULTS if planted["kind"] in DEFAULTS else {planted["kind"]}


def test_no_planted_value_is_left() -> None:
    """Credentials and cards under the defaults; each other kind with its rule on."""
    left = []
    for planted in PLANTED:
        value = "".join(planted["value"])
        text, counts = mask(planted["text"].format(value), kinds_for(planted))
        if value in text or not counts[planted["kind"]]:
            left.append(text)
    assert left == []
    assert sum(one["kind"] in DEFAULTS for one in PLANTED) >= 60
    assert {one["kind"] for one in PLANTED} == set(Kind)


@pytest.mark.parametrize("corpus", [CORPUS, LANGUAGES])
def test_at_most_two_percent_of_harmless_sentences_are_touched(corpus: list[Any]) -> None:
    harmless = [one["text"] for one in corpus if one["kind"] is None]
    touched = [text for text in harmless if find(text, DEFAULTS)]
    assert len(harmless) == 500
    assert len(touched) <= 10, touched


def test_the_sentence_around_a_value_stays() -> None:
    for text, expected in {
        f"My API key is sk-{'a1b2' * 6} remember my card {CARD}.": (
            "My API key is [CREDENTIAL] remember my card [PAYMENT_CARD]."
        ),
        "Mein Passwort lautet Kirsch-77, ja.": "Mein Passwort lautet [CREDENTIAL], ja.",
        '{"password": "a b c", "pin": 4812}': ('{"password": "[CREDENTIAL]", "pin": [CREDENTIAL]}'),
        r"{\"password\":\"hunter2\",\"b\":1}": r"{\"password\":\"[CREDENTIAL]\",\"b\":1}",
        "password:\nhunter2\nbye": "password:\n[CREDENTIAL]\nbye",
        "hunter2 is my password": "[CREDENTIAL] is my password",
        "<password>hunter2</password>": "<password>[CREDENTIAL]</password>",
        "redis://:s3cret@cache:6379/0": "redis://:[CREDENTIAL]@cache:6379/0",
        f"card {CARD} 3rd": "card [PAYMENT_CARD] 3rd",
        "Grüße — PIN 4812 — ü": "Grüße — PIN [CREDENTIAL] — ü",
    }.items():
        assert mask(text, DEFAULTS)[0] == expected


def test_look_alikes_are_told_by_their_checksums() -> None:
    for text in (
        "4111 1111 1111 1112",
        "978-3-16-148410-0",
        "9fceb02d0ae598e95dc970b74767f19372d61af8",
        "550e8400-e29b-41d4-a716-446655440000",
        "DE89 3704 0044 0532 0130 01",
        "192.168.1.1 203.0.113.7 999.1.1.1 ::1 2001:db8::1",
        "SSN 000-45-6789 and SSN 912-45-6789",
        "eyJhbGciOiJIUzI1.eyJzdWIi.abc",
    ):
        assert find(text, set(Kind) - {Kind.PHONE}) == [], text


def test_values_that_overlap_are_one_of_the_longest_kind() -> None:
    text = "password: sk-abcdefgh12345678@example.com"
    [found] = find(text, {Kind.CREDENTIAL, Kind.EMAIL})
    assert (found.kind, text[found.start : found.end]) == (Kind.CREDENTIAL, text[10:])


def test_a_pattern_of_an_operator_is_a_kind_of_its_own() -> None:
    custom = {"CASE_NUMBER": re2.compile(b"CN-[0-9]{8}")}
    assert mask("see CN-12345678", {"CASE_NUMBER"}, custom) == (
        "see [CASE_NUMBER]",
        {"CASE_NUMBER": 1},
    )
    assert mask("see CN-12345678", DEFAULTS, custom)[1] == {}


def test_json_is_masked_in_values_and_keys_and_by_its_keys() -> None:
    found = masked(
        {
            "args": {"password": "swordfish", "pin": 4812, "n": 4812, "ok": True, "none": None},
            CARD: [f"pay {CARD}", 4111111111111111],
            "thoughtSignature": CARD,
            "file": {"mimeType": "text/plain", "data": "UElOIDQ4MTI="},
            "image": {"mimeType": "image/png", "data": "UElOIDQ4MTI="},
        },
        DEFAULTS,
        {},
        "content",
    )
    assert found.value == {
        "args": {
            "password": "[CREDENTIAL]", "pin": "[CREDENTIAL]", "n": 4812, "ok": True, "none": None
        },
        "[PAYMENT_CARD]": ["pay [PAYMENT_CARD]", "[PAYMENT_CARD]"],
        "thoughtSignature": CARD,
        "file": {"mimeType": "text/plain", "data": "UElOIFtDUkVERU5USUFMXQ=="},
        "image": {"mimeType": "image/png", "data": "UElOIDQ4MTI="},
    }  # fmt: skip
    assert found.counts == {"CREDENTIAL": 3, "PAYMENT_CARD": 3}
    assert found.places["content.args.password"] == ("CREDENTIAL",)


def test_json_is_masked_whatever_its_form() -> None:
    """A call may look like a file, a number may have a fraction, a key may be a secret itself."""
    url_safe = "cHc6IGh1bnRlcjIyPz8_"
    found = masked(
        {
            "call": {"mimeType": "text/plain", "data": f"pay {CARD}", "password": "hunter22"},
            "safe": {"mimeType": "text/plain", "data": url_safe},
            "pin": {"doubleValue": 4812.0},
            "token_expires": {"timestampValue": "2026-01-01T00:00:00Z"},
            "half": 0.5,
            CARD: f"pay {CARD}",
        },
        DEFAULTS,
        {},
        "metadata",
    )
    safe = found.value.pop("safe")["data"]
    assert b64decode(safe, b"-_") == b"pw: [CREDENTIAL]???" != b64decode(url_safe, b"-_")
    assert found.value == {
        "call": {
            "mimeType": "text/plain",
            "data": "pay [PAYMENT_CARD]",
            "password": "[CREDENTIAL]",
        },
        "pin": {"stringValue": "[CREDENTIAL]"},
        "token_expires": {"timestampValue": "2026-01-01T00:00:00Z"},
        "half": 0.5,
        "[PAYMENT_CARD]": "pay [PAYMENT_CARD]",
    }
    assert not [place for place in found.places if "4111" in place]


PIECES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [one["text"].format("".join(one["value"])) for one in LANGUAGES if one["kind"] is not None]
    ),
    st.text(alphabet="½４\u0664\u200b\u00ad\u0301Рpа1 :-(［］ﷺ㎏\U0001f600", max_size=30),  # noqa: RUF001 - the disguises
    st.sampled_from([one["text"].format("".join(one["value"])) for one in PLANTED]),
    st.sampled_from(["[CREDENTIAL]", "password is ", "PIN: ", CARD, "-----BEGIN PRIVATE KEY-----"]),
)


@given(st.lists(PIECES, max_size=6).map("".join))
def test_masking_twice_is_masking_once(text: str) -> None:
    once, _ = mask(text, set(FORMS))
    assert mask(once, set(FORMS)) == (once, {})


@given(st.lists(PIECES, max_size=6).map("".join))
def test_what_is_outside_the_findings_stays_as_it_is(text: str) -> None:
    findings = find(text, set(FORMS))
    ends = [0, *(finding.end for finding in findings)]
    starts = [*(finding.start for finding in findings), len(text)]
    assert all(end <= start for end, start in zip(ends, starts, strict=True))
    outside = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    names = [f"[{finding.kind}]" for finding in findings]
    joined = "".join(piece for pair in zip(outside, [*names, ""], strict=True) for piece in pair)
    assert mask(text, set(FORMS))[0] == mask(joined, set(FORMS))[0]


@pytest.mark.parametrize("planted", [one for one in PLANTED if one["kind"] in DEFAULTS][::6])
@given(before=st.text(alphabet="abc äß\n.,", max_size=40), after=st.text(max_size=40))
def test_a_value_is_found_wherever_it_stands(
    planted: dict[str, Any], before: str, after: str
) -> None:
    value = "".join(planted["value"])
    text = f"{before} {planted['text'].format(value)} {after}"
    assert value not in mask(text, DEFAULTS)[0]


def test_a_bracket_within_a_value_hides_nothing_of_it() -> None:
    """A word in capitals and brackets is no mask if the value begins before it."""
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\n[TRUNCATED]\nabcd\n-----END PRIVATE KEY-----"
    assert mask(key, DEFAULTS)[0] == "[CREDENTIAL]"
    assert mask("My password is [CREDENTIAL].", DEFAULTS)[1] == {}


def test_what_stands_in_rows_is_found() -> None:
    cards = ",".join([CARD.replace(" ", "")] * 12)
    for text, expected in {
        f"7,{cards},12/28": f"7,{','.join(['[PAYMENT_CARD]'] * 12)},12/28",
        f"https://api.telegram.org/bot123456:{'aB3' * 12}/getMe": (
            "https://api.telegram.org/[CREDENTIAL]"
        ),
        "Our trip in 2024 was when I forgot my password.": None,
        "About 1,234,567,890,123 of them": None,
    }.items():
        assert mask(text, DEFAULTS)[0] == (expected or text)

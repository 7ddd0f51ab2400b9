"""RE2 patterns in the syntax of Postgres.

What the tests of the API show on Postgres itself is shown here on Python's engine, which reads what
the translation writes alike.
"""

import re

import pytest
import re2  # type: ignore[import-untyped]  # google-re2 ships no types
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.db.regex import PatternRefusedError, to_postgres

MAX_CHARS = 256
CONSTRUCTS = r"""
    a b A é - . _ 1 { } , / | | ( ) (?: \d \D \w \W \s \S \b \B ^ $ \A \z \x41 \x{e9} \. \\ \n \t
    \* [ab] [^a] [a-c] [^\d] [\w-] []a] [^]a] [[:alpha:]] [\]\-] [+--] [--a] [a-c-e] [[a] {2} {1,2}
    {0} {,2} {0,} * + ? *? +? ?? \pL \Q
"""
TOKENS = [" ", "\n", "[[:punct:] ]", *CONSTRUCTS.split()]


@pytest.mark.parametrize(
    ("pattern", "translated"),
    [
        (".*allergies.*", r"^(?:[^\n]*allergies[^\n]*)$"),
        ("(?s).*", "^(?:.*)$"),
        ("(?i)(?s)é.", "(?i)^(?:é.)$"),
        ("(a|b)+?c{2,3}?", "^(?:(?:a|b)+c{2,3})$"),
        ("a{,2}", r"^(?:a\u007b\u002c2\u007d)$"),
        (r"\d[\d\]^-]", r"^(?:[0-9][0-9\u005d\u005e\u002d])$"),
        (r"\t\x41\x{e9}", r"^(?:\u0009Aé)$"),
        ("", "^(?:)$"),
        ("()|", "^(?:(?:)|)$"),
    ],
)
def test_patterns_are_written_anew(pattern: str, translated: str) -> None:
    assert to_postgres(pattern, MAX_CHARS) == translated


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "must have RE2 syntax"),
        ("(?=a)", "must have RE2 syntax"),
        (r"(a)\1", "must have RE2 syntax"),
        ("(?P<name>a)", "must not have named groups"),
        ("a(?i)b", "must not have named groups, nor flags except"),
        ("(?m)a", "must not have named groups, nor flags except"),
        (r"\Qa\E", r"must not have \\Q here"),
        (r"\pL", r"must not have \\p here"),
        (r"[\pL]", r"must not have \\p here"),
        (r"[^\D]", r"must not have \\D here"),
        (r"\C", r"must not have \\C here"),
        (r"\07", r"must not have \\0 here"),
        ("[[:^alpha:]]", r"must not have \[: inside"),
        ("a{256}", "must not count beyond 255"),
        ("(a{200}){3}", "must not repeat or hold so much"),
        ("(((a{100}){100}){100}){100}", "must have RE2 syntax"),
        (r"\b" * 60, "must not repeat or hold so much"),
        ("^*", r"must not repeat \^"),
        (r"(a(\bb)c)+", r"must not repeat \^"),
        ("\x00", r"U\+0000"),
        (r"\x00", r"U\+0000"),
        (r"[\x{d800}]", "."),
        ("a" * 257, "at most 256 characters"),
    ],
)
def test_what_has_no_equal_is_refused_by_name(pattern: str, reason: str) -> None:
    with pytest.raises(PatternRefusedError, match=reason):
        to_postgres(pattern, MAX_CHARS)


@given(
    flags=st.sampled_from(["", "", "(?i)", "(?s)", "(?is)"]),
    tokens=st.lists(st.sampled_from(TOKENS), max_size=6),
    texts=st.lists(st.text("abcABé-_. 1\n\t]*{}^$\\,/", max_size=4), min_size=1, max_size=6),
)
def test_a_translation_matches_what_re2_matches(
    flags: str, tokens: list[str], texts: list[str]
) -> None:
    pattern = flags + "".join(tokens)
    try:
        translated = to_postgres(pattern, MAX_CHARS)
    except PatternRefusedError:
        return
    original, ours = re2.compile(pattern), re.compile(translated)
    for text in texts:
        # A dollar of Python also stands before a last newline.
        is_matched = ours.fullmatch(text) is not None
        if not text.endswith("\n"):
            assert is_matched == (original.fullmatch(text) is not None), text

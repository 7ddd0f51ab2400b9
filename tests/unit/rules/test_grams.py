"""Words of scripts without blanks, as grams."""

import re
import sys
import unicodedata
from time import process_time

import pytest

from app.kernel.text import fold
from app.language.bm25 import MAX_TERMS
from app.language.grams import ANY_SIGN, apart, asked, grams, indexed
from app.language.terms import Terms


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("我喜欢绿茶", "我喜欢绿茶 我喜 喜欢 欢绿 绿茶"),
        ("茶", "茶"),
        ("绿茶", "绿茶"),
        ("绿茶, 绿茶", "绿茶"),
        ("한국", "한국"),
        ("커피를 마신다", "커피를 커피 피를 마신다 마신 신다"),
        # A decomposed syllable or letter is the same.
        (unicodedata.normalize("NFD", "커피를"), "커피를 커피 피를"),
        (unicodedata.normalize("NFD", "がぎ"), "がぎ"),
        ("ｶﾞｷﾞ", "ガギ"),
        # A vowel sign belongs to its letter.
        ("ที่ดี", "ที่ดี"),
        ("ฉันชอบ", "ฉันชอบ ฉัน นช ชอ อบ"),
        ("ກາເຟ", "ກາເຟ ກາ າເ ເຟ"),
        ("កាហ្វេ", "កាហ្វេ កាហ្ ហ្វេ"),
        ("လက်ဖက်", "လက်ဖက် လက် က်ဖ ဖက်"),
        # Invisible blanks, variants of a sign.
        ("កា\u200bហ្វេ", "កាហ្វេ កាហ្ ហ្វេ"),
        ("葛\U000e0100城", "葛城"),
        ("I like tea\ufe0f and cof\u200bfee.", "coffee tea"),
        ("I \u2764\ufe0f tea \u200b", "\u2764"),
        ("カード", "カード カー ード"),
        ("人々の", "人々の 人々 々の"),
        ("我用Python写", "我用 python 写"),
        ("Ana 我 Bob", "我"),
        ("2023年5月", "2023 5 年 月"),
        ("I like tea.", ""),
        ("Straße, café, \u0437\u0438\u043c\u0430, \U0001f600", ""),
        ("", ""),
    ],
)
def test_runs_are_cut_into_pairs_of_signs(text: str, found: str) -> None:
    assert sorted(grams(text)) == sorted(found.split())
    assert len(grams(text)) == len(set(grams(text)))
    assert (indexed(text) is None) == (not found)


def test_a_long_run_is_no_word() -> None:
    assert "一二三四五六七八九十百千" in grams("一二三四五六七八九十百千")
    assert all(len(gram) == 2 for gram in grams("一二三四五六七八九十百千万"))


def test_each_text_with_a_sign_has_a_gram() -> None:
    """The sweep looks for texts with signs and without grams: it must never find one again."""
    sign = re.compile(ANY_SIGN)
    known = [chr(code) for code in range(sys.maxunicode + 1) if sign.match(chr(code))]
    assert len(known) > 90_000
    for text in known:
        for around in (text, f"a{text}", f" {text}\u200b", f"\u0e34{text}"):
            vector = indexed(around)
            assert vector is not None, hex(ord(text))
            assert vector.count("'") % 2 == 0


def test_a_sign_with_very_many_marks_is_cut_short() -> None:
    assert max(map(len, grams("ท" + "่" * 5_000))) == 100
    assert max(map(len, grams("写" + "x" * 5_000))) == 100


def test_a_long_word_before_a_run_takes_little_time() -> None:
    began = process_time()

    assert grams("ab" * 20_000 + "_写") == ["写"]

    assert process_time() - began < 1


def test_quotes_and_backslashes_are_no_syntax() -> None:
    assert indexed("'\\写'") == "'写'"


def test_the_first_grams_of_a_query_count() -> None:
    many = "".join(map(chr, range(0x4E00, 0x4E00 + 500)))
    assert len(asked(many).split()) == MAX_TERMS * 3 // 4
    assert asked("绿茶好").split() == ["'绿茶好':1", "'绿茶':2", "'茶好':3"]
    assert asked("tea") == ""


@pytest.mark.parametrize(
    ("query", "text", "count"),
    [
        ("绿茶", "他喜欢绿茶和咖啡。", 1),
        ("iPhone手机", "我的手机是iPhone。", 2),
        ("커피는?", "커피를 마신다", 1),
        ("กาแฟ", "ฉันชอบกาแฟดำ", 3),
        ("緑茶と tea", "tea か緑茶", 2),
        ("绿茶", "I like tea.", 0),
    ],
)
def test_recall_finds_the_same_words(query: str, text: str, count: int) -> None:
    assert Terms(query).read(text)[0].bit_count() == count


def test_a_text_is_told_apart_from_its_runs() -> None:
    assert apart("I drink 绿茶 daily") == ("I drink   daily", ["绿茶"])
    assert apart("I drink tea") == ("I drink tea", [])


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("tea\u200bpot", "teapot"),
        ("\ufeffTea", "tea"),
        ("co\u00adoperate", "cooperate"),
        ("a\u202eb\u202c", "ab"),
        ("क\u200cष", "कष"),
        ("tea\U000e0041", "tea"),
        ("tea\ufe0f", "tea"),
        ("葛\U000e0100城", "葛城"),
    ],
)
def test_format_characters_are_no_part_of_what_is_compared(text: str, same: str) -> None:
    assert fold(text) == fold(same)


@pytest.mark.parametrize(
    ("one", "other"), [("ลูกชื่อปู", "ลูกชื่อปี"), ("कि", "की"), ("မာ", "မိ"), ("בָּ", "בִּ")]
)
def test_vowel_signs_tell_texts_apart(one: str, other: str) -> None:
    assert fold(one) != fold(other)
    assert fold(f"{one}?  {other}") == f"{fold(one)} {fold(other)}"


def test_all_format_characters_of_unicode_are_left_out() -> None:
    known = (chr(code) for code in range(sys.maxunicode + 1))
    left = [
        char for char in known if unicodedata.category(char) == "Cf" and fold(f"a{char}b") != "ab"
    ]
    assert left == []

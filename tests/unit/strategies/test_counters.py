"""What counts tokens: a quarter of the characters, what is declared, or an encoding's table."""

from pathlib import Path

import pytest

from app.adapters.llm import encodings
from app.conversation.strategies.service import Counter, counted, counter_of
from app.kernel.errors import InvalidArgument
from app.platform.sessions.logic.event_text import EventText, Speaker
from app.settings.settings import Settings
from tests.support.encodings import write_encoding


def _counter(name: str, folder: Path | None = None) -> Counter:
    return counter_of(name, Settings(tiktoken_dir=folder))


def _said(text: str, token_count: int | None) -> EventText:
    return EventText(1, "e", 1, Speaker.USER, None, text, token_count)


@pytest.mark.parametrize(("length", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (200, 50)])
def test_four_characters_are_a_token(length: int, tokens: int) -> None:
    counter = _counter("chars4")
    assert (counter.name, counter.count("x" * length)) == ("chars4", tokens)


def test_what_is_declared_counts_where_it_is_known() -> None:
    declared, plain = _counter("declared"), _counter("chars4")
    assert counted(_said("x" * 40, 7), "x" * 40, declared) == 7
    assert counted(_said("x" * 40, None), "x" * 40, declared) == 10
    assert counted(_said("x" * 40, 7), "x" * 40, plain) == 10
    assert declared.count("x" * 40) == 10


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_an_encoding_counts_by_its_table(tmp_path: Path, name: str) -> None:
    write_encoding(tmp_path, name, "hello")
    counter = _counter(name, tmp_path)
    assert counter.name == name
    assert [counter.count(text) for text in ("", "hello", "hello hello", "HELLO")] == [0, 1, 3, 5]


def test_the_names_of_special_tokens_are_text(tmp_path: Path) -> None:
    write_encoding(tmp_path, "cl100k_base")
    text = "<|endoftext|>"
    assert _counter("cl100k_base", tmp_path).count(text) == len(text)


@pytest.mark.parametrize("name", ["cl100k_base", "gpt-5", "CHARS4", "../chars4"])
def test_an_unknown_counter_is_refused_with_those_there_are(tmp_path: Path, name: str) -> None:
    write_encoding(tmp_path, "o200k_base")
    with pytest.raises(InvalidArgument) as refused:
        counter_of(name, Settings(tiktoken_dir=tmp_path), "memoryPolicy.counter")
    (violation,) = refused.value.violations
    assert violation.field == "memoryPolicy.counter"
    assert violation.description.endswith("must be one of: chars4, declared, o200k_base.")


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
@pytest.mark.parametrize("sign", [" ", "\n", "a", "\u0300"])
def test_a_long_run_of_one_sign_is_counted(tmp_path: Path, name: str, sign: str) -> None:
    write_encoding(tmp_path, name)
    text = sign * 1_000_000
    assert _counter(name, tmp_path).count(text) == len(text.encode())


def test_without_the_package_there_are_no_encodings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_encoding(tmp_path, "cl100k_base")
    monkeypatch.setattr(encodings, "find_spec", lambda _: None)
    with pytest.raises(InvalidArgument, match="must be one of: chars4, declared"):
        _counter("cl100k_base", tmp_path)


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cl100k_base.tiktoken").write_text("not a table")
    with pytest.raises(InvalidArgument, match="cannot be read"):
        _counter("cl100k_base", tmp_path)

"""Filter text to tree, and where what is wrong is said to be."""

import pytest

from app.kernel.errors import InvalidArgument, Reason
from app.kernel.filters import And, Comparison, Not, Operator, Or, parse_filter


def a(value: str, operator: Operator = Operator.EQUAL) -> Comparison:
    return Comparison(("a",), operator, value, is_quoted=False)


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_a_blank_filter_is_none(text: str | None) -> None:
    assert parse_filter(text) is None


@pytest.mark.parametrize("operator", list(Operator))
@pytest.mark.parametrize("space", ["", " "])
def test_every_operator_is_read(operator: Operator, space: str) -> None:
    assert parse_filter(f"a{space}{operator.value}{space}1") == a("1", operator)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"b c"', "b c"),
        ("'b \"c'", 'b "c'),
        (r'"\"\'\\\/"', "\"'\\/"),
        (r'"\n\r\t"', "\n\r\t"),
        (r'"\u00e9\ud83d\ude00"', "é😀"),
        (r'"\d+\b\."', r"\d+\b\."),
        (r'"\u12"', r"\u12"),
        ('""', ""),
        ('"AND"', "AND"),
    ],
)
def test_quoted_values_are_unescaped(text: str, value: str) -> None:
    assert parse_filter(f"a={text}") == Comparison(("a",), Operator.EQUAL, value, is_quoted=True)


@pytest.mark.parametrize("value", ["-1.5", "2030-01-02T03:04:05+00:00", "x.y", ":b", "*", "a,b/é"])
def test_bare_values_are_read_whole(value: str) -> None:
    assert parse_filter(f"a:{value}") == a(value, Operator.HAS)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("scope.user_id", ("scope", "user_id")),
        ('labels."my key"', ("labels", "my key")),
        ("labels.'a.b'.c-d", ("labels", "a.b", "c-d")),
        ("AND_more", ("AND_more",)),
    ],
)
def test_paths_have_segments(text: str, path: tuple[str, ...]) -> None:
    tree = parse_filter(f"{text}=1")
    assert isinstance(tree, Comparison)
    assert tree.path == path


def test_or_binds_tighter_than_and() -> None:
    """Source: AIP-160, grammar: an expression is made of sequences, these of factors."""
    expected = And((a("1"), Or((a("2"), a("3")))))
    assert parse_filter("a=1 AND a=2 OR a=3") == expected
    assert parse_filter("a=1 a=2 OR a=3") == expected
    assert parse_filter("a=2 OR a=3") == expected.terms[1]


def test_parentheses_decide() -> None:
    assert parse_filter("(a=1 AND a=2)OR(a=3)") == Or((And((a("1"), a("2"))), a("3")))


@pytest.mark.parametrize("text", ["NOT a=1", "-a=1", "NOT(a=1)", "-(a=1)", "NOT  ( a=1 )"])
def test_both_negations_are_read(text: str) -> None:
    assert parse_filter(text) == Not(a("1"))


def test_presence_is_a_bare_star() -> None:
    bare, quoted, equal = map(parse_filter, ["a:*", 'a:"*"', "a=*"])
    assert isinstance(bare, Comparison)
    assert isinstance(quoted, Comparison)
    assert isinstance(equal, Comparison)
    assert bare.asks_for_presence
    assert not quoted.asks_for_presence
    assert not equal.asks_for_presence


def test_columns_are_kept() -> None:
    tree = parse_filter('  a  =  "x"')
    assert isinstance(tree, Comparison)
    assert (tree.column, tree.value_column) == (3, 9)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("a", 2),
        ("a=", 3),
        ("=1", 1),
        ("a b", 3),
        ("a=1)", 4),
        ("(a=1", 1),
        ("b=1 AND (a=1", 9),
        ('a="x', 3),
        ('a="x"b=1', 6),
        ("a=b=c", 4),
        ("a=1 AND", 8),
        ("a=1 OR", 7),
        ("AND a=1", 1),
        ("NOT", 1),
        ("NOT NOT a=1", 5),
        ("--a=1", 2),
        ("a=OR", 3),
        ("f(1)", 2),
        ("a:(b OR c)", 3),
        ("a..b=1", 3),
        ("()", 2),
        (r'a="\ud800"', 3),
        (r'a="\u0000"', 3),
        ("a=\x00", 3),
        ("\ud800=1", 1),
        ("x." + "a" * 4095, 4097),
        ("(" * 33, 33),
        (" ".join(["a=1"] * 101), 401),
    ],
)
def test_what_is_wrong_is_said_with_its_column(text: str, column: int) -> None:
    with pytest.raises(InvalidArgument) as refused:
        parse_filter(text)
    error = refused.value
    assert error.reason is Reason.FILTER_INVALID
    assert error.metadata == {"column": str(column)}
    assert error.violations[0].field == "filter"
    assert error.message.startswith(f"filter: column {column}: ")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a=1 AND a=2 OR a=3", "a=1 AND (a=2 OR a=3)"),
        ("-(a=1 a=2)", "NOT (a=1 AND a=2)"),
        ("labels.'my key':'x\"\\\\\n'", 'labels."my key":"x\\"\\\\\\u000a"'),
        ('"OR"."-b" = 1', '"OR"."-b"=1'),
    ],
)
def test_a_tree_writes_itself(text: str, canonical: str) -> None:
    tree = parse_filter(text)
    assert str(tree) == canonical
    assert parse_filter(canonical) == tree

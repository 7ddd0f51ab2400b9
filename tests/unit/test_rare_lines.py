"""One line a minute of each kind, with the number left out before it."""

from app.adapters.logs import RareLines


def test_one_line_a_minute_of_each_kind_is_due() -> None:
    now = 0.0
    lines = RareLines(lambda: now)
    assert [lines.due("a"), lines.due("a"), lines.due("b"), lines.due("a")] == [0, None, 0, None]
    now = 59.9
    assert lines.due("a") is None
    now = 60.0
    assert [lines.due("a"), lines.due("a"), lines.due("b")] == [3, None, 0]

"""What the benchmark `recall` calls good, and where it fails."""

from dataclasses import dataclass

import pytest

from benchmarks.recall import __main__ as recall


def test_an_order_is_judged_by_what_should_have_been_found() -> None:
    found = recall.judge(["x", "b", "y", "a"], ["a", "b", "c"])
    assert found.recall == pytest.approx(2 / 3)
    assert found.mrr == 0.5
    assert found.hit == 0
    assert 0 < found.ndcg < found.recall
    assert recall.judge(["a", "b"], ["a", "b"]) == (1, 1, 1, 1)
    assert recall.judge([], ["a"]) == (0, 0, 0, 0)


@dataclass(frozen=True)
class Told:
    """A corpus of which the figures are given."""

    name: str
    plain: recall.Figures
    own: recall.Figures

    def of(self, way: recall.Way) -> recall.Figures:
        """Return what is given."""
        return self.plain if way in recall.PLAIN.values() else self.own


def test_the_gate_is_shut_where_ours_is_below_a_plain_order() -> None:
    plain = recall.Figures(0.5, 0.5, 0.5, 0.5)
    near = recall.Figures(0.496, 0.1, 0.496, 0.1)
    behind = recall.Figures(0.6, 0.6, 0.494, 0.6)
    assert recall.misses([Told("near", plain, near)]) == []  # type: ignore[list-item] # same shape
    (one, other) = recall.misses([Told("far", plain, behind)])  # type: ignore[list-item]
    assert one.startswith("far: mrr")
    assert "BM25" in other

"""The figures of the structure stay within `budget.toml`, whose tables name every one of them."""

from scripts import measure_house


def test_no_figure_is_above_its_budget() -> None:
    assert measure_house.faults() == []


def test_the_budget_has_no_figure_that_is_not_counted() -> None:
    counted, budget = measure_house.counted(), measure_house.budget()
    assert {table: set(names) for table, names in budget.items()} == {
        table: set(names) for table, names in counted.items()
    }

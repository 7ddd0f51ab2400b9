"""Statements about "the user"."""

import pytest

from app.language.third_person import third_person


@pytest.mark.parametrize(
    ("first", "third"),
    [
        ("I like tea.", "The user likes tea."),
        ("I'm vegan.", "The user is vegan."),
        ("I\u2019ve moved.", "The user has moved."),
        ("I really don't like olives.", "The user really doesn't like olives."),
        ("I have a dog and I walk him.", "The user has a dog and they walk him."),
        ("I study law.", "The user studies law."),
        ("I moved to Rome with my wife.", "The user moved to Rome with their wife."),
        ("My name is Anna.", "The user's name is Anna."),
        ("My wife and I moved.", "The user's wife and they moved."),
        ("Last year I bought a car.", "Last year the user bought a car."),
        ("I can't swim because I am afraid.", "The user can't swim because they are afraid."),
        ("Please call me Al.", "Please call the user Al."),
        ("Lena starts school.", "Lena starts school."),
    ],
)
def test_simple_cases(first: str, third: str) -> None:
    assert third_person(first) == third

"""What is known about a person, and what they then say: made up, and the same in every run."""

from itertools import product
from random import Random

NAMES = [
    "Ada",
    "Ben",
    "Clara",
    "Dora",
    "Emil",
    "Fay",
    "Gus",
    "Hana",
    "Ivo",
    "Jane",
    "Kai",
    "Lena",
    "Milo",
    "Nora",
    "Otto",
    "Pia",
    "Quinn",
    "Rosa",
    "Sam",
    "Tess",
]
CITIES = [
    "Oslo",
    "Rome",
    "Lima",
    "Cairo",
    "Quito",
    "Porto",
    "Turin",
    "Genoa",
    "Osaka",
    "Kyoto",
    "Delhi",
    "Perth",
    "Tunis",
    "Accra",
    "Vienna",
    "Basel",
    "Ghent",
    "Malmo",
    "Tartu",
    "Davos",
]
FOODS = [
    "risotto",
    "ramen",
    "tacos",
    "curry",
    "pierogi",
    "falafel",
    "paella",
    "goulash",
    "sushi",
    "lasagne",
]
FIRMS = [
    "Acme",
    "Globex",
    "Initech",
    "Hooli",
    "Umbrella",
    "Stark",
    "Wayne",
    "Cyberdyne",
    "Soylent",
    "Tyrell",
]
THINGS = [
    "bicycle",
    "lamp",
    "guitar",
    "kayak",
    "camera",
    "tent",
    "desk",
    "jacket",
    "piano",
    "telescope",
]
COLOURS = ["red", "blue", "green", "yellow", "purple", "orange", "black", "white"]

_KNOWN = (
    ("I visited {} with {}.", CITIES, NAMES),
    ("{} plays the {} very well.", NAMES, THINGS),
    ("I cooked {} for {} at home.", FOODS, NAMES),
    ("I bought a {} in {}.", THINGS, CITIES),
    ("I sold a {} {} at the market.", COLOURS, THINGS),
    ("{} gave me a {} for my birthday.", NAMES, THINGS),
)


def known(count: int) -> list[str]:
    """Return distinct facts as a bank may hold them, in no order."""
    made = [form.format(*pair) for form, *words in _KNOWN for pair in product(*words)]
    rest = Random(3).sample(made, count - 2)
    return ["I live in Lisbon.", "My favourite colour is grey.", *rest]


def said(turn: int, stored: list[str]) -> list[str]:
    """Return the six things of one conversation: new, changed, and said before."""
    pick = Random(turn).choice
    return [
        f"I moved to {CITIES[turn % len(CITIES)]}.",
        f"My favourite colour is {COLOURS[turn % len(COLOURS)]}.",
        stored[2 + turn],
        f"I bought a {pick(COLOURS)} {pick(THINGS)} from {pick(FIRMS)}.",
        f"My sister {pick(NAMES)} studies in {pick(CITIES)} with {pick(NAMES)}.",
        f"I will visit {pick(CITIES)} with {pick(NAMES)} and eat {pick(FOODS)}.",
    ]

"""Patterns over one sentence that extraction needs, for each language.

Each group of patterns answers one question. Is the sentence the person's own statement, a
preference, personal, an event, a request to remember or forget, a standing instruction, or talk?
Texts come with straight apostrophes and dashes.
"""

import re
from dataclasses import dataclass


def any_case(text: str) -> re.Pattern[str]:
    """Compile a pattern that ignores case."""
    return re.compile(text, re.IGNORECASE)


QUESTION = re.compile(r"(?:[?\uff1f\u061f]|\u304b\u3002?|\u5417\u3002?|\u5462\u3002?)[\s\"')]*$")
"""The end of a question, in any script."""


@dataclass(frozen=True)
class Phrases:
    """The patterns of one language; `remember` and `forget` have the group `said`.

    A question asks to forget something only if it is `polite`: "Forget my allergies?" is no
    request.
    """

    first: re.Pattern[str]
    preference: re.Pattern[str]
    personal: re.Pattern[str]
    event: re.Pattern[str]
    remember: re.Pattern[str]
    forget: re.Pattern[str]
    polite: re.Pattern[str]
    always: re.Pattern[str]
    talk: re.Pattern[str]
    opening: re.Pattern[str]
    asking: re.Pattern[str]
    second: re.Pattern[str]
    request: re.Pattern[str]

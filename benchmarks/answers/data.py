"""The conversations and questions of both benchmarks, read from their published files."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

Json = Mapping[str, Any]

ABSTENTION = "abstention"
"""A further category of LongMemEval's questions that have no answer."""

_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""LoCoMo's; the fifth has no answers, and published figures leave it out."""


class UnreadableError(Exception):
    """A file is not as its benchmark publishes it."""


@dataclass(frozen=True)
class Turn:
    """A message."""

    speaker: str
    text: str


@dataclass(frozen=True)
class Session:
    """What was said at one time."""

    name: str
    time: datetime
    turns: Sequence[Turn]


@dataclass(frozen=True)
class Question:
    """A question, its categories, and the answer that is right."""

    name: str
    categories: Sequence[str]
    text: str
    answer: str
    asked_on: str = ""


@dataclass(frozen=True)
class Conversation:
    """Sessions in the order of their times; the bank has a scope for each of `people`."""

    name: str
    people: Sequence[str]
    sessions: Sequence[Session]
    questions: Sequence[Question]


def longmemeval(data: bytes) -> list[Conversation]:
    """Read a file such as `longmemeval_s_cleaned.json`: each question has sessions of its own."""
    return _read(data, _haystack)


def locomo(data: bytes) -> list[Conversation]:
    """Read a file such as `locomo10.json`, with a scope for each of the two who talk."""
    return _read(data, _dialogue)


def _read(data: bytes, read: Callable[[Json], Conversation]) -> list[Conversation]:
    try:
        return [read(one) for one in json.loads(data)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = f"The file is not as the benchmark publishes it: {error!r}"
        raise UnreadableError(message[:200]) from None


def _haystack(one: Json) -> Conversation:
    name = one["question_id"]
    kinds = [one["question_type"], *([ABSTENTION] if name.endswith("_abs") else [])]
    question = Question(name, kinds, one["question"], str(one["answer"]), one["question_date"])
    told = zip(
        one["haystack_session_ids"], one["haystack_dates"], one["haystack_sessions"], strict=True
    )
    sessions = [
        Session(
            f"{name}/{number} {session}",
            _time(day, "%Y/%m/%d (%a) %H:%M"),
            [Turn(turn["role"], turn["content"]) for turn in turns],
        )
        for number, (session, day, turns) in enumerate(told)
    ]
    return Conversation(name, ["user"], _ordered(sessions), [question])


def _dialogue(one: Json) -> Conversation:
    name, talk = one["sample_id"], one["conversation"]
    sessions = []
    for number in count(1):
        key = f"session_{number}"
        if f"{key}_date_time" not in talk:
            break
        time = _time(talk[f"{key}_date_time"], "%I:%M %p on %d %B, %Y")
        turns = [Turn(turn["speaker"], _with_photo(turn)) for turn in talk.get(key, ())]
        sessions.append(Session(f"{name}/{key}", time, turns))
    questions = [
        Question(
            f"{name}/{number}",
            [_CATEGORIES[asked["category"]]],
            asked["question"],
            str(asked["answer"]),
        )
        for number, asked in enumerate(one["qa"])
        if asked["category"] in _CATEGORIES
    ]
    people = [talk["speaker_a"], talk["speaker_b"]]
    return Conversation(name, people, _ordered(sessions), questions)


def _time(told: str, form: str) -> datetime:
    """Read a time, which the files give without a zone."""
    return datetime.strptime(told, form).replace(tzinfo=UTC)


def _with_photo(turn: Json) -> str:
    """Return the text with the caption of its picture, which some questions are about."""
    caption = turn.get("blip_caption")
    return f"{turn['text']} [photo: {caption}]" if caption else turn["text"]


def _ordered(sessions: Sequence[Session]) -> list[Session]:
    """Return what was said in the order of the times; some files have empty turns."""
    spoken = [
        replace(session, turns=[turn for turn in session.turns if turn.text.strip()])
        for session in sessions
    ]
    return sorted((one for one in spoken if one.turns), key=lambda session: session.time)

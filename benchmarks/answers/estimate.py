"""What a run is going to cost, estimated from the sizes of its data."""

from collections.abc import Collection, Iterable, Mapping

from app.adapters.llm.ports import Usage
from app.language.tokens import estimate_tokens
from app.settings.settings import Settings
from benchmarks.answers.data import Conversation, Question, Session
from benchmarks.answers.prompts import Prompts

_INSTRUCTIONS = 1_700
"""Prompt tokens of both calls of a generation, beside its conversation (`docs/quality.md`)."""
_ANSWER, _JUDGEMENT = 300, 20
"""Tokens that a model writes: an answer that is reasoned step by step, and a label."""


def estimated(
    conversations: Iterable[Conversation],
    done: Collection[str],
    prompts: Prompts,
    max_tokens: int,
    settings: Settings,
) -> Mapping[str, Usage]:
    """Return the cost of each step; sessions in `done` are memories already."""
    ingestion = answers = judgements = Usage()
    for conversation in conversations:
        for person in conversation.people:
            for session in conversation.sessions:
                if session_key(session, person) not in done:
                    ingestion += _of_session(session, person, settings.model_max_input_tokens)
        found = len(conversation.people) * max_tokens
        for question in conversation.questions:
            answers += _of_answer(question, prompts, found)
            judgements += _of_judgement(question, prompts)
    return {"ingestion": ingestion, "answers": answers, "judgements": judgements}


def session_key(session: Session, person: str) -> str:
    """Return the name of a session as a source of a person's memories."""
    return f"{session.name} {person}"


def _of_session(session: Session, person: str, most: int) -> Usage:
    said = sum(estimate_tokens(turn.text) for turn in session.turns)
    own = sum(estimate_tokens(turn.text) for turn in session.turns if turn.speaker == person)
    pieces = 1 + said // most
    # A fact and its quote repeat what the person said; the second call shows them again.
    return Usage(2 * pieces, said + own + pieces * _INSTRUCTIONS, own)


def _of_answer(question: Question, prompts: Prompts, found: int) -> Usage:
    empty = prompts.asking(question, {})
    return Usage(1, estimate_tokens(empty) + found, _ANSWER)


def _of_judgement(question: Question, prompts: Prompts) -> Usage:
    return Usage(1, estimate_tokens(prompts.judging(question, "")) + _ANSWER, _JUDGEMENT)

"""The published prompts of both benchmarks, read from a checkout of their authors' repositories.

They are quoted nowhere in this repository: what is asked is what the authors' files say. The files
are parsed, and never run.

LongMemEval: `xiaowu0162/LongMemEval` (MIT), `src/generation/run_generation.py` (facts in place of
chats, step by step) and `src/evaluation/evaluate_qa.py`.

LoCoMo: `mem0ai/mem0` at b3ede5b7 (Apache 2.0; later commits lack them), `ANSWER_PROMPT` of
`evaluation/prompts.py` and `ACCURACY_PROMPT` of `evaluation/metrics/llm_judge.py`. LoCoMo's own
repository has no judge: it counts the words that answers share.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Self

from pydantic import ConfigDict
from typing_extensions import override

from app.kernel.wire.model_entries import ModelText, TextReply
from benchmarks.answers.data import ABSTENTION, Question, UnreadableError

_PLACE = re.compile(r"\{\{(\w+)\}\}")
"""A place in a template of Jinja's, which is all that the prompt uses of it."""
_UNKNOWN = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Memory:
    """A memory as answers are given from it."""

    fact: str
    time: datetime | None

    @property
    def line(self) -> str:
        """The fact after the day on which it was said."""
        return self.fact if self.time is None else f"{self.time:%Y-%m-%d (%a)}: {self.fact}"


class Reply(TextReply):
    """A model's answer to a question, or LongMemEval's judge's."""

    model_config = ConfigDict(frozen=True)

    answer: ModelText

    @classmethod
    @override
    def of_prose(cls, text: str) -> Self:
        return cls(answer=text)


class Label(TextReply):
    """The judgement that mem0's prompt asks for."""

    model_config = ConfigDict(frozen=True)

    label: ModelText

    @classmethod
    @override
    def of_prose(cls, text: str) -> Self:
        return cls(label=text)


Found = Mapping[str, Sequence[Memory]]
"""The memories for a question, best first, by person."""


@dataclass(frozen=True)
class LongMemEval:
    """Prompts by the type of the question; memories in the order of their times."""

    answering: str
    judges: Mapping[str, str]
    judgement: ClassVar[type[TextReply]] = Reply

    @classmethod
    def read(cls, checkout: Path) -> Self:
        """Read the authors' files; raise `UnreadableError` if they are not there."""
        asking = _assigned(checkout / "src/generation/run_generation.py", "answer_prompt_template")
        answering = [text for words, text in asking if {"replace", "cot"} <= words]
        judging = _assigned(checkout / "src/evaluation/evaluate_qa.py", "template")
        judges = {
            word: text for words, text in judging for word in words - {ABSTENTION} or {ABSTENTION}
        }
        if not answering or ABSTENTION not in judges:
            raise UnreadableError(f"{checkout} has other files than LongMemEval's.")
        return cls(answering[0], judges)

    def asking(self, question: Question, found: Found) -> str:
        """Return the text that asks for an answer."""
        memories = [memory for several in found.values() for memory in several]
        memories.sort(key=lambda memory: memory.time or _UNKNOWN)
        history = "\n".join(memory.line for memory in memories)
        return self.answering.format(history, question.asked_on, question.text)

    def judging(self, question: Question, answer: str) -> str:
        """Return the text that asks whether an answer is right."""
        # The last category is the narrower one.
        judge = self.judges[question.categories[-1]]
        return judge.format(question.text, question.answer, answer)

    def is_right(self, judgement: TextReply) -> bool:
        """Return True if the judge takes the answer for right."""
        return isinstance(judgement, Reply) and "yes" in judgement.answer.lower()


@dataclass(frozen=True)
class Locomo:
    """mem0's prompts; memories of each of the two who talk."""

    answering: str
    judge: str
    judgement: ClassVar[type[TextReply]] = Label

    @classmethod
    def read(cls, checkout: Path) -> Self:
        """Read the authors' files; raise `UnreadableError` if they are not there."""
        files = (
            ("evaluation/prompts.py", "ANSWER_PROMPT"),
            ("evaluation/metrics/llm_judge.py", "ACCURACY_PROMPT"),
        )
        texts = [text for file, name in files for _, text in _assigned(checkout / file, name)]
        if len(texts) != len(files):
            raise UnreadableError(f"{checkout} has other files than mem0's.")
        return cls(*texts)

    def asking(self, question: Question, found: Found) -> str:
        """Return the text that asks for an answer."""
        values = {"question": question.text}
        for number, (person, memories) in enumerate(found.items(), 1):
            lines = [memory.line for memory in memories]
            values[f"speaker_{number}_user_id"] = person
            values[f"speaker_{number}_memories"] = json.dumps(lines, indent=4, ensure_ascii=False)
        # In one pass: a memory may have such a place in its text.
        return _PLACE.sub(lambda place: values.get(place[1], ""), self.answering)

    def judging(self, question: Question, answer: str) -> str:
        """Return the text that asks whether an answer is right."""
        return self.judge.format(
            question=question.text, gold_answer=question.answer, generated_answer=answer
        )

    def is_right(self, judgement: TextReply) -> bool:
        """Return True if the judge takes the answer for right."""
        # A model that answers in prose ends with the label.
        words = judgement.label.split() if isinstance(judgement, Label) else []
        return bool(words) and words[-1].strip(".'\"*") == "CORRECT"


Prompts = LongMemEval | Locomo


def _assigned(file: Path, name: str) -> Iterator[tuple[frozenset[str], str]]:
    """Yield the texts that a variable gets, with the words of the conditions above each."""
    try:
        tree = ast.parse(file.read_text())
    except (OSError, SyntaxError, ValueError) as error:
        raise UnreadableError(f"{file} cannot be read: {error}") from None
    return _texts(tree.body, name, frozenset())


def _texts(
    nodes: Sequence[ast.stmt], name: str, words: frozenset[str]
) -> Iterator[tuple[frozenset[str], str]]:
    for node in nodes:
        match node:
            case ast.Assign([ast.Name(variable)], ast.Constant(str(text))) if variable == name:
                yield words, text
            case ast.FunctionDef(body=body):
                yield from _texts(body, name, words)
            case ast.If(test, body, orelse):
                yield from _texts(body, name, words | frozenset(_words(test)))
                yield from _texts(orelse, name, words)
            case _:
                pass


def _words(test: ast.expr) -> Iterator[str]:
    """Yield the names and texts of a condition."""
    for part in ast.walk(test):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value

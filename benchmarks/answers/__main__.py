"""Answers from memories: `python -m benchmarks.answers longmemeval|locomo DATA --prompts FOLDER`.

DATA is the benchmark's published file; FOLDER is a checkout of the repository that has its prompts
(`benchmarks/answers/prompts.py` names it). The model of MEMORY_BANK_MODEL generates the memories of
each session, through the API and the worker, then answers each question from the memories that a
search finds, and judges each answer. Nothing is downloaded.

Without `--yes`, only the estimated cost is printed. The folder of `--out` keeps the bank and the
results, so the same command continues a run that was stopped: it asks no question twice, and reads
no session twice. The exit status is 1 if a question has no answer because of a failure.

A published figure also depends on the model of its answers and on its judge. Both are the same one
here. They are asked as the service asks it: for a structure, with the temperature of the provider's
default. Searches know the present day, not the day of the question.
"""

import argparse
import asyncio
import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx

from app.kernel.errors import ServiceError
from app.settings.settings import Settings
from benchmarks.answers.bank import Bank, IngestionError, open_bank
from benchmarks.answers.data import (
    Conversation,
    Question,
    UnreadableError,
    locomo,
    longmemeval,
)
from benchmarks.answers.estimate import estimated, session_key
from benchmarks.answers.prompts import Locomo, LongMemEval, Prompts, Reply
from benchmarks.answers.results import STEPS, OtherRunError, Results, show_accuracy, show_costs
from benchmarks.surroundings import unread_logs

_FAILURES = (ServiceError, IngestionError, httpx.HTTPStatusError)
_BENCHMARKS: dict[str, tuple[Callable[[bytes], list[Conversation]], type[Prompts]]] = {
    "longmemeval": (longmemeval, LongMemEval),
    "locomo": (locomo, Locomo),
}


@dataclass
class Run:
    """The work of one process; `failed` counts questions without an answer."""

    bank: Bank
    prompts: Prompts
    results: Results
    places: asyncio.Semaphore
    failed: int = 0
    done: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.done = self.results.sessions

    async def answer_all(self, conversation: Conversation) -> None:
        """Read a conversation and answer its questions; print what comes of each."""
        async with self.places:
            try:
                await self._ingest(conversation)
            except _FAILURES as error:
                self.failed += len(conversation.questions)
                print(f"{conversation.name}: {error}")
                return
            for question in conversation.questions:
                try:
                    await self._answer(conversation, question)
                except _FAILURES as error:
                    self.failed += 1
                    print(f"{question.name}: {error}")

    async def _ingest(self, conversation: Conversation) -> None:
        for session in conversation.sessions:
            for person in conversation.people:
                if (key := session_key(session, person)) not in self.done:
                    self.results.add_session(
                        key, await self.bank.ingest(conversation, person, session)
                    )

    async def _answer(self, conversation: Conversation, question: Question) -> None:
        found, searching = await self.bank.retrieve(conversation, question.text)
        reply, answering = await self.bank.ask(self.prompts.asking(question, found), Reply)
        judgement, judging = await self.bank.ask(
            self.prompts.judging(question, reply.answer), self.prompts.judgement
        )
        is_right = self.prompts.is_right(judgement)
        print(f"{question.name}: {'right' if is_right else 'wrong'}", flush=True)
        line = {
            "question": question.name,
            "categories": list(question.categories),
            "memories": sum(map(len, found.values())),
            "answer": reply.answer,
            "isRight": is_right,
        }
        self.results.add_question(
            line, {"retrieval": searching, "answers": answering, "judgements": judging}
        )


def left(
    conversations: Sequence[Conversation], asked: set[str], each: int | None
) -> Iterator[Conversation]:
    """Yield conversations with the questions to ask, at most `each` of a category."""
    seen: Counter[str] = Counter()
    for conversation in conversations:
        questions = []
        for question in conversation.questions:
            seen[question.categories[-1]] += 1
            is_wanted = each is None or seen[question.categories[-1]] <= each
            if is_wanted and question.name not in asked:
                questions.append(question)
        if questions:
            yield replace(conversation, questions=questions)


async def _answer(
    given: argparse.Namespace,
    conversations: Sequence[Conversation],
    prompts: Prompts,
    results: Results,
) -> int:
    """Answer the questions; return the number of those that failed."""
    async with open_bank(given.out / "bank", given.top_k, given.max_tokens) as bank:
        run = Run(bank, prompts, results, asyncio.Semaphore(given.parallel))
        async with asyncio.TaskGroup() as tasks:
            for conversation in conversations:
                tasks.create_task(run.answer_all(conversation))
    return run.failed


def _measure(given: argparse.Namespace, settings: Settings) -> int:
    """Estimate, and answer if that is wanted; return the exit status."""
    read, kind = _BENCHMARKS[given.benchmark]
    data = given.data.read_bytes()
    conversations, prompts = read(data), kind.read(given.prompts)
    head = {
        "benchmark": given.benchmark,
        "data": hashlib.sha256(data).hexdigest(),
        "model": settings.model,
        "topK": given.top_k,
        "maxTokens": given.max_tokens,
    }
    results = Results(given.out, head)
    asked = {line["question"] for line in results.questions}
    wanted = list(left(conversations, asked, given.each))
    count = sum(len(conversation.questions) for conversation in wanted)
    print(f"Questions to {settings.model}: {count:,}; answered before: {len(asked):,}. Estimated:")
    show_costs(estimated(wanted, results.sessions, prompts, given.max_tokens, settings), settings)
    if not given.yes:
        print("Nothing was asked. Begin with --yes.")
        return 0
    failed = 0
    if wanted:
        with unread_logs():
            failed = asyncio.run(_answer(given, wanted, prompts, results))
    print()
    show_accuracy(results)
    print("\nSpent, with runs before:")
    show_costs({step: results.spent(step) for step in STEPS}, settings)
    if failed:
        print(f"Without an answer: {failed:,}. The same command asks these again.")
    return 1 if failed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; return the exit status."""
    parser = argparse.ArgumentParser(description="Answers from memories, judged.")
    parser.add_argument("benchmark", choices=_BENCHMARKS)
    parser.add_argument("data", type=Path, help="the benchmark's published file")
    parser.add_argument("--prompts", type=Path, required=True, help="a checkout that has them")
    parser.add_argument("--out", type=Path, required=True, help="keeps the bank and the results")
    parser.add_argument("--each", type=int, help="at most so many questions of a category")
    parser.add_argument("--top-k", type=int, default=20, help="memories of a search")
    parser.add_argument("--max-tokens", type=int, default=2_000, help="tokens of a search")
    parser.add_argument("--parallel", type=int, default=4, help="conversations at once")
    parser.add_argument("--yes", action="store_true", help="begin, and spend what is estimated")
    given = parser.parse_args(arguments)
    settings = Settings()
    if settings.model is None:
        parser.error("MEMORY_BANK_MODEL must name the model that is to be measured")
    try:
        return _measure(given, settings)
    except (OSError, OtherRunError, UnreadableError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

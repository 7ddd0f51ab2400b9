"""The results of a run, a line of JSON each: a run that is started again continues from them."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.adapters.llm.ports import Usage
from app.platform.usage.logic import cost_of
from app.settings.settings import Settings

Json = dict[str, Any]
STEPS = ("ingestion", "retrieval", "answers", "judgements")
_FILE = "results.jsonl"


class OtherRunError(Exception):
    """The folder has the results of other data, or of another model."""


class Results:
    """The lines of a file: the run, then each session and question when it is done."""

    def __init__(self, folder: Path, run: Json) -> None:
        self._file = folder / _FILE
        self._run = {"run": run}
        self.lines = self._kept()
        if self.lines and self.lines[0] != self._run:
            raise OtherRunError(f"{self._file} is of another run: {self.lines[0]['run']}")

    @property
    def sessions(self) -> set[str]:
        """The sessions that have become memories."""
        return {line["session"] for line in self.lines if "session" in line}

    @property
    def questions(self) -> list[Json]:
        """The questions that were asked."""
        return [line for line in self.lines if "question" in line]

    def add_session(self, name: str, spent: Usage) -> None:
        """Keep that a session has become memories."""
        self._add({"session": name, "ingestion": asdict(spent)})

    def add_question(self, line: Json, spent: Mapping[str, Usage]) -> None:
        """Keep a question with its answer and its judgement."""
        self._add(line | {step: asdict(usage) for step, usage in spent.items()})

    def spent(self, step: str, lines: Sequence[Json] | None = None) -> Usage:
        """Return what a step has cost, in all lines if none are given."""
        told = [line[step] for line in (self.lines if lines is None else lines) if step in line]
        return sum((Usage(**one) for one in told), Usage())

    def _add(self, line: Json) -> None:
        new = [line] if self.lines else [self._run, line]
        self.lines += new
        with self._file.open("a") as file:
            file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in new)

    def _kept(self) -> list[Json]:
        """Return the whole lines, and remove what a process that was killed left of one."""
        if not self._file.exists():
            return []
        text = self._file.read_text()
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self._file.write_text(whole)
        return [json.loads(line) for line in whole.splitlines()]


def show_accuracy(results: Results) -> None:
    """Print how many answers are right, by category, and what one takes on average."""
    categories: dict[str, list[Json]] = defaultdict(list)
    for line in results.questions:
        for category in (*line["categories"], "all"):
            categories[category].append(line)
    categories["all"] = categories.pop("all", [])
    print(f"{'':<28}{'questions':>10}{'right':>8}{'accuracy':>10}{'tokens':>10}{'seconds':>10}")
    for name, lines in categories.items():
        right = sum(line["isRight"] for line in lines)
        answers = results.spent("answers", lines)
        tokens = answers.input_tokens + answers.output_tokens
        seconds = (answers.milliseconds + results.spent("retrieval", lines).milliseconds) / 1_000
        count = max(len(lines), 1)
        print(
            f"{name:<28}{len(lines):>10,}{right:>8,}{right / count:>10.1%}{tokens / count:>10,.0f}"
            f"{seconds / count:>10.1f}"
        )
    print("Tokens and seconds are of an answer, with its search and without its judgement.")


def show_costs(spent: Mapping[str, Usage], settings: Settings) -> None:
    """Print the calls, tokens, seconds and prices of the steps, and of all together."""
    model, currency = settings.model or "", settings.price_currency
    has_price = model in settings.model_prices
    print(f"{'':<28}{'calls':>10}{'input':>14}{'output':>12}{'seconds':>10}", end="")
    print(f"{currency:>10}" if has_price else "")
    for name, usage in (*spent.items(), ("all", sum(spent.values(), Usage()))):
        cost = cost_of(model, usage, settings.model_prices)
        # An estimate has none.
        seconds = f"{usage.milliseconds / 1_000:,.0f}" if usage.milliseconds else ""
        print(
            f"{name:<28}{usage.calls:>10,}{usage.input_tokens:>14,}{usage.output_tokens:>12,}"
            f"{seconds:>10}{'' if cost is None else f'{cost:>10,.2f}'}"
        )
    if not has_price:
        print(f"MEMORY_BANK_MODEL_PRICES has no price of {model}.")

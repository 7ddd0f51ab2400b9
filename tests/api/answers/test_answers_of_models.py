"""`python -m benchmarks.answers` from end to end: ten questions of each benchmark's shape."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.surroundings import data_folder
from tests.support.benchmark_prompts import answering, write_checkout
from tests.support.clusters import fill
from tests.support.commands import module
from tests.support.model_server import Behaviour, ModelServer, status

DATA = Path(__file__).parents[2] / "data" / "answers"
MODEL = "openai:scripted"
Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Bench:
    """The benchmark, with a folder for its bank and results."""

    folder: Path
    server: ModelServer

    def measure(self, benchmark: str, *arguments: str, model: str = MODEL) -> Done:
        checkout = self.folder / benchmark
        if not checkout.exists():
            write_checkout(checkout, benchmark)
        options = ("--prompts", str(checkout), "--out", str(self.folder), *arguments)
        file = str(DATA / f"{benchmark}.json")
        prices = json.dumps({MODEL: {"input": 1_000, "output": 2_000}})
        settings = {"model": model, "model_base_url": self.server.url, "model_prices": prices}
        self.server.always(answering)
        return module("benchmarks.answers", benchmark, file, *options, **settings)

    @property
    def results(self) -> list[dict[str, Any]]:
        text = (self.folder / "results.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]


@contextmanager
def opened(server: ModelServer) -> Iterator[Bench]:
    with data_folder() as folder:
        (folder / "bank").mkdir(mode=0o755)
        fill(folder / "bank")
        yield Bench(folder, server)


@pytest.fixture
def bench(server: ModelServer) -> Iterator[Bench]:
    with opened(server) as found:
        yield found


@pytest.fixture(scope="module")
def finished(running_server: ModelServer) -> Iterator[tuple[Bench, Done]]:
    """A run of LongMemEval, which tests may continue."""
    with opened(running_server) as found:
        yield found, found.measure("longmemeval", "--yes")


def rows(printed: str) -> dict[str, list[str]]:
    """Return the last row of each name."""
    found = (re.split(r"  +", line.strip()) for line in printed.splitlines())
    return {name: values for name, *values in found if values}


def test_answers_and_judgements_of_longmemeval(finished: tuple[Bench, Done]) -> None:
    bench, done = finished
    assert (done.returncode, done.stderr) == (0, ""), done
    accuracy = {name: values[:3] for name, values in rows(done.stdout).items()}
    expected = {
        "single-session-user": ["3", "3", "100.0%"],
        "single-session-preference": ["1", "1", "100.0%"],
        "single-session-assistant": ["1", "0", "0.0%"],
        "multi-session": ["2", "1", "50.0%"],
        "temporal-reasoning": ["1", "1", "100.0%"],
        "knowledge-update": ["2", "2", "100.0%"],
        "abstention": ["1", "1", "100.0%"],
    }
    assert accuracy.items() >= expected.items()
    assert re.search(r"^all +10 +8 +80\.0% ", done.stdout, re.MULTILINE)
    first, *lines = bench.results
    assert first["run"] | {"data": ""} == {
        "benchmark": "longmemeval",
        "data": "",
        "model": MODEL,
        "topK": 20,
        "maxTokens": 2_000,
    }
    sessions = [line for line in lines if "session" in line]
    assert len(sessions) == 15
    assert all(line["ingestion"]["calls"] for line in sessions)
    questions = {line["question"]: line for line in lines if "question" in line}
    assert questions["q6"]["answer"] == "2023-04-02 (Sun): I ran the marathon in Rotterdam."
    assert (questions["q7"]["memories"], questions["q7"]["isRight"]) == (2, True)
    assert {line["answers"]["calls"] for line in questions.values()} == {1}


def test_answers_and_judgements_of_locomo(bench: Bench) -> None:
    done = bench.measure("locomo", "--yes")
    assert (done.returncode, done.stderr) == (0, ""), done
    accuracy = {name: values[:3] for name, values in rows(done.stdout).items()}
    expected = {
        "single-hop": ["4", "4", "100.0%"],
        "temporal": ["3", "2", "66.7%"],
        "multi-hop": ["2", "2", "100.0%"],
        "open-domain": ["1", "0", "0.0%"],
    }
    assert accuracy.items() >= expected.items()
    # Each of the two has memories of what they said themselves.
    (asked,) = {
        str(seen.body["messages"][-1]["content"])
        for seen in bench.server.seen
        if "\nASKED Did Tomas sell" in str(seen.body["messages"][-1]["content"])
        and "OF Ines" in str(seen.body["messages"][-1]["content"])
    }
    ines, _, tomas = asked.partition("OF Tomas")
    assert "2023-05-08 (Mon): I planted tomatoes on the balcony." in ines
    assert "I sold the antique barometer." in tomas
    assert "barometer" not in ines


def test_costs_are_told_before_anything_is_asked(bench: Bench) -> None:
    done = bench.measure("longmemeval")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout.startswith(f"Questions to {MODEL}: 10; answered before: 0. Estimated:\n")
    assert done.stdout.endswith("Nothing was asked. Begin with --yes.\n")
    told = rows(done.stdout)
    assert [told[name][0] for name in ("ingestion", "answers", "judgements", "all")] == [
        *("30", "10", "10", "50"),
    ]
    assert float(told["all"][-1].replace(",", "")) > 0
    assert bench.server.seen == []
    assert not (bench.folder / "results.jsonl").exists()


def test_a_run_that_was_stopped_continues(
    finished: tuple[Bench, Done], server: ModelServer
) -> None:
    bench, _ = finished
    file = bench.folder / "results.jsonl"
    *lines, last = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines, last[: len(last) // 2]]))
    again = bench.measure("longmemeval", "--yes")
    assert "Questions to openai:scripted: 1; answered before: 9." in again.stdout
    assert len(server.seen) == 2
    assert bench.results[-1]["question"] == json.loads(last)["question"]
    assert re.search(r"^all +10 +8 ", again.stdout, re.MULTILINE)
    assert bench.measure("longmemeval", "--yes").returncode == 0
    assert len(server.seen) == 2
    other = bench.measure("longmemeval", "--yes", model="openai:other")
    assert (other.returncode, other.stdout) == (2, "")
    assert "is of another run" in other.stderr


def test_what_fails_is_asked_again(bench: Bench) -> None:
    def judge(body: Any) -> Behaviour | None:
        text = str(body["messages"])
        return status(400) if "Nora live?" in text or "I bake bread" in text else None

    bench.server.judge = judge
    done = bench.measure("longmemeval", "--yes", "--each", "2")
    assert done.returncode == 1, done
    assert "Without an answer: 2. The same command asks these again." in done.stdout
    bench.server.reset()
    done = bench.measure("longmemeval", "--yes")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert re.search(r"^all +10 +8 ", done.stdout, re.MULTILINE)
    read = Counter(line["session"] for line in bench.results if "session" in line)
    assert (len(read), max(read.values())) == (15, 1)

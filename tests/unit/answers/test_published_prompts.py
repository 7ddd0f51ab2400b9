"""Prompts and data of `benchmarks.answers`, as their authors publish them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.answers.__main__ import left, main
from benchmarks.answers.data import Conversation, Question, UnreadableError, locomo, longmemeval
from benchmarks.answers.prompts import Label, Locomo, LongMemEval, Memory, Reply
from tests.support.benchmark_prompts import write_checkout

DATA = Path(__file__).parents[2] / "data" / "answers"
DAY = datetime(2023, 5, 20, 14, 30, tzinfo=UTC)
FOUND = {"Ines": [Memory("I like {{question}}.", DAY), Memory("I ski.", None)], "Tomas": []}


def question(*kinds: str) -> Question:
    return Question("q", kinds, "Who?", "Ines", "2023/06/01 (Thu) 09:00")


def test_longmemeval_is_asked_with_dated_facts(tmp_path: Path) -> None:
    prompts = LongMemEval.read(write_checkout(tmp_path, "longmemeval"))
    assert prompts.asking(question("multi-session"), FOUND) == (
        "FACTS\nI ski.\n2023-05-20 (Sat): I like {{question}}.\n"
        "TODAY 2023/06/01 (Thu) 09:00\nASKED Who?"
    )


@pytest.mark.parametrize(
    ("kinds", "mark"),
    [
        (["single-session-user"], "SAME"),
        (["single-session-assistant"], "SAME"),
        (["multi-session"], "SAME"),
        (["temporal-reasoning"], "DAYS"),
        (["knowledge-update"], "LATEST"),
        (["single-session-preference"], "TASTE"),
        (["knowledge-update", "abstention"], "UNANSWERABLE"),
    ],
)
def test_longmemeval_is_judged_by_the_kind_of_question(
    tmp_path: Path, kinds: list[str], mark: str
) -> None:
    prompts = LongMemEval.read(write_checkout(tmp_path, "longmemeval"))
    judging = prompts.judging(question(*kinds), "Tomas")
    assert judging == f"{mark}\nASKED Who?\nRIGHT Ines\nGIVEN Tomas"


def test_locomo_is_asked_with_the_memories_of_both(tmp_path: Path) -> None:
    prompts = Locomo.read(write_checkout(tmp_path, "locomo"))
    memories = '[\n    "2023-05-20 (Sat): I like {{question}}.",\n    "I ski."\n]'
    assert prompts.asking(question("temporal"), FOUND) == (
        f"\nOF Ines\n{memories}\nOF Tomas\n[]\nASKED Who?"
    )
    judging = prompts.judging(question("temporal"), "Tomas")
    assert judging == "ASKED Who?\nRIGHT Ines\nGIVEN Tomas"


@pytest.mark.parametrize(
    ("label", "verdict"),
    [
        ("CORRECT", "right"),
        ("Both name her. CORRECT.", "right"),
        ("WRONG", "wrong"),
        ("INCORRECT", "wrong"),
        ("CORRECT is another. WRONG", "wrong"),
    ],
)
def test_labels(tmp_path: Path, label: str, verdict: str) -> None:
    prompts = Locomo.read(write_checkout(tmp_path, "locomo"))
    assert prompts.is_right(Label.of_prose(label)) == (verdict == "right")


def test_yes_and_no(tmp_path: Path) -> None:
    prompts = LongMemEval.read(write_checkout(tmp_path, "longmemeval"))
    assert prompts.is_right(Reply.of_prose("Yes."))
    assert not prompts.is_right(Reply.of_prose("no"))


@pytest.mark.parametrize("prompts", [LongMemEval, Locomo])
def test_a_folder_without_the_files_is_refused(
    tmp_path: Path, prompts: type[LongMemEval | Locomo]
) -> None:
    with pytest.raises(UnreadableError, match="cannot be read"):
        prompts.read(tmp_path)
    files = ["src/generation/run_generation.py", "src/evaluation/evaluate_qa.py"]
    for name in [*files, "evaluation/prompts.py", "evaluation/metrics/llm_judge.py"]:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("template = 1\n")
    with pytest.raises(UnreadableError, match="has other files than"):
        prompts.read(tmp_path)


def test_sessions_are_read_in_the_order_of_their_times() -> None:
    talks = {one.name: one for one in longmemeval((DATA / "longmemeval.json").read_bytes())}
    assert [one.time for one in talks["q7"].sessions] == [
        datetime(2023, 1, 3, 9, tzinfo=UTC),
        datetime(2023, 5, 20, 9, tzinfo=UTC),
    ]
    # An empty turn is none.
    assert [len(one.turns) for one in talks["q3"].sessions] == [2, 1]
    assert talks["q8_abs"].questions[0].categories == ["knowledge-update", "abstention"]


def test_questions_without_an_answer_are_left_out_of_locomo() -> None:
    (talk,) = locomo((DATA / "locomo.json").read_bytes())
    assert len(talk.questions) == 10
    assert talk.people == ["Ines", "Tomas"]
    assert talk.sessions[0].time == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert talk.sessions[0].turns[3].text.endswith("Bolt. [photo: a grey dog on a sofa]")
    assert talk.questions[6].answer == "2019"


@pytest.mark.parametrize("read", [longmemeval, locomo])
@pytest.mark.parametrize("content", ["", "{}x", '[{"question_id": 1}]', "[1]"])
def test_other_files_are_refused(read: Callable[[bytes], list[Conversation]], content: str) -> None:
    with pytest.raises(UnreadableError, match="not as the benchmark publishes it"):
        read(content.encode())


def test_some_questions_of_each_category() -> None:
    talks = longmemeval((DATA / "longmemeval.json").read_bytes())
    chosen = [one.name for talk in left(talks, {"q2"}, 1) for one in talk.questions]
    assert chosen == ["q1", "q3", "q4", "q5", "q6", "q7", "q8_abs"]
    (talk,) = left(locomo((DATA / "locomo.json").read_bytes()), {"talk-1/0"}, 1)
    assert [one.name for one in talk.questions] == ["talk-1/4", "talk-1/7", "talk-1/8"]


def test_a_model_must_be_configured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "data.json"
    file.write_text(json.dumps([]))
    with pytest.raises(SystemExit):
        main(["locomo", str(file), "--prompts", str(tmp_path), "--out", str(tmp_path)])
    assert "MEMORY_BANK_MODEL must name the model" in capsys.readouterr().err

"""Checkouts with prompts in the shape of those that benchmarks publish, and a model for them.

The words are our own. The model answers with the memory that shares most words with the question;
its judge looks for the right answer in the given one.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.literal_model import literal

_KINDS = ("single-session-user", "single-session-assistant", "multi-session")
_JUDGE = '"{mark}\\nASKED {{}}\\nRIGHT {{}}\\nGIVEN {{}}"'
_GENERATION = """
import a_package_that_is_not_installed

def prepare(kind, cot):
    if kind == "plain":
        answer_prompt_template = "{}"
    else:
        if kind == "merge":
            if cot:
                answer_prompt_template = "MERGED {} {} {}"
        elif kind == "replace":
            if cot:
                answer_prompt_template = "FACTS\\n{}\\nTODAY {}\\nASKED {}"
            else:
                answer_prompt_template = "SHORT {} {} {}"
"""
_EVALUATION = f"""
def check(task, abstention=False):
    if not abstention:
        if task in {list(_KINDS)}:
            template = {_JUDGE.format(mark="SAME")}
        elif task == "temporal-reasoning":
            template = {_JUDGE.format(mark="DAYS")}
        elif task == "knowledge-update":
            template = {_JUDGE.format(mark="LATEST")}
        elif task == "single-session-preference":
            template = {_JUDGE.format(mark="TASTE")}
        else:
            raise NotImplementedError
    else:
        template = {_JUDGE.format(mark="UNANSWERABLE")}
    return template
"""
_ANSWERS = '''
ANSWER_PROMPT_OTHER = "OTHER {{question}}"
ANSWER_PROMPT = """
OF {{speaker_1_user_id}}
{{speaker_1_memories}}
OF {{speaker_2_user_id}}
{{speaker_2_memories}}
ASKED {{question}}"""
'''
_LABELS = '''
ACCURACY_PROMPT = """ASKED {question}
RIGHT {gold_answer}
GIVEN {generated_answer}"""
'''
_CHECKOUTS = {
    "longmemeval": {
        "src/generation/run_generation.py": _GENERATION,
        "src/evaluation/evaluate_qa.py": _EVALUATION,
    },
    "locomo": {
        "evaluation/prompts.py": _ANSWERS,
        "evaluation/metrics/llm_judge.py": _LABELS,
    },
}
_JUDGED = re.compile(r"RIGHT (.*)\nGIVEN (.*)", re.DOTALL)
_WORD = re.compile(r"\w{5,}")
_UNKNOWN = "I do not know."


def write_checkout(folder: Path, benchmark: str) -> Path:
    """Write the files of a benchmark's prompts; return their folder."""
    for name, text in _CHECKOUTS[benchmark].items():
        file = folder / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return folder


def answering(request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a request, be it the service's or a benchmark's."""
    text = "\n".join(str(message["content"]) for message in request["messages"])
    if judged := _JUDGED.search(text):
        right, given = judged.groups()
        is_right = given == _UNKNOWN if "UNANSWERABLE" in text else right in given
        is_label = '"label"' in str(request).replace("'", '"')
        yes, no = ("CORRECT", "WRONG") if is_label else ("Yes.", "No.")
        return {"label" if is_label else "answer": yes if is_right else no}
    told, is_asked, question = text.partition("\nASKED ")
    return {"answer": _best(told, question)} if is_asked else literal(request)


def _best(told: str, question: str) -> str:
    """Return the last of the lines that share most words with the question."""
    wanted = set(_words(question))
    shared = {line: len(wanted.intersection(_words(line))) for line in told.splitlines()}
    best = max(reversed(shared), key=lambda line: shared[line])
    return best if shared[best] else _UNKNOWN


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())

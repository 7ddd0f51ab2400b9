"""Contexts of a service without a model: the built-in summariser chooses sentences by weight."""

import httpx

from tests.support.bank import ok
from tests.support.dialogues import Dialogue, verbatim
from tests.support.official import Client

TOLD = [
    ("I booked hotel Bela Vista in Porto for 3 May.", "Good. It has a garden."),
    ("My train to Porto leaves at 08:15.", "I will remind you."),
    ("Nora comes along.", "Nice."),
]


def test_the_built_in_summariser_needs_no_model(
    vertex: Client, http: httpx.Client, engine: str
) -> None:
    policy = {"strategy": "every_n", "summaryTokens": 30}
    talk = Dialogue.begin(vertex, http, engine, policy)
    for asked, answered in TOLD:
        talk.exchange(asked, answered)
    found = talk.settled()
    assert verbatim(found) == []
    (summary,) = talk.summaries()
    assert summary["model"] == "builtin:extractive"
    assert 0 < len(summary["text"]) <= 120
    assert not summary["cut"]
    texts = [text for pair in TOLD for text in pair]
    for line in summary["text"].splitlines():
        assert any(line.partition(": ")[2] in text for text in texts), line
    used = ok(http.get(f"{talk.name}/usage"))
    assert used["models"] == []
    assert used["total"]["callCount"] == 0


def test_a_model_that_is_not_there_is_refused(
    vertex: Client, http: httpx.Client, engine: str
) -> None:
    talk = Dialogue.begin(vertex, http, engine)
    answer = talk.ask(policy={"strategy": "every_n", "summaryModel": "openai:gpt"})
    assert answer.status_code == 400
    assert "policy.summaryModel" in answer.text
    assert "builtin" in answer.text

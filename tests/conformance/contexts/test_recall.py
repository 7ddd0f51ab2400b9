"""H10 and H11: the memory of a session as a tool."""

import httpx

from tests.conformance.contexts.conftest import Begin
from tests.support.bank import Json, ok
from tests.support.dialogues import Dialogue, Stub

TOLD = [
    ("The flight to Lisbon leaves at six.", "Noted. Shall I book a taxi for the morning?"),
    ("No. Our hotel there is called Sol e Mar.", "It has a terrace, and breakfast from seven."),
    ("The violin lesson is on Thursday.", "I have put it into the calendar."),
]
QUERY = "What is the name of the hotel in Lisbon?"


def _told(begin: Begin) -> Dialogue:
    talk = begin()
    for asked, answered in TOLD:
        talk.exchange(asked, answered)
    return talk


def _recall(http: httpx.Client, talk: Dialogue, **body: object) -> Json:
    return ok(http.post(f"{talk.name}:recall", json={"query": QUERY, **body}))


def test_h10_passages_are_found_word_for_word(begin: Begin, http: httpx.Client, stub: Stub) -> None:
    talk = _told(begin)
    texts = {one.name: one.content.parts[0].text for one in talk.stored()}
    found = _recall(http, talk, maxTokens=20)
    assert any("Sol e Mar" in one["text"] for one in found["spans"])
    for one in found["spans"]:
        assert texts[one["event"]][one["startOffset"] : one["endOffset"]] == one["text"]
    assert 0 < found["tokens"] == sum(one["tokens"] for one in found["spans"]) <= 20
    assert stub.calls == []
    recent = _recall(http, talk, excludeRecent=4)
    assert {one["seq"] for one in recent["spans"]} <= {1, 2}
    assert len(_recall(http, talk, topK=1)["spans"]) == 1


def test_h11_a_summary_of_them_tells_what_it_rests_on(
    begin: Begin, http: httpx.Client, stub: Stub
) -> None:
    talk = _told(begin)
    stub.answers = {"text": "It is the Sol e Mar.", "seqs": [3]}
    found = _recall(http, talk, mode="summary", maxTokens=50)
    assert (found["text"], found["seqs"]) == ("It is the Sol e Mar.", [3])
    assert len(stub.calls) == 1
    assert "Sol e Mar" in stub.texts[0]
    stub.answers = {"text": "Sol e Mar. " * 100, "seqs": [3, 999]}
    longer = _recall(http, talk, mode="summary", maxTokens=50)
    assert longer["tokens"] <= 50
    assert longer["seqs"] == [3]
    assert longer["text"].startswith("Sol e Mar.")

"""P1, P2, P7 to P10: what strategies cost, by the published tables and by sound accounting."""

from decimal import Decimal
from typing import Any

import httpx
import pytest

from tests.support.bank import Json, ok

P1 = [
    # Strategy, cap, messages, system tokens; final tokens, cost of the last message, of all.
    ("inclusive", None, 30, 400, 58_500, "0.1178", "1.388"),
    ("abstraction_inclusive", 16, 30, 400, 18_200, "0.0372", "0.56406"),
    ("abstraction_inclusive", 10, 30, 400, 0, "0.0278", "0.41818"),
    ("abstraction_inclusive", 5, 30, 400, 0, "0.0193", "0.31336"),
    ("fully_abstracted", 10, 30, 400, 0, "0.0228", "0.38568"),
    ("inclusive", None, 100, 400, 545_000, "1.0908", "38.46"),
    ("abstraction_inclusive", 51, 100, 400, 149_450, "0.2997", "11.64506"),
    ("abstraction_inclusive", 21, 100, 400, 34_400, "0.0696", "3.61184"),
    ("abstraction_inclusive", 11, 100, 400, 35_400, "0.0716", "2.54228"),
    ("fully_abstracted", 11, 100, 400, 14_400, "0.0296", "1.46078"),
    ("abstraction_inclusive", 11, 1_000, 400, 233_500, "0.4678", "168.1043"),
    ("fully_abstracted", 11, 1_000, 40, 7_400, "0.01488", "9.1416"),
    ("fully_abstracted", 11, 1_000, 400, 11_000, "0.0228", "14.8908"),
]
P2 = [
    # Strategy, cap, messages; tokens, dollars, largest prompt, first over 4,096, saved in percent.
    ("inclusive", None, 30, 58_500, "0.11700", 3_400, None, None),
    ("abstraction_inclusive", 16, 30, 41_480, "0.08296", 2_050, None, "29.1"),
    ("abstraction_inclusive", 10, 30, 39_840, "0.07968", 1_900, None, "31.9"),
    ("abstraction_inclusive", 5, 30, 44_430, "0.08886", 2_150, None, "24.1"),
    ("fully_abstracted", 10, 30, 37_840, "0.07568", 1_650, None, "35.3"),
    ("inclusive", None, 100, 545_000, "1.09000", 10_400, 37, None),
    ("abstraction_inclusive", 51, 100, 312_730, "0.62546", 5_550, 37, "42.6"),
    ("abstraction_inclusive", 21, 100, 203_020, "0.40604", 3_250, None, "62.7"),
    ("abstraction_inclusive", 11, 100, 213_170, "0.42634", 3_500, None, "60.9"),
    ("fully_abstracted", 11, 100, 136_170, "0.27234", 1_750, None, "75.0"),
    ("inclusive", None, 1_000, 50_450_000, "100.90", 100_400, 37, None),
    ("abstraction_inclusive", 11, 1_000, 12_362_450, "24.7249", 23_900, 131, "75.5"),
    ("fully_abstracted", 11, 1_000, 1_393_200, "2.7864", 1_750, None, "97.2"),
]


def _policy(strategy: str, cap: int | None) -> Json:
    return (
        {"strategy": strategy, "framing": False}
        if cap is None
        else {"strategy": strategy, "framing": False, "cap": cap}
    )


def _rows(http: httpx.Client, engine: str, **body: Any) -> list[Json]:
    rows: list[Json] = ok(http.post(f"{engine}/contextCosts:estimate", json=body))["rows"]
    return rows


@pytest.mark.parametrize(("strategy", "cap", "messages", "system", "final", "last", "total"), P1)
def test_p1_the_published_figures(
    http: httpx.Client,
    engine: str,
    *,
    strategy: str,
    cap: int | None,
    messages: int,
    system: int,
    final: int,
    last: str,
    total: str,
) -> None:
    (row,) = _rows(
        http,
        engine,
        accounting="published_tables",
        messages=[messages],
        systemTokens=system,
        strategies=[_policy(strategy, cap)],
    )
    assert (row["finalTokens"], row["lastCost"], row["cost"]) == (final, last, total)


def test_p1_the_answer_says_what_is_wrong_with_them(http: httpx.Client, engine: str) -> None:
    body = {"accounting": "published_tables"}
    answer = ok(http.post(f"{engine}/contextCosts:estimate", json=body))
    assert answer["note"]
    assert "note" not in ok(http.post(f"{engine}/contextCosts:estimate", json={}))


def test_p2_p8_what_is_really_paid_for(http: httpx.Client, engine: str) -> None:
    for strategy, cap, messages, tokens, dollars, largest, over, saved in P2:
        (row,) = _rows(
            http,
            engine,
            messages=[messages],
            contextWindow=4_096,
            strategies=[_policy(strategy, cap)],
        )
        case = (strategy, cap, messages)
        assert row["totalTokens"] == sum(row["billedTokens"].values()) == tokens, case
        assert Decimal(row["cost"]) == Decimal(dollars), case
        assert row["largestPromptTokens"] == largest, case
        assert row.get("firstOverflowMessage") == over, case
        share = row.get("savedVsInclusive")
        percent = None if share is None else str(round(Decimal(share) * 100, 1))
        assert percent == saved, case


def test_p9_another_model_summarises_at_its_own_price(http: httpx.Client, engine: str) -> None:
    models = {
        "large": {"inputPer1k": "0.002", "outputPer1k": "0.002"},
        "small": {"inputPer1k": "0.0001", "outputPer1k": "0.0004"},
    }
    asked = {
        "messages": [30],
        "models": models,
        "model": "large",
        "strategies": [_policy("abstraction_inclusive", 10)],
    }
    (same,) = _rows(http, engine, **asked)
    (other,) = _rows(http, engine, **asked, summaryModel="small")
    assert other["billedTokens"] == same["billedTokens"]
    # 3 calls read 1,030 tokens and write 250; the prompts take 36,000.
    assert same["billedTokens"] == {
        "promptIn": 36_000,
        "promptOut": 0,
        "summaryIn": 3_090,
        "summaryOut": 750,
    }
    assert Decimal(same["cost"]) == Decimal("0.07968")
    assert Decimal(other["cost"]) == Decimal("0.072") + Decimal("0.000309") + Decimal("0.0003")


def test_p10_the_best_cap_is_found(http: httpx.Client, engine: str) -> None:
    strategies = [_policy("abstraction_inclusive", None), _policy("fully_abstracted", None)]
    rows = _rows(http, engine, messages=[30, 100, 1_000], findBestCap=True, strategies=strategies)
    caps = {
        strategy["strategy"]: [
            row["bestCap"]["cap"] for row in rows if row["strategy"] == strategy["strategy"]
        ]
        for strategy in strategies
    }
    assert caps == {"abstraction_inclusive": [11, 18, 51], "fully_abstracted": [4, 3, 3]}

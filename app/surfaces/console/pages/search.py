"""Screen 5: search, with the reasons for the place of each memory."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.responses import Response

from app.kernel.auth import Conditions
from app.kernel.ranking import Ranking
from app.surfaces.console.api import ApiRefusal, Json
from app.surfaces.console.forms import number_of
from app.surfaces.console.pages.memories import Filters
from app.surfaces.console.routing import ENGINE, Route
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, Visit

BOTH = "both"
"""The choice that shows the rankings side by side."""
_NEAR = 1.0
"""Vectors of a smaller distance are nearer than at a right angle, of a cosine above a half."""
_WORD = re.compile(r"\w{3,}")
_BAR = 100.0


@dataclass(frozen=True)
class Asked:
    """A search as the form and the URL have it.

    Attributes:
        scopes: pairs `key=value`.
        locked: those that the key's conditions give; no URL changes them.
        question: what is looked for.
        top_k: the number of memories, as it was typed.
        max_tokens: the limit of tokens, as it was typed.
        ranking: one of the rankings, or both; empty: that of the engine.
    """

    scopes: tuple[str, ...]
    locked: tuple[str, ...]
    question: str
    top_k: str
    max_tokens: str
    ranking: str

    @classmethod
    def of(cls, query: QueryParams, conditions: Conditions) -> "Asked":
        """Read the form of a URL, for a key with these conditions."""
        chosen = Filters.of(query, conditions)
        names = ("question", "topK", "maxTokens", "ranking")
        return cls(chosen.scopes, chosen.locked, *(query.get(name, "").strip() for name in names))

    @property
    def is_whole(self) -> bool:
        """True if there is a scope and a question."""
        return bool(self.question and (self.scopes or self.locked))

    @property
    def rankings(self) -> Sequence[str]:
        """The rankings that are shown, each in its column."""
        return tuple(Ranking) if self.ranking == BOTH else (self.ranking,)

    def without(self, pair: str) -> str:
        """Return the query of a URL without one of the scopes."""
        named = {
            "question": self.question,
            "topK": self.top_k,
            "maxTokens": self.max_tokens,
            "ranking": self.ranking,
        }
        kept = [("scope", kept) for kept in self.scopes if kept != pair]
        return urlencode([*kept, *((name, value) for name, value in named.items() if value)])

    def body(self, ranking: str) -> dict[str, Any]:
        """Return the request of a search."""
        pairs = (pair.partition("=") for pair in (*self.scopes, *self.locked))
        search = {"searchQuery": self.question, **_number("topK", self.top_k)}
        return {
            "scope": {key.strip(): value.strip() for key, _, value in pairs},
            "similaritySearchParams": search,
            "explain": True,
            **_number("maxTokens", self.max_tokens),
            **({"ranking": ranking} if ranking else {}),
        }


def _number(name: str, written: str) -> dict[str, int | str]:
    """Return a field with a number, if one is written."""
    return {name: number_of(written)} if written else {}


@dataclass(frozen=True)
class SignalPart:
    """A part of the bar of signals.

    Attributes:
        name: of the signal, in words.
        value: its contribution to the score.
        start: where it begins, of 100.
        width: how wide it is.
    """

    name: str
    value: float
    start: float
    width: float


async def show(visit: Visit) -> Response:
    """Show the form, and what a question finds."""
    conditions = visit.session.caller.reach.conditions
    asked = Asked.of(visit.request.query_params, conditions)
    columns: list[Json] = []
    faults: dict[str, str] = {}
    if asked.is_whole:
        try:
            columns = list(
                await asyncio.gather(
                    *(_column(visit, asked, ranking) for ranking in asked.rankings)
                )
            )
        except ApiRefusal as refused:
            if refused.status != BAD_REQUEST:
                raise
            faults = refused.fields or {"": refused.message}
    return visit.render(
        "search.html",
        BAD_REQUEST if faults else 200,
        asked=asked,
        conditions=conditions,
        rankings=(*Ranking, BOTH),
        columns=columns,
        faults=faults,
        here=f"{visit.engine_url}/search",
    )


async def _column(visit: Visit, asked: Asked, ranking: str) -> Json:
    """Return the results of a ranking, with reasons."""
    path = f"{visit.engine_path}/memories:retrieve"
    hits = (await visit.api.ask(path, asked.body(ranking)))["retrievedMemories"] or []
    most = max((_extent(hit["explanation"]["signals"] or {}) for hit in hits), default=0.0)
    reasons = [_reasons(hit, asked.question) for hit in hits]
    newest = _newest([hit for hit, words in zip(hits, reasons, strict=True) if words])
    ranked = next((hit["explanation"]["ranking"] for hit in hits), None)
    return Json(
        ranking=ranked or ranking,
        is_without_vectors=any(hit["explanation"]["vectorsUnavailable"] for hit in hits),
        hits=[
            Json(
                memory=hit["memory"],
                distance=hit["distance"],
                why=hit["explanation"],
                reasons=[*words, TEXTS.why_newest] if hit is newest else words,
                signals=_parts(hit["explanation"]["signals"] or {}, most),
            )
            for hit, words in zip(hits, reasons, strict=True)
        ],
    )


def _newest(hits: Sequence[Json]) -> Json | None:
    """Return the newest of several memories, if one is newer than the others."""
    times = sorted(map(_time, hits))
    if len(times) < 2 or times[-1] == times[-2]:
        return None
    return next(hit for hit in hits if _time(hit) == times[-1])


def _time(hit: Json) -> str:
    return str(hit["explanation"]["eventTime"] or hit["memory"]["updateTime"])


def _reasons(hit: Json, question: str) -> list[str]:
    """Return in words why a memory was found."""
    why, reasons = hit["explanation"], []
    fact = _words(hit["memory"]["fact"] or "")
    # The words as the question has them, once each.
    shared = [word for word in dict.fromkeys(_WORD.findall(question)) if word.casefold() in fact]
    if why["lexicalScore"] and shared:
        reasons.append(TEXTS.why_words.format(words=", ".join(shared)))
    elif why["lexicalScore"]:
        reasons.append(TEXTS.why_forms)
    if why["vectorDistance"] is not None and why["vectorDistance"] < _NEAR:
        reasons.append(TEXTS.why_meaning)
    return reasons


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _extent(signals: Mapping[str, float]) -> float:
    return sum(abs(value) for value in signals.values())


def _parts(signals: Mapping[str, float], most: float) -> list[SignalPart]:
    """Return the signals that count, side by side; the longest bar of a column is full."""
    parts: list[SignalPart] = []
    start = 0.0
    for name, value in signals.items():
        width = _BAR * abs(value) / most if most else 0.0
        if round(value, 2):
            label = TEXTS.signals.get(name, name)
            parts.append(SignalPart(label, value, round(start, 2), round(width, 2)))
            start += width
    return parts


ROUTES = (Route(f"{ENGINE}/search", get=show),)

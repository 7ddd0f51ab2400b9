"""Screen 5: search, with the reasons for the rank of each memory."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from app.kernel.ranking import Ranking
from app.surfaces import filters
from app.surfaces.api import ApiFault, Json
from app.surfaces.console.filterrow import SCOPES, FilterField, FilterRow
from app.surfaces.console.forms import number_of
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, ENGINE, Route, Visit

BOTH = "both"
"""The choice that shows the rankings side by side."""
_WORD = re.compile(r"\w{3,}")
_BAR = 100.0
_FARTHEST = 2.0
"""The largest distance of a hit."""
_OTHER_COLOUR = 5
"""The strongest signals have a colour each, all others share the last one."""


_FIELDS = (
    FilterField("question", TEXTS.question),
    FilterField("topK", TEXTS.top_k, kind="number"),
    FilterField("maxTokens", TEXTS.max_tokens, kind="number"),
    FilterField(
        "ranking",
        TEXTS.ranking,
        kind="select",
        options={"": TEXTS.of_engine, **{one: TEXTS.rankings[one] for one in (*Ranking, BOTH)}},
    ),
)


@dataclass(frozen=True)
class SignalPart:
    """A part of the bar of signals; its start and width are in percent."""

    name: str
    value: float
    start: float
    width: float


async def show(visit: Visit) -> Response:
    """Show the form and the results of a question."""
    conditions = visit.session.caller.reach.conditions
    row = FilterRow.of(visit.request.query_params, _FIELDS, (SCOPES,), conditions=conditions)
    asked = row.values["ranking"]
    columns: list[Json] = []
    fault = ""
    if row.values["question"] and row.scope():
        try:
            rankings = tuple(Ranking) if asked == BOTH else (asked,)
            found = (column(visit, _body(row, ranking)) for ranking in rankings)
            columns = list(await asyncio.gather(*found))
        except ApiFault as refused:
            named = (f"{name}: {said}" for name, said in refused.fields.items())
            fault = "; ".join(named) or refused.message
    colours = _colours(columns)
    return visit.render(
        "search.html",
        BAD_REQUEST if fault else 200,
        filters=row,
        columns=columns,
        colours=colours,
        other_colour=_OTHER_COLOUR,
        fault=fault,
    )


def _body(row: FilterRow, ranking: str) -> dict[str, Any]:
    """Return the request of a search; an empty ranking is the engine's own."""
    pairs = map(filters.split_pair, row.scope())
    numbers = {name: {name: number_of(text)} for name, text in row.values.items() if text}
    search = {"searchQuery": row.values["question"], **numbers.get("topK", {})}
    return {
        "scope": {key: value or "" for key, value in pairs},
        "similaritySearchParams": search,
        "explain": True,
        **numbers.get("maxTokens", {}),
        **({"ranking": ranking} if ranking else {}),
    }


async def column(visit: Visit, body: Mapping[str, Any]) -> Json:
    """Return the results of a search, with reasons."""
    path = f"{visit.engine_path}/memories:retrieve"
    hits = (await visit.api.ask(path, body))["retrievedMemories"] or []
    question = body["similaritySearchParams"]["searchQuery"]
    reasons = [_reasons(hit, question) for hit in hits]
    newest = _newest([hit for hit, words in zip(hits, reasons, strict=True) if words])
    ranked = next((hit["explanation"]["ranking"] for hit in hits), None)
    return Json(
        ranking=ranked or body.get("ranking", ""),
        is_without_vectors=any(hit["explanation"]["vectorsUnavailable"] for hit in hits),
        hits=[
            Json(
                memory=hit["memory"],
                distance=hit["distance"],
                why=hit["explanation"],
                reasons=[*words, TEXTS.why_newest] if hit is newest else words,
                signals=_parts(hit),
            )
            for hit, words in zip(hits, reasons, strict=True)
        ],
    )


def _colours(columns: Sequence[Json]) -> dict[str, int]:
    widths: dict[str, float] = {}
    for part in (part for column in columns for hit in column["hits"] for part in hit["signals"]):
        widths[part.name] = widths.get(part.name, 0.0) + part.width
    strongest = sorted(widths, key=lambda name: -widths[name])[:_OTHER_COLOUR]
    return {name: colour for colour, name in enumerate(strongest)}


def _newest(hits: Sequence[Json]) -> Json | None:
    """Return the newest of several memories; None if there is no single newest."""
    times = sorted(map(_time, hits))
    if len(times) < 2 or times[-1] == times[-2]:
        return None
    return next(hit for hit in hits if _time(hit) == times[-1])


def _time(hit: Json) -> str:
    return str(hit["explanation"]["eventTime"] or hit["memory"]["updateTime"])


def _reasons(hit: Json, question: str) -> list[str]:
    why, reasons = hit["explanation"], []
    fact = _words(hit["memory"]["fact"] or "")
    # Words keep the question's spelling; duplicates are removed.
    shared = [word for word in dict.fromkeys(_WORD.findall(question)) if word.casefold() in fact]
    if why["lexicalScore"] and shared:
        reasons.append(TEXTS.why_words.format(words=", ".join(shared)))
    elif why["lexicalScore"]:
        reasons.append(TEXTS.why_forms)
    # Distances of different embedders are not comparable, so no fixed bound works.
    # The signal is positive if a memory is nearer than the average of the ranked ones.
    if round((why["signals"] or {}).get("vector", 0.0), 2) > 0:
        reasons.append(TEXTS.why_meaning)
    return reasons


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _parts(hit: Json) -> list[SignalPart]:
    """Return the visible signals side by side; the nearer a hit is, the longer is its bar."""
    nearness = max(_FARTHEST - (_FARTHEST if hit["distance"] is None else hit["distance"]), 0.0)
    signals: Mapping[str, float] = hit["explanation"]["signals"] or {"nearness": nearness}
    shown = {name: value for name, value in signals.items() if round(value, 2)}
    scale = _BAR * nearness / _FARTHEST / (sum(map(abs, shown.values())) or 1.0)
    parts: list[SignalPart] = []
    start = 0.0
    for name, value in shown.items():
        width = scale * abs(value)
        label = TEXTS.signals.get(name, TEXTS.nearness)
        parts.append(SignalPart(label, value, round(start, 2), round(width, 2)))
        start += width
    return parts


ROUTES = (Route(f"{ENGINE}/search", get=show),)

"""Screen 14: the use of models by day, model and kind of work, with costs and quotas."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.responses import Response

from app.kernel.csv_cells import cell, csv_of
from app.surfaces.api import ApiFault, Json
from app.surfaces.console.charts import StackedBars, stacked
from app.surfaces.console.templating import counted
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, ENGINE, Route, Visit

QUOTAS = {
    "memories": TEXTS.memories,
    "sessions": TEXTS.usage_sessions,
    "events": TEXTS.usage_events,
    "bytes": TEXTS.bytes,
    "artifactBytes": TEXTS.usage_artifact_bytes,
}
"""The quotas of an engine, with their labels."""
DAYS = 30
_SPANS = (7, DAYS, 90, 365)
_BY = {"day": TEXTS.usage_day, "model": TEXTS.model, "kind": TEXTS.usage_kind}
_COUNTS = ("callCount", "inputTokenCount", "outputTokenCount", "modelMilliseconds")
BY_MODEL = (("groupBy", "model"),)
_ROWS = 400
"""Largest number of rows on the page; the download has all rows."""


@dataclass(frozen=True)
class UsageQuery:
    """The span and the grouping from the URL."""

    by: tuple[str, ...]
    start: str
    end: str

    @classmethod
    def of(cls, visit: Visit) -> "UsageQuery":
        """Read the query from a URL; the default span is the last 30 days."""
        query = visit.request.query_params
        asked = set(query.getlist("by"))
        today = visit.now.date()
        return cls(
            by=tuple(name for name in _BY if name in asked) or ("day", "model"),
            start=query.get("start", "").strip() or _before(today, DAYS),
            end=query.get("end", "").strip() or today.isoformat(),
        )

    def of_api(self) -> list[tuple[str, str]]:
        """Return the query in the API's format."""
        named = {"groupBy": ",".join(self.by), "startDay": self.start, "endDay": self.end}
        return list(named.items())

    def of_url(self, **changed: str) -> str:
        """Return the query of a URL, with some fields changed."""
        span = {"start": self.start, "end": self.end, **changed}
        return urlencode([*(("by", name) for name in self.by), *span.items()])

    def days(self) -> list[str]:
        """Return each day of the span, which the API has already validated."""
        first, last = date.fromisoformat(self.start), date.fromisoformat(self.end)
        return [
            date.fromordinal(day).isoformat()
            for day in range(first.toordinal(), last.toordinal() + 1)
        ]


def _before(day: date, days: int) -> str:
    return (day - timedelta(days=days - 1)).isoformat()


def bars_of(lines: Sequence[Json], days: Sequence[str]) -> dict[str, StackedBars]:
    """Return the charts of tokens and money by day, stacked by model, else by kind."""
    tokens, money = [], []
    for line in lines:
        part = line["model"] or line["kind"] or TEXTS.usage_all
        count = line["inputTokenCount"] + line["outputTokenCount"]
        tokens.append((line["day"], part, count))
        if line["knownCost"] and line["knownCost"]["amount"]:
            money.append((line["day"], part, line["knownCost"]["amount"]))
    charts = {}
    if tokens:
        charts["tokens"] = stacked(TEXTS.usage_tokens, days, tokens)
    if money:
        currency = next(line["knownCost"]["currency"] for line in lines if line["knownCost"])
        title = TEXTS.usage_money.format(currency=currency)
        charts["money"] = stacked(title, days, money)
    return charts


class CostChange(NamedTuple):
    """A change against the days before, in short and in whole; empty: nothing to compare."""

    short: str = ""
    whole: str = ""


def change_of(found: Json | None, days: int) -> CostChange:
    """Describe the change of the cost against the days before; without prices, of the tokens."""
    if found is None:
        return CostChange()
    now, before = found["total"], found["previousTotal"]
    words, amounts = TEXTS.usage_change_tokens, (_tokens(now), _tokens(before))
    if now["cost"] and before["cost"]:
        words, amounts = TEXTS.usage_change, (now["cost"]["amount"], before["cost"]["amount"])
    if not amounts[1]:
        return CostChange()
    change = round(100 * (amounts[0] / amounts[1] - 1))
    short = words.format(change=f"{change:+,} %".replace("-", "\N{MINUS SIGN}"))
    return CostChange(short, counted(TEXTS.usage_against, days, change=short))


async def show(visit: Visit) -> Response:
    """Show the use of models in a span of days."""
    asked = UsageQuery.of(visit)
    answer, fault = Json(), ""
    try:
        answer = await visit.api.get(f"{visit.engine_path}:usage", asked.of_api())
    except ApiFault as refused:
        fault = "; ".join(refused.fields.values()) or refused.message
    lines: list[Json] = answer["usage"] or []
    has_days = "day" in asked.by
    today = visit.now.date()
    return visit.render(
        "usage.html",
        BAD_REQUEST if fault else 200,
        asked=asked,
        groupings=_BY,
        headings=[_BY[name] for name in asked.by],
        spans=[
            (days, asked.of_url(start=_before(today, days), end=today.isoformat()))
            for days in _SPANS
        ],
        fault=fault,
        lines=lines[::-1][:_ROWS],
        is_cut=len(lines) > _ROWS,
        change=change_of(answer if lines else None, len(asked.days()) if lines else 0),
        most=max((_tokens(line) for line in lines), default=0),
        charts=bars_of(lines, asked.days()) if has_days and lines else {},
        found=answer,
        quotas=QUOTAS,
    )


def _tokens(line: Json) -> int:
    return int(line["inputTokenCount"] + line["outputTokenCount"])


async def download(visit: Visit) -> Response:
    """Send the usage as CSV for spreadsheets."""
    asked = UsageQuery.of(visit)
    answer = await visit.api.get(f"{visit.engine_path}:usage", asked.of_api())
    headings = [*asked.by, *_COUNTS, "cost", "currency", "knownCost", "unpricedCallCount"]
    table: list[list[object]] = [[*headings]]
    for line in answer["usage"]:
        cost, known = (line[name] or Json() for name in ("cost", "knownCost"))
        unpriced = line["unpricedCallCount"]
        named = [cell(line[name]) for name in asked.by]
        counts = [line[name] for name in _COUNTS]
        money = [cost["amount"], known["currency"], known["amount"], unpriced]
        table.append([*named, *counts, *money])
    return Response(
        csv_of(table),
        media_type="text/csv",
        headers={"Content-Disposition": 'attachment; filename="usage.csv"'},
    )


ROUTES = (
    Route(f"{ENGINE}/usage", get=show),
    Route(f"{ENGINE}/usage.csv", get=download),
)

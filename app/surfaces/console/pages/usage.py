"""Screen 14: the use of models by day, model and kind of work, with costs and quotas."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from io import StringIO
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.responses import Response

from app.surfaces.api import ApiRefusal, Json
from app.surfaces.console.templating import number, plain
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
_ROWS = 400
"""Largest number of rows on the page; the download has all rows."""
_FORMULA = ("=", "+", "-", "@")
"""First characters that make a spreadsheet treat a cell as a formula."""
MAX_BARS = 53
"""The weeks of a year; with more labels, several labels share a bar."""
MAX_PARTS = 6
"""Number of distinguishable colours; the smallest parts share the last one."""
_WIDTH, _HEIGHT = 720.0, 220.0
_LEFT, _TOP, _BOTTOM = 90.0, 10.0, 24.0
_PLOT_WIDTH, _PLOT_HEIGHT = _WIDTH - _LEFT, _HEIGHT - _TOP - _BOTTOM
_FILLED = 0.8
_WIDEST = 40.0


@dataclass(frozen=True)
class StackedBars:
    """Bars in order, each a stack of the same parts; the title has the unit.

    Attributes:
        parts: the value of each part in each bar, largest part first.
    """

    title: str
    labels: Sequence[str]
    parts: Mapping[str, Sequence[float]]

    @property
    def rows(self) -> list[tuple[str, list[float]]]:
        """The label and the values of each bar that is not empty."""
        columns = [[values[at] for values in self.parts.values()] for at in range(len(self.labels))]
        return [
            (label, values)
            for label, values in zip(self.labels, columns, strict=True)
            if any(values)
        ]

    def svg(self, name: str) -> Markup:
        """Return the picture; `name` is the prefix of the ids in it."""
        tops = [sum(values) for _, values in self.rows]
        highest = number(max(tops, default=0))
        told = TEXTS.chart_bars.format(
            first=self.labels[0] if self.labels else "",
            last=self.labels[-1] if self.labels else "",
            highest=highest,
        )
        return Markup(
            '<svg class="chart" role="img" viewBox="0 0 {width:.0f} {height:.0f}"'
            ' aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">{title}</title>'
            '<desc id="{name}-desc">{told}</desc>{axes}{bars}</svg>'
        ).format(
            width=_WIDTH,
            height=_HEIGHT,
            name=name,
            title=plain(self.title),
            told=plain(told),
            axes=self._axes(highest),
            bars=Markup("").join(self._rectangles()),
        )

    def _axes(self, highest: str) -> Markup:
        bottom = _TOP + _PLOT_HEIGHT
        return Markup(
            '<line x1="{left}" x2="{right}" y1="{bottom}" y2="{bottom}"/>'
            '<text x="{beside}" y="{below_top}" text-anchor="end">{highest}</text>'
            '<text x="{beside}" y="{bottom}" text-anchor="end">0</text>'
            '<text x="{left}" y="{under}">{first}</text>'
            '<text x="{right}" y="{under}" text-anchor="end">{last}</text>'
        ).format(
            left=_LEFT,
            right=_WIDTH,
            bottom=bottom,
            beside=_LEFT - 6,
            below_top=_TOP + 8,
            under=_HEIGHT - 6,
            highest=highest,
            first=plain(self.labels[0]) if self.labels else "",
            last=plain(self.labels[-1]) if len(self.labels) > 1 else "",
        )

    def _rectangles(self) -> Iterable[Markup]:
        # Values are scaled to the largest one, because their sums could overflow.
        largest = max((max(values, default=0) for values in self.parts.values()), default=0)
        if largest <= 0:
            return
        shares = {
            name: [_share(value, largest) for value in self.parts[name]] for name in self.parts
        }
        highest = max(map(sum, zip(*shares.values(), strict=True)))
        slot = _PLOT_WIDTH / len(self.labels)
        width = min(slot * _FILLED, _WIDEST)
        for at, label in enumerate(self.labels):
            bottom = _TOP + _PLOT_HEIGHT
            for order, (name, of_bar) in enumerate(shares.items()):
                height = of_bar[at] / highest * _PLOT_HEIGHT
                if height <= 0:
                    continue
                bottom -= height
                yield Markup(
                    '<rect class="part-{order}" x="{x:.2f}" y="{y:.2f}" width="{width:.2f}"'
                    ' height="{height:.2f}"><title>{told}</title></rect>'
                ).format(
                    order=order,
                    x=_LEFT + slot * at + (slot - width) / 2,
                    y=max(bottom, 0.0),
                    width=width,
                    height=height,
                    told=plain(f"{label}, {name}: {number(self.parts[name][at])}"),
                )


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
        if line["cost"]:
            money.append((line["day"], part, line["cost"]["amount"]))
    charts = {}
    if tokens:
        charts["tokens"] = stacked(TEXTS.usage_tokens, days, tokens)
    if money:
        currency = next(line["cost"]["currency"] for line in lines if line["cost"])
        charts["money"] = stacked(TEXTS.usage_money.format(currency=currency), days, money)
    return charts


async def show(visit: Visit) -> Response:
    """Show the use of models in a span of days."""
    asked = UsageQuery.of(visit)
    answer, fault = Json(), ""
    try:
        answer = await visit.api.get(f"{visit.engine_path}:usage", asked.of_api())
    except ApiRefusal as refused:
        if refused.status != BAD_REQUEST:
            raise
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
        lacks_prices=any(line["cost"] is None for line in lines),
        most=max((_tokens(line) for line in lines), default=0),
        charts=bars_of(lines, asked.days()) if has_days and lines else {},
        found=answer,
        quotas=QUOTAS,
        here=f"{visit.engine_url}/usage",
    )


def _tokens(line: Json) -> int:
    return int(line["inputTokenCount"] + line["outputTokenCount"])


async def download(visit: Visit) -> Response:
    """Send the usage as CSV for spreadsheets."""
    asked = UsageQuery.of(visit)
    answer = await visit.api.get(f"{visit.engine_path}:usage", asked.of_api())
    text = StringIO()
    table = csv.writer(text)
    table.writerow([*asked.by, *_COUNTS, "cost", "currency"])
    for line in answer["usage"]:
        cost = line["cost"] or Json()
        named = [_cell(line[name]) for name in asked.by]
        counts = [line[name] for name in _COUNTS]
        table.writerow([*named, *counts, cost["amount"], cost["currency"]])
    return Response(
        text.getvalue(),
        media_type="text/csv",
        headers={"Content-Disposition": 'attachment; filename="usage.csv"'},
    )


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


ROUTES = (
    Route(f"{ENGINE}/usage", get=show),
    Route(f"{ENGINE}/usage.csv", get=download),
)


def _share(value: float, largest: float) -> float:
    return max(value / largest, 0.0)


def stacked(
    title: str, labels: Sequence[str], values: Iterable[tuple[str, str, float]]
) -> StackedBars:
    """Return bars of values by label and part; values with the same label and part are summed."""
    step = max(1, -(-len(labels) // MAX_BARS))
    bar_of = {label: at // step for at, label in enumerate(labels)}
    bundles = [labels[at : at + step] for at in range(0, len(labels), step)]
    sums: dict[str, list[float]] = {}
    for label, part, value in values:
        sums.setdefault(part, [0] * len(bundles))[bar_of[label]] += value
    by_size = sorted(sums, key=lambda part: (-sum(sums[part]), part))
    kept = by_size if len(by_size) <= MAX_PARTS else by_size[: MAX_PARTS - 1]
    parts = {part: sums[part] for part in kept}
    if rest := by_size[len(kept) :]:
        others = zip(*(sums[part] for part in rest), strict=True)
        name = TEXTS.chart_others.format(count=len(rest))
        while name in parts:
            name += "…"
        parts[name] = [sum(column) for column in others]
    names = [
        bundle[0] if len(bundle) == 1 else f"{bundle[0]} to {bundle[-1]}" for bundle in bundles
    ]
    return StackedBars(title, names, parts)

"""Stacked bar charts as SVG, with the numbers for the table below (pure)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.surfaces.console.templating import number, plain
from app.surfaces.console.texts import TEXTS

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
    """Bars in order, each a stack of the same parts.

    Attributes:
        title: the title, with the unit.
        labels: the labels of the bars.
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

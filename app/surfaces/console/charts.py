"""Charts as shapes: the page writes the words and the numbers around them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, log10

from markupsafe import Markup

from app.surfaces.console.templating import number, plain
from app.surfaces.console.texts import TEXTS

MAX_BARS = 53
"""The weeks of a year; with more labels, several labels share a bar."""
MAX_PARTS = 6
"""Number of distinguishable colours; the smallest parts share the last one."""
WIDTH, HEIGHT = 600.0, 160.0
_SPARK_WIDTH, _SPARK_HEIGHT, _SPARK_FILLED = 120.0, 32.0, 0.94
_FILLED = 0.72
_WIDEST = 40.0
_RULES = 4
_ROUND = (1, 2, 2.5, 5, 10)
"""The steps between two rules, as multiples of a power of ten."""
_NOTHING = 1e-12
"""Bars that are not higher than this are not drawn."""
_ENDS = 4


@dataclass(frozen=True)
class StackedBars:
    """Bars in order, each a stack of the same parts, largest first; the title has the unit."""

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

    @property
    def sum(self) -> float:
        """The sum of all bars."""
        return sum(map(sum, self.parts.values()))

    @property
    def steps(self) -> list[float]:
        """The numbers beside the rules, from the top down."""
        step = self._step
        return [step * at for at in range(_RULES, -1, -1)]

    @property
    def ends(self) -> Sequence[str]:
        """Some labels below the bars, the first and the last among them."""
        last = len(self.labels) - 1
        if last < _ENDS:
            return self.labels
        return [self.labels[round(last * at / (_ENDS - 1))] for at in range(_ENDS)]

    @cached_property
    def _tops(self) -> list[float]:
        of_bars = zip(*self.parts.values(), strict=True)
        return [sum(max(value, 0) for value in values) for values in of_bars]

    @cached_property
    def _step(self) -> float:
        wanted = max(self._tops, default=0) / _RULES
        if wanted <= _NOTHING:
            return 0
        power = 10.0 ** floor(log10(wanted))
        step = next(power * times for times in _ROUND if power * times >= wanted * (1 - _NOTHING))
        return int(step) if step >= 1 and step == int(step) else step

    def svg(self, name: str) -> Markup:
        """Return the bars and the rules; `name` is the name of the card around them."""
        told = TEXTS.chart_bars.format(
            first=self.labels[0] if self.labels else "",
            last=self.labels[-1] if self.labels else "",
            highest=number(max(self._tops, default=0)),
        )
        lines = (
            Markup('<line class="rule" x1="0" x2="{w}" y1="{y}" y2="{y}"/>').format(
                w=WIDTH, y=HEIGHT * at / _RULES
            )
            for at in range(_RULES + 1)
        )
        return Markup(
            '<svg viewBox="0 0 {w:.0f} {h:.0f}" preserveAspectRatio="none" role="img"'
            ' aria-labelledby="{name}-title {name}-told"><desc id="{name}-told">{told}</desc>'
            "{lines}{bars}</svg>"
        ).format(
            w=WIDTH,
            h=HEIGHT,
            name=name,
            told=plain(told),
            lines=Markup("").join(lines),
            bars=Markup("").join(self._rectangles()),
        )

    def _rectangles(self) -> Iterable[Markup]:
        top = self._step * _RULES
        if not top:
            return
        slot = WIDTH / len(self.labels)
        width = min(slot * _FILLED, _WIDEST)
        for at, label in enumerate(self.labels):
            bottom = HEIGHT
            for order, (name, values) in enumerate(self.parts.items()):
                height = values[at] / top * HEIGHT
                if height <= 0:
                    continue
                bottom -= height
                yield Markup(
                    '<rect class="part-{order}" x="{x:.2f}" y="{y:.2f}" width="{width:.2f}"'
                    ' height="{height:.2f}"><title>{told}</title></rect>'
                ).format(
                    order=order,
                    x=slot * at + (slot - width) / 2,
                    y=max(bottom, 0.0),
                    width=width,
                    height=height,
                    told=plain(f"{label}, {name}: {number(values[at])}"),
                )

    def spark(self) -> Markup:
        """Return the sums of the bars as a line from zero, to stand beside their number."""
        highest = max(self._tops, default=0)
        if highest <= _NOTHING:
            return Markup("")
        across = _SPARK_WIDTH / max(len(self._tops) - 1, 1)
        heights = (_SPARK_FILLED * _SPARK_HEIGHT * top / highest for top in self._tops)
        points = " L".join(
            f"{across * at:.1f} {_SPARK_HEIGHT - height:.1f}" for at, height in enumerate(heights)
        )
        return Markup(
            '<svg class="spark" viewBox="0 0 {w:.0f} {h:.0f}" preserveAspectRatio="none" role="img"'
            ' aria-label="{title}"><path class="area" d="M{points} L{w:.0f} {h:.0f} L0 {h:.0f} Z"/>'
            '<path class="stroke" d="M{points}"/></svg>'
        ).format(w=_SPARK_WIDTH, h=_SPARK_HEIGHT, title=plain(self.title), points=points)


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

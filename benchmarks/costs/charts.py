"""Charts of the costs of strategies, in characters and as SVG (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from string import ascii_lowercase
from xml.sax.saxutils import escape

COLUMNS = 64
"""Number of points in a character chart."""
_LINES = 16
_WIDTH, _HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 24, 48, 56
_LEGEND_LINE = 20
_TICKS = 6
# Distinguishable for colour-blind readers; from the eighth on, lines are dashed.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_SEVERAL = "*"


@dataclass(frozen=True)
class ChartLine:
    """Costs of one strategy: ascending numbers of messages, with their costs."""

    label: str
    points: Sequence[tuple[int, float]]


def in_characters(lines: Sequence[ChartLine]) -> str:
    """Return a character chart with a letter for each line; all have the same message numbers."""
    top = _highest(lines)
    last = lines[0].points[-1][0]
    rows = [[" "] * COLUMNS for _ in range(_LINES)]
    for letter, line in zip(ascii_lowercase, lines, strict=False):
        for messages, cost in line.points:
            column = _place(messages - 1, last - 1, COLUMNS)
            row = rows[_LINES - 1 - _place(cost, top, _LINES)]
            row[column] = letter if row[column] in {" ", letter} else _SEVERAL
    marks = {0: _short(top), _LINES // 2: _short(top * (_LINES - 1 - _LINES // 2) / (_LINES - 1))}
    marks[_LINES - 1] = "0"
    width = max(len(mark) for mark in marks.values())
    drawn = [
        f"{marks.get(number, ''):>{width}} |{''.join(row)}".rstrip()
        for number, row in enumerate(rows)
    ]
    foot = f"{'':>{width}} +{'-' * COLUMNS}"
    axis = f"{'':>{width}}  1{f'{last:,} messages':>{COLUMNS - 1}}"
    legend = [
        f"{letter}  {line.label}" for letter, line in zip(ascii_lowercase, lines, strict=False)
    ]
    if any(_SEVERAL in row for row in rows):
        legend.append(f"{_SEVERAL}  several")
    return "\n".join(["Cost by messages", *drawn, foot, axis, *legend])


def as_svg(lines: Sequence[ChartLine], title: str) -> str:
    """Return the lines as a complete SVG document."""
    height = _HEIGHT + _LEGEND_LINE * len(lines)
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    look = 'role="img" font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {look}>',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        _text(_LEFT, 24, title, extra=' font-size="16"'),
        *_axes(lines),
    ]
    for number, line in enumerate(lines):
        parts += _drawn(number, line, lines)
    return "\n".join([*parts, "</svg>"]) + "\n"


def ticks(top: float) -> list[float]:
    """Return a few round numbers from 0 up to the first one not below `top`."""
    if top <= 0:
        return [0.0, 1.0]
    unit = 10.0 ** floor(log10(top / _TICKS))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor * _TICKS >= top)
    return [step * number for number in range(ceil(top / step) + 1)]


def _axes(lines: Sequence[ChartLine]) -> Iterator[str]:
    costs, counts = ticks(_highest(lines)), ticks(float(lines[0].points[-1][0]))
    for cost in costs:
        y = _y(cost, costs[-1])
        yield f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#dddddd"/>'
        yield _text(_LEFT - 8, y + 4, _short(cost), extra=' text-anchor="end"')
    for count in counts:
        x = _x(count, counts[-1])
        yield f'<path d="M{x:.1f} {_HEIGHT - _BOTTOM}v5" stroke="#000000"/>'
        yield _text(x, _HEIGHT - _BOTTOM + 20, f"{count:,.0f}", extra=' text-anchor="middle"')
    yield (
        f'<path d="M{_LEFT} {_TOP}V{_HEIGHT - _BOTTOM}H{_WIDTH - _RIGHT}" fill="none"'
        ' stroke="#000000"/>'
    )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    yield _text(middle, _HEIGHT - _BOTTOM + 40, "messages", extra=' text-anchor="middle"')
    turned = f' text-anchor="middle" transform="rotate(-90 16 {_HEIGHT / 2:.0f})"'
    yield _text(16, _HEIGHT / 2, "cost", extra=turned)


def _drawn(number: int, line: ChartLine, lines: Sequence[ChartLine]) -> Iterator[str]:
    highest, last = ticks(_highest(lines))[-1], ticks(float(line.points[-1][0]))[-1]
    at = " ".join(f"{_x(x, last):.1f},{_y(y, highest):.1f}" for x, y in line.points)
    dashes = ' stroke-dasharray="6 3"' if number >= len(_COLOURS) else ""
    look = f'stroke="{_COLOURS[number % len(_COLOURS)]}" stroke-width="2"{dashes}'
    yield f'<polyline points="{at}" fill="none" {look}/>'
    y = _HEIGHT + _LEGEND_LINE * number
    yield f'<path d="M{_LEFT} {y}h28" {look}/>'
    yield _text(_LEFT + 36, y + 4, line.label)


def _text(x: float, y: float, text: str, extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{extra}>{escape(text)}</text>'


def _x(messages: float, last: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * messages / last


def _y(cost: float, highest: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * cost / highest


def _highest(lines: Sequence[ChartLine]) -> float:
    return max(cost for line in lines for _, cost in line.points)


def _place(value: float, top: float, places: int) -> int:
    return round(value / top * (places - 1)) if top else 0


def _short(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 1_000 else f"{amount:.3g}"

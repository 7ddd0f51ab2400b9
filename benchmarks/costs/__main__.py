"""Costs of contexts by messages, drawn: `python -m benchmarks.costs [REQUEST] [--svg FILE]`.

REQUEST is a body of `contextCosts:estimate` as JSON; the chart ends at its longest session.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from app.conversation.costs.schemas import EstimateContextCostsRequest
from app.conversation.costs.service import estimate, label
from app.kernel.errors import InvalidArgument
from benchmarks.costs.charts import COLUMNS, ChartLine, as_svg, in_characters

_SVG_POINTS = 240


def lines_of(request: EstimateContextCostsRequest, count: int) -> Sequence[ChartLine]:
    """Return the costs of the strategies at `count` lengths, up to the longest requested."""
    longest = max(request.messages)
    ends = sorted({1 + round(place * (longest - 1) / (count - 1)) for place in range(count)})
    # The limit of a request's lengths bounds the work of a server, not of a chart.
    rows = estimate(request.model_copy(update={"messages": ends, "find_best_cap": False})).rows
    strategies = len(rows) // len(ends)
    return [
        ChartLine(
            label(rows[place].policy),
            [(row.messages, float(row.cost)) for row in rows[place::strategies]],
        )
        for place in range(strategies)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the chart, or write it as SVG."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs")
    parser.add_argument("request", nargs="?", default="{}", help="A body as JSON.")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="Draw into this file instead.")
    options = parser.parse_args(arguments)
    try:
        request = EstimateContextCostsRequest.model_validate_json(options.request)
        if options.svg is None:
            print(in_characters(lines_of(request, COLUMNS)))
            return
        drawn = as_svg(lines_of(request, _SVG_POINTS), "What contexts cost by strategy")
        options.svg.write_text(drawn, encoding="utf-8")
    except (ValidationError, InvalidArgument, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

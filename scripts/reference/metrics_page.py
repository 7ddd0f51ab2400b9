"""The page of metrics, from the registry that serves them."""

import importlib
import pkgutil

from prometheus_client import REGISTRY

import app
from scripts.reference.markdown import code, codes, page, table

_PREFIX = "memory_bank_"
_INTRODUCTION = """\
`GET /metrics` returns these metrics in the text format of Prometheus, for keys with the permission
`metrics.get`. `MEMORY_BANK_METRICS_PORT` serves them on a port of its own, without a key. Labels
name routes and kinds, never resources.

Each process has its own metrics; metrics that are read from the database are the same in all
processes. With several processes of `serve`, the port of the API adds them up, and gauges have the
label `process`. The standard metrics of Python and of the process (`python_...`, `process_...`) are
served, too.
"""


def metrics_page() -> str:
    """Return the page of metrics."""
    for module in pkgutil.walk_packages(app.__path__, "app."):
        importlib.import_module(module.name)
    rows = []
    for metric in REGISTRY.collect():
        if metric.name.startswith(_PREFIX):
            name = metric.name + ("_total" if metric.type == "counter" else "")
            rows.append(
                (code(name), metric.type, codes(_labels(metric.name)), metric.documentation)
            )
    return page(
        "Metrics", _INTRODUCTION, table(("Metric", "Type", "Labels", "Meaning"), sorted(rows))
    )


def _labels(name: str) -> tuple[str, ...]:
    # The client has no public way to read the labels of a metric without samples.
    collector = REGISTRY._names_to_collectors[name]  # noqa: SLF001
    return tuple(getattr(collector, "_labelnames", ()))

"""The alerts and the dashboard: every metric they name is served, and every one served is named."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
from ruamel.yaml import YAML

from tests.packaging.checkout import scratch_folder
from tests.support.documents import DOCS
from tests.support.live import KEY, free_port, live_server
from tests.support.workers import own_database, worker

_FOLDER = DOCS / "operations"
_TYPED = re.compile(r"^# TYPE (\w+) (\w+)$", re.MULTILINE)
_NAME = re.compile(r"(?<![\w$.])[a-zA-Z_:][\w:]*(?!\w)(?!\s*\()")
_NO_METRICS = re.compile(r'\{[^}]*\}|\[[^]]*\]|\b(?:by|without|ignoring|on)\s*\([^)]*\)|"[^"]*"')
"""Labels, ranges and groups of an expression, in which no metric is named."""
_OF_PROMETHEUS = {"up"}
_UNUSED = {"memory_bank_model_mode"}
"""Metrics for those who look into one model."""
_OPERATORS = {"by", "without", "ignoring", "on", "and", "or", "unless", "bool", "offset"}


def _rules() -> list[dict[str, Any]]:
    groups = YAML(typ="safe").load(_FOLDER / "alerts.yaml")["groups"]
    return [rule for group in groups for rule in group["rules"]]


def _expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in _rules())
    dashboard = json.loads((_FOLDER / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def _named(expression: str) -> set[str]:
    """Return the metrics of an expression."""
    return set(_NAME.findall(_NO_METRICS.sub(" ", expression))) - _OPERATORS - _OF_PROMETHEUS


def _series(scrape: str) -> dict[str, str]:
    """Return the names of series that a scrape can have, with the metric that each belongs to."""
    suffixes = {"histogram": ("_count", "_sum", "_bucket")}
    return {
        name + suffix: name
        for name, kind in _TYPED.findall(scrape)
        if not name.endswith("_created")
        for suffix in suffixes.get(kind, ("",))
    }


def test_metrics_of_an_expression_are_found() -> None:
    expression = 'sum by (a) (rate(x_total{b="c d"}[5m])) / ignoring (le) y_bucket > 0.5 and z'
    assert _named(expression) == {"x_total", "y_bucket", "z"}


def _scrape(url: str, **headers: str) -> str:
    """Return the metrics of a process, once it listens."""
    retrying = httpx.HTTPTransport(retries=10)
    with httpx.Client(transport=retrying, headers=headers) as client:
        answer = client.get(f"{url}/metrics")
    assert answer.status_code == 200
    return answer.text


def test_alerts_and_dashboard_name_the_metrics_that_server_and_worker_serve() -> None:
    port = free_port()
    with (
        scratch_folder() as folder,
        own_database(folder) as url,
        live_server(folder, MEMORY_BANK_DATABASE_URL=url) as server,
        worker(url, worker_port=port),
    ):
        scrapes = {
            "api": _scrape(server.url, **{"x-goog-api-key": KEY}),
            "worker": _scrape(f"http://127.0.0.1:{port}"),
        }
    served = _series(scrapes["api"])
    assert _series(scrapes["worker"]) == served
    for kind, scrape in scrapes.items():
        release = re.search(r"^memory_bank_build_info\{(.*)\} 1.0$", scrape, re.MULTILINE)
        assert release is not None
        assert f'kind="{kind}"' in release[1]
    named = set().union(*map(_named, _expressions()))
    assert len(named) > 40
    assert named - served.keys() == set()
    ours = {metric for metric in served.values() if metric.startswith("memory_bank_")}
    assert ours - {served[name] for name in named} == _UNUSED


def test_every_alert_has_its_row_in_the_page_of_alerts() -> None:
    page = (_FOLDER / "alerts.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert rows == [rule["alert"] for rule in _rules()]

"""The alerts and the dashboard: every metric they name is served, and every one served is named."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
from ruamel.yaml import YAML

from tests.packaging.checkout import scratch_folder
from tests.support.documents import DOCS, ROOT
from tests.support.live import KEY, free_port, live_server
from tests.support.workers import own_database, worker

_FOLDER = DOCS / "operations"
_TYPED = re.compile(r"^# TYPE (\w+) (\w+)$", re.MULTILINE)
_NAME = re.compile(r"(?<![\w$.])[a-zA-Z_:][\w:]*(?!\w)(?!\s*\()")
_NO_METRICS = re.compile(r'\{[^}]*\}|\[[^]]*\]|\b(?:by|without|ignoring|on)\s*\([^)]*\)|"[^"]*"')
"""Labels, ranges and groups of an expression, in which no metric is named."""
_SELECTED = re.compile(r"(\w+)\{([^}]*)\}")
_SELECTOR = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"[^"]*"')
_GROUPED = re.compile(r"\bby\s*\(([^)]*)\)")
_SUFFIX = re.compile(r"_(?:total|bucket|sum|count)$")
_OF_TARGETS = {"job", "instance"}
"""Labels that Prometheus gives every series."""
_OF_PROMETHEUS = {"up"}
_UNUSED = {"memory_bank_model_mode", "memory_bank_model_entries_total"}
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


def _in_order(expression: str) -> list[str]:
    """Return the metrics of an expression, with those of Prometheus."""
    names = _NAME.findall(_NO_METRICS.sub(" ", expression))
    return [name for name in names if name not in _OPERATORS]


def _named(expression: str) -> set[str]:
    """Return the metrics of an expression."""
    return set(_in_order(expression)) - _OF_PROMETHEUS


def _labels_used(expression: str) -> Iterator[tuple[str, str]]:
    """Yield each label that an expression selects or groups by, with its metric."""
    for metric, selectors in _SELECTED.findall(expression):
        yield from ((metric, label) for label in _SELECTOR.findall(selectors))
    for group in _GROUPED.finditer(expression):
        metric = _in_order(expression[group.end() :])[0]
        yield from ((metric, label) for label in re.findall(r"\w+", group[1]))


def _declared() -> dict[str, set[str]]:
    """Return the labels of each metric that the code declares; a family may have no series yet."""
    found: dict[str, set[str]] = {}
    texts = (path.read_text() for path in (ROOT / "app").rglob("*.py"))
    for text in (text for text in texts if "from prometheus_client import" in text):
        for call in ast.walk(ast.parse(text)):
            match call:
                # A metric that all processes tell alike is made by `of_all`, with its kind first.
                case (
                    ast.Call(args=[ast.Constant(value=str(name)), _, *more])
                    | ast.Call(args=[ast.Name(), ast.Constant(value=str(name)), _, *more])
                ) if name.startswith("memory_bank_"):
                    labels = ast.literal_eval(more[0]) if more else []
                    found[name.removesuffix("_total")] = set(labels)
                case _:
                    pass
    return found


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


def test_labels_of_an_expression_are_found() -> None:
    expression = 'sum by (a, le) (rate(x_bucket{b="c=d",e=~"f"}[5m])) / sum by (g) (y)'
    pairs = {("x_bucket", "b"), ("x_bucket", "e"), ("x_bucket", "a"), ("x_bucket", "le")}
    assert set(_labels_used(expression)) == {*pairs, ("y", "g")}


def test_alerts_and_dashboard_name_labels_that_their_metrics_have() -> None:
    declared = _declared()
    used = {pair for expression in _expressions() for pair in _labels_used(expression)}
    assert len(used) > 30
    wrong = [
        (metric, label)
        for metric, label in used
        if label not in _OF_TARGETS
        and not (label == "le" and metric.endswith("_bucket"))
        and label not in declared.get(_SUFFIX.sub("", metric), set())
    ]
    assert wrong == []


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

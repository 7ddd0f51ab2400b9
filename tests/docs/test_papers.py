"""The papers about security: what they refer to exists."""

import re

from tests.support.documents import DOCS, ROOT

_LINK = re.compile(r"\]\(([^)#:]+)\)")
_ROW = re.compile(r"^\| (?!Actor|---)(.+) \|$", re.MULTILINE)


def _rows() -> list[list[str]]:
    found = _ROW.findall((DOCS / "threat-model.md").read_text())
    return [[cell.strip() for cell in row.split("|")] for row in found]


def test_each_measure_of_the_threat_model_is_held_by_a_test_that_exists() -> None:
    rows = _rows()
    assert len(rows) > 20
    for _, _, measure, test in rows:
        if measure.startswith("none here: "):
            assert test == ""
        else:
            name, _, function = test.strip("`").partition("::")
            path = ROOT / name
            assert path.is_relative_to(ROOT / "tests"), measure
            assert function.startswith("test_"), test
            assert re.search(rf"^(async )?def {function}\(", path.read_text(), re.MULTILINE), test


def test_each_asset_is_one_of_those_that_the_page_explains() -> None:
    page = (DOCS / "threat-model.md").read_text()
    explained = set(re.findall(r"(?<!\*)\*(\w+)\*(?!\*)", page))
    assert {asset for _, asset, _, _ in _rows()} == explained


def test_links_of_the_security_policy_lead_somewhere() -> None:
    policy = (ROOT / "SECURITY.md").read_text()
    assert [path for path in _LINK.findall(policy) if not (ROOT / path).is_file()] == []

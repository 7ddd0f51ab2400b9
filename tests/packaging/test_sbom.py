"""The papers about packages: the bill of materials and the licences agree with the lock."""

import json
import re

from packaging.utils import canonicalize_name

from scripts import make_sbom
from tests.packaging.checkout import ROOT
from tests.packaging.locks import read_lock

_ROW = re.compile(r"^\| ([a-z0-9][a-z0-9-]*) \| (.+) \|$", re.MULTILINE)
_LOCK = ROOT / "requirements.lock"


def _rows(text: str) -> dict[str, str]:
    return dict(_ROW.findall(text))


def test_the_bill_of_materials_names_every_locked_package_with_its_version() -> None:
    document = json.loads(make_sbom.SBOM.read_text())
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"]["name"] == "open-memory-bank"
    named = [(canonicalize_name(part["name"]), part["version"]) for part in document["components"]]
    assert sorted(named) == sorted((entry.name, entry.version) for entry in read_lock(_LOCK.name))


def test_make_sbom_writes_the_bill_that_is_here() -> None:
    assert make_sbom.sbom(_LOCK) == make_sbom.SBOM.read_text()


def test_the_licences_are_those_that_the_installed_packages_declare() -> None:
    written = _rows(make_sbom.LICENCES.read_text())
    declared = _rows(make_sbom.licences(_LOCK.read_text()))
    assert written.keys() == declared.keys() == {entry.name for entry in read_lock(_LOCK.name)}
    # Those of other platforms are not installed here.
    here = {name for name, licence in declared.items() if licence != make_sbom.ABSENT}
    assert len(here) > 80
    assert {name: written[name] for name in here} == {name: declared[name] for name in here}


def test_a_licence_that_asks_more_than_a_notice_is_named_before_the_list() -> None:
    text = make_sbom.LICENCES.read_text()
    before = text.partition("| Package |")[0]
    asking = {name for name, licence in _rows(text).items() if re.search(r"\bA?L?GPL", licence)}
    assert asking == {"psycopg", "psycopg-binary", "psycopg-pool"}
    assert all(re.search(rf"\b{name}\b", before) for name in asking)
    assert "LGPL-3.0" in before

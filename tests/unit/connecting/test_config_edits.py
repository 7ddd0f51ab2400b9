"""Edits of other programs' files: an entry is put or taken, and all else stays byte for byte."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.process.connecting import jsonc, toml

_URL = "http://127.0.0.1:8000/mcp"
_ENTRY = {"url": _URL, "headers": {"Authorization": "Bearer KEY"}}
_OTHER = {"url": "https://b.example/mcp", "headers": {"Authorization": "Bearer OTHER"}}
_TABLE = {"url": _URL, "http_headers": {"Authorization": "Bearer KEY"}}

_JSON = {
    "an empty object": "{}",
    "no section": '{\n  "numStartups": 3\n}\n',
    "an empty section": '{\n  "servers": {},\n  "b": [1, 2]\n}\n',
    "another entry": '{\n  "servers": {\n    "a": {"command": "x"}\n  }\n}\n',
    "comments": (
        '// mine\n{\n\t/* { "servers": } */\n\t"servers": {\n\t\t"a": {} // "memory": {}\n'
        '\t\t// the end\n\t},\n\t"x": "// no comment, {\\" }" // last\n}\n'
    ),
    "trailing commas": '{\n    "servers": {\n        "a": {},\n    },\n}',
    "a comma behind a comment": '{\n  "servers": {\n    "a": {} /* , */, // b\n  }\n}\n',
    "lines of Windows": '{\r\n  "servers": {\r\n    "a": {}\r\n  }\r\n}\r\n',
    "a byte order mark": '\ufeff{\n  "servers": {\n    "a": 1\n  }\n}\n',
}
_TOML = {
    "nothing": "",
    "keys": '# mine\nmodel = "x" # theirs\n',
    "other tables": '[mcp_servers.a]\ncommand = "x"\n\n# about p\n[profiles.p]\nmodel = "y"\n',
    "no last line": 'a = """\n[mcp_servers.memory]\n"""\n[b]\n',
    "lists": "a = [\n  [1],\n]\n\n\n[[b]]\nx = 1\n",
    "lines of Windows": 'model = "x"\r\n\r\n[b]\r\nc = 1\r\n',
}


@pytest.mark.parametrize("text", _JSON.values(), ids=_JSON)
def test_an_entry_of_json_is_added_replaced_and_removed(text: str) -> None:
    before = jsonc.read(text)
    added = jsonc.put(text, "servers", "memory", _OTHER)
    replaced = jsonc.put(added, "servers", "memory", _ENTRY)
    assert jsonc.put(text, "servers", "memory", _ENTRY) == replaced
    servers = {**before.get("servers", {}), "memory": _ENTRY}
    assert jsonc.read(replaced) == {**before, "servers": servers}
    removed = jsonc.take(replaced, "servers", "memory")
    if "servers" in before:
        assert removed == text
    else:
        assert jsonc.read(removed) == {**before, "servers": {}}


@pytest.mark.parametrize("text", _TOML.values(), ids=_TOML)
def test_an_entry_of_toml_is_added_replaced_and_removed(text: str) -> None:
    before = toml.read(text)
    other = {"command": "x", "env": {"A": 'b "c" \\'}}
    added = toml.put(text, "mcp_servers", "memory", other)
    assert added.startswith(text)
    assert toml.read(added)["mcp_servers"]["memory"] == other
    replaced = toml.put(added, "mcp_servers", "memory", _TABLE)
    assert toml.put(text, "mcp_servers", "memory", _TABLE) == replaced
    servers = {**before.get("mcp_servers", {}), "memory": _TABLE}
    assert toml.read(replaced) == {**before, "mcp_servers": servers}
    assert toml.take(replaced, "mcp_servers", "memory") == text


def test_an_added_entry_stands_in_the_style_of_the_file() -> None:
    text = '{\n\t// mine\n\t"servers": {\n\t\t"a": {} // first\n\t}\n}\n'
    assert jsonc.put(text, "servers", "memory", {"url": _URL}) == (
        '{\n\t// mine\n\t"servers": {\n\t\t"a": {}, // first\n\t\t"memory": {\n'
        f'\t\t\t"url": "{_URL}"\n\t\t}}\n\t}}\n}}\n'
    )


def test_an_entry_in_one_line_is_removed_with_its_comma() -> None:
    for text, expected in (
        ('{"servers": {"memory": {}, "b": 1}}', '{"servers": { "b": 1}}'),
        ('{"servers": {"a": 1, "memory": {}}}', '{"servers": {"a": 1}}'),
        ('{"servers": {"a": 1, // c\n"memory": {} }}', '{"servers": {"a": 1 // c\n }}'),
        ('{"servers": {"memory": {} /* m */}}', '{"servers": { /* m */}}'),
        ('{"servers": {"memory": {},}}', '{"servers": {}}'),
    ):
        assert jsonc.take(text, "servers", "memory") == expected


def test_comments_around_the_tables_of_an_entry_stay() -> None:
    text = (
        "# first\n\n# about memory\n[mcp_servers.memory]\nurl = 'a'\n\n"
        "[mcp_servers.memory.http_headers]\nb = 'c'\n\n# about d\n[d]\ne = 1\n"
        "[mcp_servers.memory.tools.x]\nf = 1\n# the end\n"
    )
    table = toml.dump("mcp_servers", "memory", _TABLE)
    assert toml.put(text, "mcp_servers", "memory", _TABLE) == (
        f"# first\n\n# about memory\n{table}\n\n# about d\n[d]\ne = 1\n# the end\n"
    )
    assert toml.take(text, "mcp_servers", "memory") == (
        "# first\n\n# about memory\n\n# about d\n[d]\ne = 1\n# the end\n"
    )


@pytest.mark.parametrize("text", ['{"a": 1', '{"a" 1}', "/* {}", "[", "{\"a\": 'b'}"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        jsonc.read(text)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\/*,{}[]:'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/*"), inner, max_size=3),
    max_leaves=8,
)
_BETWEEN = st.sampled_from(["", " ", "\n", "\n  ", " // c, }\n", "/* , { */", "\n\t// d\n\t"])


@st.composite
def _written(draw: st.DrawFn) -> str:
    """Write a file with spaces and comments between all its tokens."""
    value = draw(
        st.dictionaries(st.text("ab"), _VALUES, max_size=2)
        | st.fixed_dictionaries({"servers": st.dictionaries(st.text("ab"), _VALUES, max_size=3)})
    )
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', json.dumps(value))
    return "".join(token + draw(_BETWEEN) for token in ["", *tokens])


@given(_written())
def test_any_json_keeps_all_but_the_entry(text: str) -> None:
    before = jsonc.read(text)
    added = jsonc.put(text, "servers", "memory", _ENTRY)
    servers = {**before.get("servers", {}), "memory": _ENTRY}
    assert jsonc.read(added) == {**before, "servers": servers}
    assert jsonc.put(added, "servers", "memory", _ENTRY) == added
    removed = jsonc.take(added, "servers", "memory")
    assert jsonc.read(removed) == {"servers": {}, **before}
    if "servers" in before:
        assert "".join(removed.split()) == "".join(text.split())

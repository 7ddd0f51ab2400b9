"""How the commands on keys read their options, and write a table."""

from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from app.platform.access.schemas import ApiKey
from app.process.cli import app
from app.process.commands.keys import read_conditions, read_grace, read_length, table

_PAST = datetime(2020, 1, 2, 3, 4, 59, tzinfo=UTC)
_FUTURE = datetime(9000, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("3600s", timedelta(hours=1)),
        ("90m", timedelta(minutes=90)),
        ("12h", timedelta(hours=12)),
        ("30d", timedelta(days=30)),
        ("2w", timedelta(days=14)),
        ("0s", timedelta()),
    ],
)
def test_a_length_of_time_has_a_unit(text: str, length: timedelta) -> None:
    assert read_length(text) == length


@pytest.mark.parametrize("text", ["", "d", "30", "-1d", "1.5h", "1 d", "1D", "1y", "123456789s"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="such as 30d"):
        read_length(text)


def test_a_period_of_grace_is_bounded() -> None:
    assert read_grace("30d") == timedelta(days=30)
    with pytest.raises(ValueError, match="must be 0s to 2592000s"):
        read_grace("31d")


def test_a_condition_may_have_several_values() -> None:
    pairs = ["user_id=42", "app=a=b", "user_id=43", "empty="]
    expected = {"user_id": ["42", "43"], "app": ["a=b"], "empty": [""]}
    assert read_conditions(pairs) == expected
    with pytest.raises(ValueError, match="must be key=value"):
        read_conditions(["user_id"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--role", "owner"], "--role: must be one of viewer, user, editor, admin.\n"),
        ([], "Give at least one --role or --permission.\n"),
        (["--role", "user", "--scope", "x"], "--scope: must be key=value, such as "),
        (["--role", "user", "--scope", "x="], "--scope: must have 1 to 1024 characters"),
        (["--role", "user", "--condition", "x="], "--scope: must have 1 to 1024 characters"),
        (["--role", "user", "--expires-in", "soon"], "--expires-in: must be a number with "),
        (["--role", "user", "--expires-in", "0s"], "--expires-in: must be longer than "),
        (["--role", "user", "--engine", "x"], "--engine: must be the id or the name of an engine"),
        (["--role", "user", "--project", "-"], "--project: must be the id of a project"),
        (["--for-agent", "7", "--scope", "user_id=8"], "--scope: user_id is what --for-agent"),
        (["--for-agent", "7", "--condition", "user_id=8"], "--scope: user_id is what --for-agent"),
        (["--for-agent", "*"], "--scope: must have 1 to 1024 characters, without *"),
    ],
)
def test_a_wrong_option_is_told_in_a_sentence(options: list[str], sentence: str) -> None:
    done = CliRunner().invoke(app, ["keys", "create", "--name", "one", *options])
    assert done.exit_code == 2
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_keys_are_written_in_columns() -> None:
    plain = ApiKey(name="keys/1", display_name="first", roles=["admin"], create_time=_PAST)
    bound = ApiKey(
        name="keys/22",
        display_name="é\x1b[2J\u202e",
        roles=["user"],
        permissions=["metrics.get"],
        projects=["p"],
        engines=["1", "2"],
        scope_conditions={"user_id": ["42", "4\n3"]},
        create_time=_PAST,
        expire_time=_FUTURE,
        last_use_time=_PAST,
    )
    ended = plain.model_copy(update={"expire_time": _PAST})
    revoked = ended.model_copy(update={"revoke_time": _PAST})
    lines = table([bound, plain, ended, revoked]).splitlines()
    head = ["ID", "NAME", "MAY", "BOUND TO", "CREATED", "EXPIRES", "LAST USE", "STATE"]
    assert lines[0].split() == " ".join(head).split()
    assert lines[1] == (
        "22  é\\x1b[2J\\u202e  user, metrics.get"
        "  projects: p; engines: 1, 2; scope user_id: 42, 4\\n3"
        "  2020-01-02 03:04  9000-01-01 00:00  2020-01-02 03:04  active"
    )
    assert [line.split()[-1] for line in lines[2:]] == ["active", "expired", "revoked"]
    assert {line.index("20-01-02") for line in lines[1:]} == {lines[1].index("20-01-02")}

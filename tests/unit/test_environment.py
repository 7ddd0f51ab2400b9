"""Variables of the environment that are no settings: misspelt, of others, or of nobody."""

import pytest
import typer
from structlog.testing import capture_logs

from app.adapters.terminal import MISUSED, VARIABLES, read_settings
from app.settings.environment import PREFIX, misspelt, unknown
from app.settings.settings import Settings

NAMES = VARIABLES
OF_OTHERS = [
    *("TEST_DATABASE_URL", "CLIENT_KEY", "PUBLISH"),
    *("SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "API_SERVICE_HOST", "API_SERVICE_PORT"),
    *("PORT_8000_TCP", "PORT_8000_TCP_ADDR", "API_PORT_8000_TCP_PROTO"),
]


def _leave_logs(settings: Settings) -> None:
    """Leave them as the tests have them; what is really written is in `test_banner.py`."""
    del settings


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("MODLE", "MODEL"),
        ("MODEL_KYE", "MODEL_KEY"),
        ("MODEL_KEY_FIEL", "MODEL_KEY_FILE"),
        ("DATABASE_URI", "DATABASE_URL"),
        ("ADMINKEY", "ADMIN_KEY"),
        ("ADMIN__KEYS", "ADMIN_KEY"),
        ("LOGLEVELS", "LOG_LEVEL"),
        ("hosts", "HOST"),
    ],
)
def test_a_name_two_letters_from_a_setting_is_that_one_misspelt(given: str, meant: str) -> None:
    assert misspelt({PREFIX + given: "x"}, NAMES) == {PREFIX + given.upper(): PREFIX + meant}


def test_names_that_somebody_uses_are_neither_misspelt_nor_unknown() -> None:
    used = [*OF_OTHERS, *(name.upper() for name in NAMES), "host"]
    environment = {**{PREFIX + given: "x" for given in used}, "PATH": "/bin", "MEMORY_BANKS": "2"}

    assert misspelt(environment, NAMES) == {}
    assert unknown(environment, NAMES) == []


def test_other_names_are_unknown_but_for_links_to_services() -> None:
    environment = {
        f"{PREFIX}FAVOURITE_COLOUR": "red",
        f"{PREFIX}API_PORT": "tcp://10.0.0.1:80",
        f"{PREFIX}A_PORT": "tcp://10.0.0.1:80",
        f"{PREFIX}MODEL_ANSWERS_IN_VERSE": "1",
        f"{PREFIX}MODEL_FILE": "no secret is read from here",
    }

    assert misspelt(environment, NAMES) == {}
    assert unknown(environment, NAMES) == [
        f"{PREFIX}FAVOURITE_COLOUR",
        f"{PREFIX}MODEL_ANSWERS_IN_VERSE",
        f"{PREFIX}MODEL_FILE",
    ]


def test_a_misspelt_name_stops_the_start_and_is_told_its_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORY_BANK_MODLE", "openai:gpt-5-mini")
    with pytest.raises(typer.Exit) as raised:
        read_settings()
    assert raised.value.exit_code == MISUSED
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("MEMORY_BANK_MODLE: ")
    assert line.endswith("the nearest is MEMORY_BANK_MODEL.")
    assert "gpt-5-mini" not in line


def test_unknown_names_are_one_warning_without_their_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.adapters.terminal.configure_logs", _leave_logs)
    for name in ("FAVOURITE_COLOUR", "COLOUR_OF_THE_DAY"):
        monkeypatch.setenv(PREFIX + name, "red-as-roses")
    with capture_logs() as logs:
        read_settings()
    (line,) = [log for log in logs if log["event"] == "settings.unknown"]
    assert line["log_level"] == "warning"
    assert line["names"] == [f"{PREFIX}COLOUR_OF_THE_DAY", f"{PREFIX}FAVOURITE_COLOUR"]
    assert "roses" not in str(logs)


def test_the_port_of_a_container_platform_s_link_is_ignored_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.adapters.terminal.configure_logs", _leave_logs)
    monkeypatch.setenv("MEMORY_BANK_PORT", "tcp://10.43.12.7:8000")
    with capture_logs() as logs:
        assert read_settings().port == 8_000
        assert read_settings(port=9_000).port == 9_000
    assert [log["event"] for log in logs] == ["settings.ignored"] * 2


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("LOG_LEVEL", "verbose", "must be DEBUG, INFO, WARNING, ERROR or CRITICAL; got verbose."),
        ("ADMIN_KEY", "only-15-letters", "must have at least 16 characters; got 15."),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_is_accepted(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: str,
    sentence: str,
) -> None:
    monkeypatch.setenv(PREFIX + name, value)
    with pytest.raises(typer.Exit) as raised:
        read_settings()
    assert raised.value.exit_code == MISUSED
    told = capsys.readouterr().err
    assert told.startswith(f"{PREFIX}{name} {sentence}")
    assert name != "ADMIN_KEY" or value not in told


@pytest.mark.parametrize("level", ["debug", "Warning", "WARN", "CRITICAL"])
def test_levels_are_taken_in_any_case(level: str) -> None:
    assert Settings(log_level=level).log_level == level.upper()


@pytest.mark.parametrize("key", ["", "x" * 16])
def test_a_key_may_be_left_empty_or_be_long_enough(key: str) -> None:
    given = Settings.model_validate({"admin_key": key}).admin_key
    assert given is not None
    assert given.get_secret_value() == key

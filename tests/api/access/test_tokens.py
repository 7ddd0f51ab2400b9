"""Which tokens of the issuer are taken, where, and for how long."""

from base64 import b64encode
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from app.adapters.resources import Resources
from app.kernel.auth import Authenticator
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.platform.access.services.access import open_tokens
from app.process.cli import app as cli
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY, START
from tests.support.cases import in_one_test
from tests.support.errors import refusal
from tests.support.keys import client_with
from tests.support.tokens import ALGORITHMS, claims, publish, sign, token_app

_INVALID = (401, "UNAUTHENTICATED", Reason.CREDENTIAL_INVALID)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The key set of the issuer."""
    return publish(tmp_path / "jwks.json")


async def ask(resources: Resources, file: Path, token: str, **settings: object) -> httpx.Response:
    """Ask a new application."""
    async with client_with(token_app(resources, file, **settings), token) as client:
        return await client.get("/memories")


@in_one_test(("key_id", "algorithm"), [*ALGORITHMS.items(), ("rsa", "PS256")])
async def test_a_token_of_each_usual_algorithm_lets_its_caller_in(
    resources: Resources, file: Path, key_id: str, algorithm: str
) -> None:
    token = sign(claims(resources.clock.now()), key_id, algorithm)
    assert (await ask(resources, file, token)).status_code == 200


@in_one_test(
    ("key_id", "algorithm"),
    [("rsa", "RS384"), ("rsa", "RS512"), ("rsa", "PS384"), ("rsa", "PS512"), ("ec384", "ES384")],
)
async def test_other_algorithms_are_taken_where_the_settings_name_them(
    resources: Resources, file: Path, key_id: str, algorithm: str
) -> None:
    publish(file, key_id)
    token = sign(claims(resources.clock.now()), key_id, algorithm)
    assert refusal(await ask(resources, file, token)) == _INVALID
    answer = await ask(resources, file, token, jwt_algorithms=["RS256", algorithm])
    assert answer.status_code == 200


async def test_an_algorithm_that_the_settings_leave_out_is_not_taken(
    resources: Resources, file: Path
) -> None:
    token = sign(claims(resources.clock.now()))
    assert refusal(await ask(resources, file, token, jwt_algorithms=["ES256"])) == _INVALID


async def test_a_token_is_taken_where_keys_are(resources: Resources, file: Path) -> None:
    token = sign(claims(resources.clock.now()))
    places = [
        {"Authorization": f"Bearer {token}"},
        {"x-goog-api-key": token},
        {"Authorization": f"Basic {b64encode(f'any:{token}'.encode()).decode()}"},
    ]
    async with client_with(token_app(resources, file), None) as client:
        for headers in places:
            assert (await client.get("/memories", headers=headers)).status_code == 200


async def test_keys_go_on_working_beside_tokens(resources: Resources, file: Path) -> None:
    assert (await ask(resources, file, ADMIN_KEY)).status_code == 200


async def test_without_an_issuer_no_token_is_taken(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    client.headers["Authorization"] = f"Bearer {sign(claims(clock.now()))}"
    assert refusal(await client.get("/memories")) == _INVALID


async def test_a_token_without_the_name_of_a_key_needs_a_single_one_that_fits(
    resources: Resources, file: Path
) -> None:
    token = sign(claims(resources.clock.now()), kid=None)
    assert (await ask(resources, file, token)).status_code == 200
    publish(file, "rsa", "rsa-2")
    assert refusal(await ask(resources, file, token)) == _INVALID


@in_one_test("audience", ["open-memory-bank", ["other", "open-memory-bank"]])
@in_one_test("expected", ["open-memory-bank", ["this", "open-memory-bank"]])
async def test_one_of_the_audiences_must_be_ours(
    resources: Resources, file: Path, audience: object, expected: object
) -> None:
    token = sign(claims(resources.clock.now(), aud=audience))
    assert (await ask(resources, file, token, jwt_audience=expected)).status_code == 200
    answer = await ask(resources, file, token, jwt_audience=["this", "that"])
    assert refusal(answer) == _INVALID


async def test_a_token_ends_when_it_expires_though_it_was_just_taken(
    resources: Resources, file: Path, clock: FixedClock
) -> None:
    app = token_app(resources, file, jwt_leeway_seconds=3)
    async with client_with(app, sign(claims(clock.now()))) as client:
        assert (await client.get("/memories")).status_code == 200
        clock.advance(timedelta(minutes=5, seconds=2.5))
        assert (await client.get("/memories")).status_code == 200
        clock.advance(timedelta(seconds=0.5))
        assert refusal(await client.get("/memories")) == _INVALID


@pytest.mark.parametrize("claim", ["nbf", "iat"])
async def test_a_token_begins_when_it_says(
    resources: Resources, file: Path, clock: FixedClock, claim: str
) -> None:
    begins = clock.now() + timedelta(minutes=1)
    token = sign(claims(clock.now(), **{claim: begins.timestamp()}))
    async with client_with(token_app(resources, file, jwt_leeway_seconds=3), token) as client:
        assert refusal(await client.get("/memories")) == _INVALID
        clock.advance(timedelta(seconds=57))
        assert (await client.get("/memories")).status_code == 200


async def test_the_caller_is_known_by_the_subject(resources: Resources, file: Path) -> None:
    authenticator: Authenticator = token_app(resources, file).state.authenticator
    for subject in ("x", "y" * 128, "\u00fc @:/|"):
        token = sign(claims(resources.clock.now(), sub=subject))
        assert (await authenticator.authenticate(token)).key_id == f"jwt:{subject}"


async def test_a_credential_of_another_form_is_no_token(resources: Resources, file: Path) -> None:
    tokens = open_tokens(token_app(resources, file).state.resources.settings, resources.clock)
    assert tokens is not None
    assert tokens.is_token(sign(claims(resources.clock.now())))
    assert tokens.is_token("e30..")
    for secret in (
        "",
        "..",
        "a.b.c",
        "omb_1",
        "W10.e30.c2ln",
        "e30.e30",
        "e30.e30.c2ln.",
        "e30.\n.",
    ):
        assert not tokens.is_token(secret)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (("ISSUER",), "MEMORY_BANK_JWT_AUDIENCE and MEMORY_BANK_JWT_JWKS"),
        (("AUDIENCE", "JWKS"), "MEMORY_BANK_JWT_ISSUER"),
        (("ISSUER", "JWKS"), "MEMORY_BANK_JWT_AUDIENCE"),
    ],
)
def test_half_a_configuration_is_refused_at_start_in_one_sentence(
    given: tuple[str, ...], missing: str
) -> None:
    found = started({f"MEMORY_BANK_JWT_{name}": "x" for name in given})
    assert (found.exit_code, found.output) == (2, f"Tokens also need {missing}.\n")


def started(environment: dict[str, str]) -> Result:
    """Run the command that prints the document, which reads the settings first."""
    return CliRunner().invoke(cli, ["openapi"], env=environment)


_WHOLE = {
    "MEMORY_BANK_JWT_ISSUER": "https://issuer.example",
    "MEMORY_BANK_JWT_AUDIENCE": "1234",
    "MEMORY_BANK_JWT_JWKS": "jwks.json",
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JWKS", "ftp://issuer.example/jwks.json"),
        ("JWKS", "file:///etc/jwks.json"),
        ("JWKS", "https://"),
        ("ALGORITHMS", '["HS256"]'),
        ("ALGORITHMS", '["none"]'),
        ("ALGORITHMS", '["RS256", "HS512"]'),
        ("ALGORITHMS", "[]"),
        ("ROLE_MAP", '{"ops": "root"}'),
    ],
)
def test_a_setting_that_would_open_the_door_is_refused_at_start(name: str, value: str) -> None:
    found = started(_WHOLE | {f"MEMORY_BANK_JWT_{name}": value})
    assert found.exit_code == 2
    assert f"MEMORY_BANK_JWT_{name}" in found.output


def test_the_environment_names_audiences_and_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in _WHOLE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MEMORY_BANK_JWT_CONDITION_CLAIMS", '{"user_id": "sub"}')
    assert Settings().jwt_audience == ["1234"]
    assert Settings().jwt_condition_claims == {"user_id": "sub"}
    monkeypatch.setenv("MEMORY_BANK_JWT_AUDIENCE", '["a", "b"]')
    assert Settings().jwt_audience == ["a", "b"]
    for name in _WHOLE:
        monkeypatch.setenv(name, "")
    assert open_tokens(Settings(), FixedClock(START)) is None

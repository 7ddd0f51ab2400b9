"""An issuer of tokens: its keys, honest and forged tokens, and a server for its key set."""

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from fastapi import FastAPI
from typing_extensions import override

from app.adapters.resources import Resources
from app.process.main import create_app
from app.settings.settings import Settings

ISSUER = "https://issuer.example"
AUDIENCE = "open-memory-bank"
SUBJECT = "user|42"

Json = dict[str, Any]
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

ALGORITHMS = {"rsa": "RS256", "ec": "ES256", "ed": "EdDSA"}
"""The keys of the issuer by their ids, and how they usually sign."""
ABSENT = object()


@cache
def private_key(key_id: str) -> PrivateKey:
    """Return the key of this id; its type is what comes before a hyphen. Made once."""
    match key_id.partition("-")[0]:
        case "rsa":
            return rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
        case "short":
            return rsa.generate_private_key(public_exponent=65_537, key_size=1_024)
        case "ec":
            return ec.generate_private_key(ec.SECP256R1())
        case "ec384":
            return ec.generate_private_key(ec.SECP384R1())
        case _:
            return ed25519.Ed25519PrivateKey.generate()


def jwk(key_id: str | None, of: str | None = None, **members: object) -> Json:
    """Return the public key of this id, or that of another with this id, as a JWK."""
    key = private_key(of or key_id or "").public_key()
    found: Json
    if isinstance(key, rsa.RSAPublicKey):
        found = jwt.algorithms.RSAAlgorithm.to_jwk(key, as_dict=True)
    elif isinstance(key, ec.EllipticCurvePublicKey):
        found = jwt.algorithms.ECAlgorithm.to_jwk(key, as_dict=True)
    else:
        found = jwt.algorithms.OKPAlgorithm.to_jwk(key, as_dict=True)
    named = {} if key_id is None else {"kid": key_id}
    return found | named | members


def jwks(*keys: str | Json) -> bytes:
    """Return a JWK set of keys by their ids, or as they stand."""
    listed = [jwk(key) if isinstance(key, str) else key for key in keys or ALGORITHMS]
    return json.dumps({"keys": listed}).encode()


def publish(file: Path, *keys: str | Json) -> Path:
    """Put a JWK set into a file."""
    file.write_bytes(jwks(*keys))
    return file


def claims(now: datetime, **others: object) -> Json:
    """Return the claims of a good token of an administrator; `ABSENT` takes one away."""
    found = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": SUBJECT,
        "iat": int(now.timestamp()),
        "exp": int((now + timedelta(minutes=5)).timestamp()),
        "roles": ["admin"],
        **others,
    }
    return {name: value for name, value in found.items() if value is not ABSENT}


def sign(
    payload: Mapping[str, Any] | bytes,
    key_id: str = "rsa",
    algorithm: str | None = None,
    **header: object,
) -> str:
    """Return a token; a header of None is left out."""
    algorithm = algorithm or ALGORITHMS[key_id.partition("-")[0]]
    named = {"kid": key_id, "typ": "JWT", "alg": algorithm} | header
    head = {name: value for name, value in named.items() if value is not None}
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    signed = f"{b64(json.dumps(head).encode())}.{b64(body)}"
    method = jwt.get_algorithm_by_name(algorithm)
    return f"{signed}.{b64(method.sign(signed.encode(), private_key(key_id)))}"


def b64(data: bytes) -> str:
    """Write as parts of tokens are written."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def token_settings(settings: Settings, source: object, **others: object) -> Settings:
    """Return settings that take this issuer's tokens."""
    given = {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_jwks": str(source), **others}
    return Settings.model_validate(settings.model_dump() | given)


def token_app(resources: Resources, source: object, **settings: object) -> FastAPI:
    """Return the application with this issuer's keys, which lie in a file or at an address."""
    own = token_settings(resources.settings, source, **settings)
    return create_app(replace(resources, settings=own))


class KeyServer:
    """Where the issuer publishes its keys; `url` is what `MEMORY_BANK_JWT_JWKS` takes."""

    def __init__(self) -> None:
        self.url = ""
        self.body = jwks()
        self.status = 200
        self.headers: dict[str, str] = {}
        self.piece_bytes = 1_000_000
        self.pause_seconds = 0.0
        """After each piece of the body."""
        self.asked = 0
        self.answers = threading.Event()
        """Requests wait until it is set, as it is from the beginning."""
        self.answers.set()


@contextmanager
def key_server() -> Iterator[KeyServer]:
    """Serve beside the block, on a free port of the loopback address."""
    found = KeyServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked += 1
            found.answers.wait(10)
            self.send_response(found.status)
            self.send_header("Content-Length", str(len(found.body)))
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for at in range(0, len(found.body), found.piece_bytes):
                    self.wfile.write(found.body[at : at + found.piece_bytes])
                    time.sleep(found.pause_seconds)
            except OSError:
                # Who asked has gone.
                self.close_connection = True

        @override
        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_port}/jwks.json"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield found
        finally:
            found.answers.set()
            server.shutdown()
            thread.join()

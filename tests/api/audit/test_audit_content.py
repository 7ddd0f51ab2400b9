"""The log says who did what, and nothing of what was said."""

import httpx
import pytest

from app.adapters.db.session import Database
from app.platform.audit.store import AuditEventRow
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.audit import results, stored
from tests.support.bank import ENGINE_URL, Json
from tests.support.engines import COLLECTION
from tests.support.generation import given, said

CANARY = "Canary of mine"
_KEYS = "http://test/v1/keys"
_SCOPE = {"user_id": CANARY}
_EVENT = {
    "author": CANARY,
    "invocationId": CANARY,
    "timestamp": "2026-01-15T12:00:00Z",
    "content": {"role": "user", "parts": [{"text": CANARY}]},
    "actions": {"stateDelta": {CANARY: CANARY}},
}
_ASKED: list[tuple[str, str, Json | None]] = [
    ("POST", COLLECTION, {"displayName": CANARY, "description": CANARY}),
    ("PATCH", ENGINE_URL, {"displayName": CANARY, "labels": {"k": CANARY}}),
    ("POST", "/memories?requestId=" + CANARY, {"fact": CANARY, "scope": _SCOPE}),
    ("POST", "/memories?memoryId=" + CANARY, {"fact": CANARY, "scope": _SCOPE}),
    ("POST", "/memories?memoryId=m", {"fact": CANARY, "scope": _SCOPE, "displayName": CANARY}),
    ("POST", "/memories", {"fact": CANARY, "scope": _SCOPE, CANARY: CANARY}),
    ("PATCH", "/memories/m", {"fact": f"{CANARY}!", "metadata": {CANARY: {"boolValue": True}}}),
    ("PATCH", "/memories/m", {"etag": CANARY, "fact": CANARY}),
    ("PATCH", f"/memories/m?updateMask={CANARY}", {"fact": CANARY}),
    ("DELETE", f"/memories/{CANARY}", None),
    ("POST", f"/memories/{CANARY}:rollback", {"targetRevisionId": CANARY}),
    ("POST", "/memories/m:rollback", {"targetRevisionId": CANARY}),
    ("POST", "/memories:generate", {"scope": _SCOPE, **said(f"I like {CANARY}.")}),
    ("POST", "/memories:generate", {"scope": _SCOPE, **given(CANARY)}),
    ("POST", "/memories:ingestEvents", {"scope": _SCOPE, **said(CANARY)}),
    ("POST", "/memories:retrieve", {"scope": _SCOPE, "filter": f'fact="{CANARY}"'}),
    ("POST", "/memories:purge", {"filter": f'fact="{CANARY}"', "force": True}),
    ("GET", f'/memories?filter=fact="{CANARY}"', None),
    ("GET", f"/memories?filter={CANARY}", None),
    ("GET", f"/memories?{CANARY}=1", None),
    ("GET", f"/memories/{CANARY}", None),
    ("GET", f"/memories/m/revisions/{CANARY}", None),
    ("POST", "/sessions", {"userId": CANARY, "sessionState": {CANARY: CANARY}}),
    ("POST", "/sessions?sessionId=s", {"userId": CANARY, "displayName": CANARY}),
    ("POST", f"/sessions?sessionId={CANARY}", {"userId": CANARY}),
    ("PATCH", "/sessions/s", {"displayName": CANARY}),
    ("POST", "/sessions/s:appendEvent", _EVENT),
    ("DELETE", f"/sessions/{CANARY}", None),
    ("POST", f"/operations/{CANARY}:cancel", None),
    ("POST", f"/operations/{CANARY}:undo", None),
    ("GET", f"/auditEvents?filter=caller={CANARY}", None),
    ("PATCH", f"{COLLECTION}/{CANARY}", {"displayName": CANARY}),
    ("POST", f"{COLLECTION}/{CANARY}/memories", {"fact": CANARY, "scope": _SCOPE}),
    ("POST", _KEYS, {"displayName": CANARY, "roles": ["viewer"]}),
    ("POST", _KEYS, {"displayName": CANARY, "roles": [CANARY]}),
    ("POST", f"{_KEYS}/{CANARY}:revoke", None),
]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"audit_reads": True})


async def test_no_text_of_a_request_is_in_any_column(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    headers = {"x-request-id": CANARY, "user-agent": CANARY, "referer": CANARY}
    for method, path, body in _ASKED:
        answer = await client.request(method, path, json=body, headers=headers)
        assert answer.status_code != 500, answer.text
    await runner.run_pending()
    found = await results(database)
    assert len(found) >= len(_ASKED) + 3
    assert {result for _, result, _ in found} == {"OK", "NOT_FOUND", "INVALID_ARGUMENT", "ABORTED"}
    columns = AuditEventRow.__table__.columns.keys()
    for row in await stored(database):
        told = str([getattr(row, name) for name in columns])
        assert not any(word in told.lower() for word in ("canary", "mine"))

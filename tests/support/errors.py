"""What every refusal must look like, whoever refuses."""

from typing import Any

import httpx

from app.kernel.errors import DOMAIN, Reason

_TYPES = "type.googleapis.com/google.rpc."


def refusal(answer: httpx.Response) -> tuple[int, str, Reason]:
    """Return status, canonical code and reason of an error, having checked its form."""
    assert answer.headers["content-type"] == "application/json", answer.text
    assert answer.headers["x-request-id"]
    body = answer.json()
    assert set(body) == {"error"}, body
    error = body["error"]
    assert set(error) == {"code", "message", "status", "details"}
    assert error["code"] == answer.status_code
    assert error["message"]
    info = error["details"][0]
    assert set(info) == {"@type", "reason", "domain", "metadata"}
    assert info["@type"] == _TYPES + "ErrorInfo"
    assert info["domain"] == DOMAIN
    return answer.status_code, error["status"], Reason(info["reason"])


def violations(answer: httpx.Response) -> dict[str, str]:
    """Return the fields that a bad request names, with what would be accepted."""
    refusal(answer)
    details: list[dict[str, Any]] = answer.json()["error"]["details"]
    found = [one for one in details if one["@type"] == _TYPES + "BadRequest"]
    assert len(found) == 1, details
    listed: list[dict[str, str]] = found[0]["fieldViolations"]
    return {one["field"]: one["description"] for one in listed}


BAD_FIELD = (400, "INVALID_ARGUMENT", Reason.FIELD_INVALID)
NOT_FOUND = (404, "NOT_FOUND", Reason.RESOURCE_NOT_FOUND)
NO_PATH = (404, "NOT_FOUND", Reason.PATH_NOT_FOUND)

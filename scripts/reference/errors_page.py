"""The page of errors, from the catalogue of reasons and the code that raises them."""

from app.kernel.errors import DOMAIN, Reason, ServiceError
from scripts.reference.markdown import code, page, table
from scripts.reference.source import constructions, member_docstrings

_INTRODUCTION = f"""\
Every error has the shape of `google.rpc.Status`. Let your program check the `reason`, which is
stable, and never the message. `domain` is always `{DOMAIN}`.

```json
{{
  "error": {{
    "code": 404,
    "message": "projects/default/locations/local/reasoningEngines/1/memories/7 does not exist.",
    "status": "NOT_FOUND",
    "details": [
      {{
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "RESOURCE_NOT_FOUND",
        "domain": "{DOMAIN}",
        "metadata": {{}}
      }}
    ]
  }}
}}
```

- If fields are wrong, `details` also has a `BadRequest` with `fieldViolations`.
- If a later attempt may succeed, `details` has a `RetryInfo`, with the same time as the header
  `Retry-After`.
- The `error` of a failed operation has the same message and details; its `code` is the number of
  the gRPC code.
- Messages never repeat the text of memories, events or artifacts.

When to send a request again:

- Retry 429, 503 and 504, but not before the time of `Retry-After`.
- Before you retry a 409 with `ABORTED`, read the resource again.
- Any other request fails again if you do not change it.
- Send a request id with every change, so that the service executes it only once.
"""


def errors_page() -> str:
    """Return the page of errors."""
    return page(
        "Errors", _INTRODUCTION, "## Statuses\n", _statuses(), "## Reasons\n", reasons_table()
    )


def _statuses() -> str:
    return table(
        ("HTTP", "`status`", "gRPC code", "Meaning"),
        (
            (str(error.http), code(error.status), str(error.code), error.__doc__ or "")
            for error in sorted(ServiceError.__subclasses__(), key=lambda error: error.http)
        ),
    )


def reasons_table() -> str:
    """Return the table of all reasons."""
    texts = member_docstrings(Reason)
    statuses = _http_by_reason()
    return table(
        ("`reason`", "HTTP", "Meaning"),
        (
            (
                code(reason.value),
                ", ".join(str(http) for http in sorted(statuses.get(reason.name, ()))),
                texts.get(reason.name, ""),
            )
            for reason in Reason
        ),
    )


def _http_by_reason() -> dict[str, set[int]]:
    """Return the HTTP statuses with which the code gives each reason."""
    errors = {error.__name__: error for error in ServiceError.__subclasses__()}
    statuses: dict[str, set[int]] = {}
    for made in constructions():
        if error := errors.get(made.owner):
            for reason in made.attributes_of("Reason"):
                statuses.setdefault(reason, set()).add(made.number("http") or error.http)
    return statuses

"""Forms: reads the browser's requests into small models for API requests."""

import asyncio
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_origin
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from starlette.requests import Request

from app.kernel.errors import InvalidArgument, PermissionDenied, Reason, ServiceError
from app.settings.settings import Settings
from app.surfaces.console.carried import MOST_CHARS, Carried
from app.surfaces.console.sessions import OpenSession
from app.surfaces.console.texts import TEXTS
from app.web.body import LONG_BYTES, BodyPace, Incoming, media_type, read_body
from app.web.multipart import FormFile, open_upload

TOKEN = "token"  # noqa: S105 - the name of a field
"""The field that proves that a form belongs to this session."""
_MAX_FIELDS = 120
"""Room for the ticks of a page of a list."""
_MOST_KEPT_BYTES = 65_536
_MAX_ID_CHARS = 64
_MAX_DIGITS = 18
_ID_BYTES = 16
_KIND = "application/x-www-form-urlencoded"


class ConsoleForm(BaseModel):
    """The fields of a form. Those that it does not name are ignored."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class ChangeForm(ConsoleForm):
    """A change, which happens once however often the form with this id is sent."""

    request_id: str = Field(min_length=1, max_length=_MAX_ID_CHARS)

    def id_for(self, part: str) -> str:
        """Return the request id for one of the API requests of the form."""
        return f"{self.request_id}-{part}"


class VersionForm(ChangeForm):
    """A change of the version that the form was made of."""

    etag: str = Field(min_length=1)


_F = TypeVar("_F", bound=ConsoleForm)


def new_request_id() -> str:
    """Return an id for a new form, which makes its change idempotent."""
    return secrets.token_hex(_ID_BYTES)


def number_of(written: str) -> int | str:
    """Convert digits to an integer; other text is left for the API to refuse."""
    is_number = written.isascii() and written.isdigit() and len(written) <= _MAX_DIGITS
    return int(written) if is_number else written


def read_object(text: str) -> dict[str, Any]:
    """Parse a field as a JSON object.

    Raises:
        InvalidArgument: the text is not a JSON object.
    """
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        fault = TEXTS.not_json.format(fault=error)
        raise InvalidArgument(fault, Reason.FIELD_INVALID) from None
    if not isinstance(parsed, dict):
        fault = TEXTS.not_json.format(fault=type(parsed).__name__)
        raise InvalidArgument(fault, Reason.FIELD_INVALID)
    return parsed


async def read_form(request: Request, form: type[_F], session: OpenSession | None) -> _F:
    """Read the form of a request; within a session it must carry the session's token."""
    most = request.app.state.resources.settings.max_body_bytes
    return _checked(await _fields(request, most), form, session)


async def read_upload(
    request: Request, form: type[_F], session: OpenSession
) -> tuple[_F, FormFile]:
    """Read a form up to its file, which comes last."""
    fields, file = await open_upload(request, _MAX_FIELDS)
    try:
        return _checked(_gathered(fields), form, session), file
    except ServiceError:
        await file.drop()
        raise


def _checked(
    fields: Mapping[str, Sequence[str]], form: type[_F], session: OpenSession | None
) -> _F:
    token = fields.get(TOKEN, [""])[-1]
    if session is not None and not session.is_own_form(token):
        raise PermissionDenied(
            "The form is not of this session; go back, reload the page and send it again.",
            Reason.PERMISSION_MISSING,
        )
    try:
        return form.model_validate(_values(fields, form))
    except ValidationError as error:
        names = ", ".join(str(fault["loc"][0]) for fault in error.errors())
        raise InvalidArgument.of_field(
            names, "is missing from the form, or is not what it held; reload the page."
        ) from None


def _values(fields: Mapping[str, Sequence[str]], form: type[ConsoleForm]) -> dict[str, object]:
    """Return the last value of each field; for tuple fields, such as checkboxes, all values."""
    many = {
        field.alias for field in form.model_fields.values() if get_origin(field.annotation) is tuple
    }
    given = ((name, values) for name, values in fields.items() if values)
    return {name: values if name in many else values[-1] for name, values in given}


async def pack_form(request: Request, at: str, form: type[ConsoleForm]) -> str:
    """Return the fields of a form without a session, packed; empty: too long, or not a form."""
    known = {field.alias for field in form.model_fields.values()} - {"requestId"}
    try:
        fields = await _fields(request, _MOST_KEPT_BYTES)
    except ServiceError:
        return ""
    kept = {name: values for name, values in fields.items() if name in known}
    packed = Carried(at=at, fields=kept).packed()
    return packed if len(packed) <= MOST_CHARS else ""


def filled(kept: Carried, form: type[_F]) -> _F | None:
    """Return a form with fields that were kept; None: they are not its fields."""
    try:
        return form.model_validate({**_values(kept.fields, form), "requestId": new_request_id()})
    except ValidationError:
        return None


async def _fields(request: Request, most: int) -> dict[str, list[str]]:
    if media_type(request.headers.get("content-type")) != _KIND:
        raise InvalidArgument(f"Content-Type: must be {_KIND}.", Reason.BODY_NOT_JSON, http=415)
    settings: Settings = request.app.state.resources.settings
    pace = BodyPace(settings.tuning.body_seconds, settings.tuning.body_min_bytes_per_second)
    with Incoming(request.scope, request.receive, pace, is_streamed=False) as incoming:
        body = await read_body(request.scope, incoming.receive, most)
    if len(body) > LONG_BYTES:
        # In a thread, because parsing a long body would block the event loop.
        return await asyncio.to_thread(_parse, body)
    return _parse(body)


def _parse(body: bytes) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS
        )
    except ValueError:
        raise InvalidArgument("The form cannot be read.", Reason.BODY_NOT_JSON) from None
    return _gathered(pairs)


def _gathered(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    if any("\0" in text for pair in pairs for text in pair):
        fault = "The form holds the character U+0000, which cannot be stored."
        raise InvalidArgument(fault, Reason.FIELD_INVALID)
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return fields

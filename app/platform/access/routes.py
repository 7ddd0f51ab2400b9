"""Routes of API keys and of their holders; this service's own.

The routes of keys take no request id: the responses of create and rotate hold a secret that is not
stored, so a repeated request could not get it again.
"""

from app.kernel.permissions import Permission
from app.platform.access.schemas import (
    ApiKey,
    CallerInfo,
    CreateKeyRequest,
    ListKeysResponse,
    RotateKeyRequest,
)
from app.platform.access.services.access import KeyService
from app.web.context import Context
from app.web.demands import LIST, Demand, change
from app.web.names import KeyPath
from app.web.paths import SERVICE
from app.web.query import Filter, Page
from app.web.routing import Router

router = Router(
    "keys",
    demands={
        "createKey": change(Permission.KEYS_MANAGE),
        "listKeys": Demand(Permission.KEYS_MANAGE, LIST),
        "revokeKey": change(Permission.KEYS_MANAGE),
        "rotateKey": change(Permission.KEYS_MANAGE),
        "getKey": Demand(Permission.KEYS_MANAGE),
    },
)

self_router = Router("service", demands={"getSelf": Demand(None)})

_COLLECTION = SERVICE + "/keys"
_ONE = _COLLECTION + "/{key}"


@router.post(_COLLECTION, summary="Create a key", operation_id="createKey")
async def create_key(context: Context, body: CreateKeyRequest) -> ApiKey:
    """Create a key. Only this response has its `secret`; its permissions and reach never change."""
    return await KeyService.of(context.resources).create(body)


@router.get(_COLLECTION, summary="List keys", operation_id="listKeys")
async def list_keys(
    context: Context,
    page: Page,
    filter: Filter = None,  # noqa: A002 - the name on the wire
) -> ListKeysResponse:
    """List all keys, newest first, including revoked and expired ones.

    Filter by `key_id`, `scope_conditions` and `scope_conditions."key"`:
    `scope_conditions."user_id"="42"` finds the keys that this value binds.
    """
    return await KeyService.of(context.resources).list_keys(page, filter)


@router.post(_ONE + ":revoke", summary="Revoke a key", operation_id="revokeKey")
async def revoke_key(context: Context, key: KeyPath) -> ApiKey:
    """Revoke a key for good, everywhere within a second; refused for the last that manages keys."""
    return await KeyService.of(context.resources).revoke(key)


@router.post(_ONE + ":rotate", summary="Rotate a key", operation_id="rotateKey")
async def rotate_key(
    context: Context, key: KeyPath, body: RotateKeyRequest | None = None
) -> ApiKey:
    """Give a key a new `secret`, shown only here; former secrets end after `gracePeriod`."""
    request = body or RotateKeyRequest()
    return await KeyService.of(context.resources).rotate(key, request.grace_period)


@router.get(_ONE, summary="Get a key", operation_id="getKey")
async def get_key(context: Context, key: KeyPath) -> ApiKey:
    """Return a key in any state, without its secret."""
    return await KeyService.of(context.resources).get(key)


@self_router.get(SERVICE + "/self", summary="Get the caller", operation_id="getSelf")
async def get_self(context: Context) -> CallerInfo:
    """Return the caller: its key or token, its permissions, and its reach.

    Any valid key or token may call this method. The response never contains a secret.
    """
    return CallerInfo.from_caller(context.caller)

"""Whose the keys of a state are: the session's, its user's, or its engine's.

Keys that start with `user:` are shared by all sessions of a user; those with `app:`, by all
sessions of an engine; those with `temp:` live for one invocation of the agent, and are not stored.
Source: google-adk, `google.adk.sessions.State`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

USER = "user:"
APP = "app:"
_TEMPORARY = "temp:"


def lasting(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state, or a change of one, without what is not stored."""
    return {key: value for key, value in state.items() if not key.startswith(_TEMPORARY)}


@dataclass(frozen=True)
class Parts:
    """A state, or a change of one, by whose the keys are; they keep their prefixes."""

    own: Mapping[str, Any]
    user: Mapping[str, Any]
    app: Mapping[str, Any]

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "Parts":
        """Divide a state."""
        user = {key: value for key, value in state.items() if key.startswith(USER)}
        app = {key: value for key, value in state.items() if key.startswith(APP)}
        own = {key: value for key, value in state.items() if not key.startswith((USER, APP))}
        return cls(own, user, app)


@dataclass(frozen=True)
class Shared:
    """What sessions of an engine share.

    Attributes:
        users: the states of the users that were asked for.
        app: the state of the engine.
    """

    users: Mapping[str, Mapping[str, Any]]
    app: Mapping[str, Any]

    def merged(self, own: Mapping[str, Any], user_id: str) -> dict[str, Any]:
        """Return the state that a session of a user shows."""
        return {**own, **self.users.get(user_id, {}), **self.app}

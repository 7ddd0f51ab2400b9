"""Owners of state keys: the session, its user, or its engine.

Keys that start with `user:` are shared by all sessions of a user, keys with `app:` by all sessions
of an engine. Keys with `temp:` live for one invocation of the agent and are not stored. Source:
google-adk, `google.adk.sessions.State`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

USER = "user:"
APP = "app:"
_TEMPORARY = "temp:"


def lasting(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state, or a change of one, without the keys that are not stored."""
    return {key: value for key, value in state.items() if not key.startswith(_TEMPORARY)}


@dataclass(frozen=True)
class StateParts:
    """A state, or a change of one, divided by owner; keys keep their prefixes."""

    own: Mapping[str, Any]
    user: Mapping[str, Any]
    app: Mapping[str, Any]

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "StateParts":
        """Divide a state by owner."""
        user = {key: value for key, value in state.items() if key.startswith(USER)}
        app = {key: value for key, value in state.items() if key.startswith(APP)}
        own = {key: value for key, value in state.items() if not key.startswith((USER, APP))}
        return cls(own, user, app)


@dataclass(frozen=True)
class SharedState:
    """The shared states of an engine's sessions."""

    users: Mapping[str, Mapping[str, Any]]
    app: Mapping[str, Any]

    def merged(self, own: Mapping[str, Any], user_id: str) -> dict[str, Any]:
        """Return the merged state of a user's session."""
        return {**own, **self.users.get(user_id, {}), **self.app}

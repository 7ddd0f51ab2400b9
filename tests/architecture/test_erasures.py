"""Every table is erased with a scope, or has a reason to be left out."""

from app.adapters.db.conditions import conditioned_rows, table_of
from app.process.features import FEATURES
from app.process.metadata import metadata

CHANGED = {
    "api_keys": "keys end or lose the scope",
    "audit_events": "what was done stays, names and callers become aliases",
    "rate_buckets": "those of keys that end are removed",
    "service_audit_events": "as audit_events",
    "request_ids": "those whose operation, answer or caller tells of the scope are removed",
}
"""Tables whose rows belong to no scope, but may name one; `traces.py` changes them."""
LEFT_OUT = {
    "api_key_changes": "a number",
    "api_key_secrets": "digests of secrets, by key",
    "app_states": "what all users of an engine share",
    "console_sessions": "digests and the keys signed in, for some hours",
    "due_engines": "times of engines",
    "embedding_models": "lengths of vectors",
    "engine_totals": "sums that triggers correct",
    "engines": "configurations, which users do not write",
    "erasures": "pseudonyms; the scope goes at the end",
    "ids_carry_buckets_from": "a time",
    "model_usage": "sums of an engine and day",
    "pseudonym_keys": "a key",
    "processes": "the live processes of the service",
    "service_request_ids": "ids of requests that made engines, by key, for a day",
    "ticks": "names of periodic work",
}
"""Tables that hold nothing of a person, and what they hold."""


def test_every_table_is_erased_with_a_scope_or_has_a_reason_not_to_be() -> None:
    erased = {table for feature in FEATURES for one in feature.erasures for table in one.tables}
    bound = {table_of(row).name for row in conditioned_rows()}
    assert bound <= erased
    assert not erased & (CHANGED.keys() | LEFT_OUT.keys())
    assert erased | CHANGED.keys() | LEFT_OUT.keys() == {
        table.name for table in metadata.sorted_tables
    }

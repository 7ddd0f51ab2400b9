"""Statements by which `memory-bank check` examines sessions."""

from app.kernel.checks import Batches, CheckName, CountedRows, Examination, overdue
from app.kernel.limits import Counted

# Events of an expired session, or of a user who is being erased, go before the session.
_NUMBERS = """
select 'FAILED' as level,
    'its events are not numbered from 1 to its last number without a gap' as problem,
    s.engine_id, 'sessions/' || s.session_id as name
from sessions s
left join lateral (
    select count(*) as number, coalesce(min(seq), 1) as first, coalesce(max(seq), 0) as last
    from session_events e
    where e.engine_id = :engine and e.session_id = s.session_id
) found on true
where s.engine_id = :engine and s.session_id > :after and s.session_id <= :last
    and s.expire_time > statement_timestamp()
    and not exists (select from erasures where engine_id = :engine and scope is not null)
    and (found.number, found.first, found.last) <> (s.last_seq, 1, s.last_seq)
"""
EXAMINATIONS = (
    Examination(CheckName.SESSIONS, _NUMBERS, Batches("sessions", "session_id")),
    overdue("expired sessions", "sessions", "expire_time"),
)
COUNTED = (
    CountedRows(
        "sessions",
        {
            Counted.SESSIONS: "1",
            Counted.BYTES: (
                "octet_length(concat(display_name, labels, session_state, memory_policy))"
            ),
        },
    ),
    CountedRows("session_events", {Counted.EVENTS: "1", Counted.BYTES: "size_bytes"}),
    CountedRows("user_states", {Counted.BYTES: "octet_length(state::text)"}),
    CountedRows("app_states", {Counted.BYTES: "octet_length(state::text)"}),
)

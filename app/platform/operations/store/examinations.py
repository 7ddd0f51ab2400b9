"""Statements by which `memory-bank check` examines operations."""

from app.adapters.db.examinations import Examination
from app.kernel.checks import CheckName

_LEASES = """
select 'WARNING' as level,
    'runs by a lease that ended more than 10 minutes ago; a worker takes it over' as problem,
    engine_id, 'operations/' || operation_id as name
from operations
where state = 'RUNNING' and lease_until < statement_timestamp() - interval '10 minutes'
    and engine_id = coalesce(:engine, engine_id)
"""
_CONSEQUENCES = """
select 'NOTE' as level, 'old operations, which the next sweep removes' as problem,
    engine_id, null as name
from operations
where remove_time <= statement_timestamp() and engine_id = coalesce(:engine, engine_id)
"""
EXAMINATIONS = (
    Examination(CheckName.OPERATIONS, _LEASES),
    Examination(CheckName.CONSEQUENCES, _CONSEQUENCES),
)

"""Statements by which `memory-bank check` examines operations."""

from app.kernel.checks import CheckName, Examination, overdue

_LEASES = """
select 'WARNING' as level,
    'runs by a lease that ended more than 10 minutes ago; a worker takes it over' as problem,
    engine_id, 'operations/' || operation_id as name
from operations
where state = 'RUNNING' and lease_until < statement_timestamp() - interval '10 minutes'
    and {of_engine}
"""
EXAMINATIONS = (
    Examination(CheckName.OPERATIONS, _LEASES),
    overdue("old operations", "operations", "remove_time"),
)

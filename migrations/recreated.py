"""Tables of vectors made anew, where a database was restored without the extension they need.

What they held is computed again by the worker, from the texts that are there.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from app.process.metadata import metadata

# What is not embedded yet is found by words meanwhile.
_MEMORIES = (
    "alter table memory_vectors alter column vector set storage plain",
    "update scope_indexes set is_ready = false",
    """
    insert into unembedded_memories (engine_id, memory_id)
    select engine_id, memory_id from memories where fact is not null and delete_time is null
    on conflict do nothing
    """,
)
# As tasks/indexing.py queues it; an operation that waits already does all that its namespace lacks.
_NAMESPACES = (
    """
    with lacking as (
        select n.*, format('tasks.embed/%s/%s', n.memory, n.namespace) as key,
            format('projects/%s/locations/%s/reasoningEngines/%s', project, location, engine_id)
                as engine_name,
            (extract(epoch from clock_timestamp()) * 1000)::bigint * 100000 as first_id
        from task_namespaces n join engines e using (engine_id)
        where n.embedding_model is not null and e.delete_time is null
    )
    insert into operations (
        engine_id, operation_id, engine_name, kind, key, state, request, details,
        create_time, update_time, due_time, scopes
    )
    select
        engine_id, (first_id + row_number() over ())::text, engine_name, 'tasks.embed', key,
        'PENDING', jsonb_build_object('memory', memory, 'namespace', namespace),
        jsonb_build_object('@type',
            'type.googleapis.com/google.cloud.aiplatform.v1beta1.EmbedNamespaceOperationMetadata'),
        clock_timestamp(), clock_timestamp(), clock_timestamp(),
        case when user_id is not null
            then jsonb_build_object('user_id', jsonb_build_array(user_id)) end
    from lacking l
    where not exists (
        select from operations o
        where o.engine_id = l.engine_id and o.kind = 'tasks.embed' and o.key = l.key
            and o.state = 'PENDING' and not o.cancel_requested
    )
    """,
)
_QUEUE = {"memory_vectors": _MEMORIES, "task_vectors": _NAMESPACES}


def recreate(connection: Connection, names: Sequence[str]) -> None:
    """Make tables of vectors anew, empty, and queue what they held."""
    for name in names:
        table = metadata.tables[name]
        table.drop(connection, checkfirst=True)
        table.create(connection)
        for statement in _QUEUE[name]:
            connection.execute(text(statement))

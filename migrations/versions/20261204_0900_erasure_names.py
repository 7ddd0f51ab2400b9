"""Has the refusal of a write to a scope that is being erased name the operation and its state.

The function is replaced; its triggers stay.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "c7e4a52d0900"
down_revision: str | None = "b6d2f41c0900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_IS_OF_WRITTEN = """case tg_argv[0]
            when 'scope' then written -> 'scope' @> scope
            when 'scopes' then written ->> 'kind' <> 'engines.eraseScope' and not exists (
                select from jsonb_each_text(scope) as pair
                where not coalesce(written -> 'scopes' -> pair.key ? pair.value, false)
            )
            else has_sessions
                and scope = jsonb_build_object('user_id', written ->> 'user_id')
        end"""
_NAMING = f"""
create or replace function refuse_write_to_erased_scope() returns trigger language plpgsql as $$
declare
    written jsonb;
    erasing record;
begin
    if not exists (
        select from erasures where engine_id = new.engine_id and scope is not null
    ) then
        return new;
    end if;
    written := to_jsonb(new);
    select engine_name || '/operations/' || operation_id as operation, (
        select state from operations as o
        where o.engine_id = new.engine_id and o.operation_id = erasures.operation_id
    ) as state
    into erasing
    from erasures
    where engine_id = new.engine_id and scope is not null and {_IS_OF_WRITTEN}
    order by start_time
    limit 1;
    if found then
        raise exception 'the scope is being erased' using
            errcode = 'OMB01', detail = erasing.operation, hint = coalesce(erasing.state, '');
    end if;
    return new;
end
$$
"""  # noqa: S608 - of constants
_FORMER = f"""
create or replace function refuse_write_to_erased_scope() returns trigger language plpgsql as $$
declare
    written jsonb;
begin
    if not exists (
        select from erasures where engine_id = new.engine_id and scope is not null
    ) then
        return new;
    end if;
    written := to_jsonb(new);
    if exists (
        select from erasures
        where engine_id = new.engine_id and scope is not null and {_IS_OF_WRITTEN}
    ) then
        raise exception 'the scope is being erased' using errcode = 'OMB01';
    end if;
    return new;
end
$$
"""  # noqa: S608 - of constants


def upgrade() -> None:
    op.execute(_NAMING)


def downgrade() -> None:
    op.execute(_FORMER)

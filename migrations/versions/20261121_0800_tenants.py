"""Whom operations concern, and who asked for them; what API keys may do and reach.

Every change by which a key may end, or a secret that was not made here begin, marks the keys as
changed: what a process knows of keys holds as long as the mark stays. A trigger sees to it, so that
a statement that someone sends by hand acts as soon. What marks keys takes the lock of `hold` first.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "b1c40e5a0800"
down_revision: str | None = "b1c40e5a0434"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_MARK = """
create function mark_api_keys() returns trigger language plpgsql as $$
begin
    insert into api_key_changes (id, version)
    values (1, pg_current_xact_id()::text::bigint)
    on conflict (id) do update set version = excluded.version;
    return null;
end
$$
"""
_ENDS = """
create trigger {table}_ends after update{columns} or delete or truncate on {table}
for each statement execute function mark_api_keys()
"""
# Not the last use, which says nothing of whether the key works.
_DECISIVE = " of roles, permissions, projects, engines, scope_conditions, expire_time, revoke_time"
_BEGINS = """
create trigger api_key_secrets_begins after insert on api_key_secrets
for each row when (not new.is_minted) execute function mark_api_keys()
"""


def upgrade() -> None:
    op.add_column("operations", sa.Column("scopes", JSONB(), nullable=True))
    op.add_column("operations", sa.Column("caller", sa.Text(), nullable=True))
    op.create_table(
        "api_key_secrets",
        sa.Column("secret_hash", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("is_minted", sa.Boolean(), nullable=False),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expire_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("is_configured", sa.Boolean(), nullable=False, server_default=sa.text("false")),
        sa.PrimaryKeyConstraint("secret_hash", name="pk_api_key_secrets"),
        sa.ForeignKeyConstraint(
            ["key_id"], ["api_keys.key_id"], name="fk_api_key_secrets_api_keys", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_api_key_secrets_key_id", "api_key_secrets", ["key_id"])
    op.create_index(
        "ix_api_key_secrets_own_shape",
        "api_key_secrets",
        ["secret_hash"],
        postgresql_where=sa.text("not is_minted"),
    )
    # Keys of earlier releases go on with every right, as they had. Nobody could name one: those
    # that are called so are the settings'.
    op.execute(
        "insert into api_key_secrets"
        " (secret_hash, key_id, is_minted, create_time, is_configured)"
        " select secret_hash, key_id, false, create_time, display_name = 'configured'"
        " from api_keys"
    )
    op.drop_constraint("uq_api_keys_secret_hash", "api_keys", type_="unique")
    op.drop_column("api_keys", "secret_hash")
    every = sa.text("""'["admin"]'""")
    none = sa.text("'[]'")
    op.add_column("api_keys", sa.Column("roles", JSONB(), nullable=False, server_default=every))
    op.add_column(
        "api_keys", sa.Column("permissions", JSONB(), nullable=False, server_default=none)
    )
    op.alter_column("api_keys", "roles", server_default=None)
    op.alter_column("api_keys", "permissions", server_default=None)
    for name in ("projects", "engines", "scope_conditions"):
        op.add_column("api_keys", sa.Column(name, JSONB(), nullable=True))
    for name in ("expire_time", "revoke_time", "last_use_time"):
        op.add_column("api_keys", sa.Column(name, sa.DateTime(timezone=True), nullable=True))
    op.add_column("api_keys", sa.Column("creator", sa.Text(), nullable=True))
    op.create_index("ix_api_keys_create_time", "api_keys", ["create_time", "key_id"])
    op.create_table(
        "api_key_changes",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_api_key_changes"),
    )
    op.execute(_MARK)
    op.execute(_ENDS.format(table="api_keys", columns=_DECISIVE))
    op.execute(_ENDS.format(table="api_key_secrets", columns=""))
    op.execute(_BEGINS)


def downgrade() -> None:
    op.execute("drop function mark_api_keys() cascade")
    op.drop_table("api_key_changes")
    op.drop_index("ix_api_keys_create_time", "api_keys")
    op.add_column("api_keys", sa.Column("secret_hash", sa.LargeBinary(), nullable=True))
    # One secret a key: the newest that works. A key that was bound would be let loose.
    op.execute(
        "delete from api_keys where revoke_time is not null or roles <> '[\"admin\"]'"
        " or projects is not null or engines is not null or scope_conditions is not null"
        " or expire_time is not null"
    )
    op.execute(
        "update api_keys k set secret_hash = (select s.secret_hash from api_key_secrets s"
        " where s.key_id = k.key_id and s.expire_time is null"
        " order by s.create_time desc limit 1)"
    )
    op.execute("delete from api_keys where secret_hash is null")
    op.alter_column("api_keys", "secret_hash", nullable=False)
    op.create_unique_constraint("uq_api_keys_secret_hash", "api_keys", ["secret_hash"])
    for name in (
        "roles",
        "permissions",
        "projects",
        "engines",
        "scope_conditions",
        "expire_time",
        "revoke_time",
        "last_use_time",
        "creator",
    ):
        op.drop_column("api_keys", name)
    op.drop_table("api_key_secrets")
    op.drop_column("operations", "caller")
    op.drop_column("operations", "scopes")

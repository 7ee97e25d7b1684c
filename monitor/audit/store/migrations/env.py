"""What alembic runs: the connection is the caller's, who also ends the transaction."""

from __future__ import annotations

from alembic import context

from monitor.audit.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()

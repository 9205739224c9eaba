"""Alembic environment: uses the connection and transaction of `migrating.migrate`."""

from alembic import context

from stores.ledger.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    compare_type=True,
    compare_server_default=True,
    render_as_batch=True,
)
context.run_migrations()

"""Bringing a database to the present schema, with Alembic but without its configuration file or log."""

from pathlib import Path
from threading import Lock

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, text

from stores.errors import InvalidSetting

SCRIPTS = Path(__file__).parent / "migrations"

_LOCK = 7_150_423_911
"""Any number that nobody else locks: two processes must not migrate one PostgreSQL at the same time."""


_ONE_AT_A_TIME = Lock()
"""Alembic keeps the migration that runs in module globals."""


def migrate(connection: Connection) -> None:
    """Apply the migrations that are missing, in the caller's transaction.

    Raises:
        InvalidSetting: The database has migrations that this version does not know.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    try:
        with _ONE_AT_A_TIME:
            command.upgrade(alembic_config(connection), "head")
    except CommandError as error:
        raise InvalidSetting(
            "The ledger was written by a newer version of Engrain.",
            remediation="Install that version, or restore a backup that this one made.",
        ) from error


def alembic_config(connection: Connection) -> Config:
    """Return what Alembic needs to work on a connection."""
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config

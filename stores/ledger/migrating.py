"""Bringing a database to the present schema, with Alembic but without its configuration file or log."""

from pathlib import Path
from threading import Lock

from sqlalchemy import Connection, inspect, text

from stores.errors import InvalidSetting

HEAD = "0008"
"""The latest migration."""

SCRIPTS = Path(__file__).parent / "migrations"

_ADVISORY_LOCK = 7_150_423_911
"""Any number that nobody else locks: two processes must not migrate one PostgreSQL at the same time."""

_ONE_AT_A_TIME = Lock()
"""Alembic keeps the migration that runs in module globals."""


def migrate(connection: Connection) -> None:
    """Apply the migrations that are missing, in the caller's transaction.

    Raises:
        InvalidSetting: The database has migrations that this version does not know.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ADVISORY_LOCK})
    if _version(connection) != HEAD:
        with _ONE_AT_A_TIME:
            _upgrade(connection)


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(connection: Connection) -> None:
    # Importing Alembic takes as long as importing SQLAlchemy, and a start rarely needs it.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise InvalidSetting(
            "The ledger was written by a newer version of Engrain.",
            remediation="Install that version, or restore a backup that this one made.",
        ) from error

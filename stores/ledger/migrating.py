"""Creation and migration of the tables."""

from pathlib import Path
from threading import Lock

from sqlalchemy import Connection, inspect, text

from stores.errors import InvalidSetting
from stores.ledger.schema import metadata

HEAD = "0001_baseline"

SCRIPTS = Path(__file__).parent / "migrations"

_ADVISORY_LOCK = 7_150_423_911
"""Arbitrary, but unique within the database."""

_ONE_AT_A_TIME = Lock()  # Alembic keeps the running migration in module globals.


def migrate(connection: Connection) -> None:
    """Create the tables, or apply missing migrations; InvalidSetting for those of a newer version."""
    if connection.dialect.name == "postgresql":
        # Two processes must not migrate one PostgreSQL database at the same time.
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ADVISORY_LOCK})
    version = _version(connection)
    if version is None:
        _create(connection)
    elif version != HEAD:
        with _ONE_AT_A_TIME:
            _upgrade(connection, version)


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _create(connection: Connection) -> None:
    # Stamped by hand: importing Alembic takes as long as importing SQLAlchemy.
    metadata.create_all(connection)
    connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)"))
    connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})


def _upgrade(connection: Connection, version: str) -> None:
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    from stores.backup import write_backup  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        ScriptDirectory.from_config(config).get_revision(version)
    except CommandError as error:
        raise InvalidSetting(
            f"The ledger was written by a newer version of Engrain: it has schema {version}, this one knows {HEAD}.",
            remediation="Install that version, or restore a backup that this one made.",
        ) from error
    if (file := connection.engine.url.database) and connection.dialect.name == "sqlite":
        write_backup(Path(file).parent)
    command.upgrade(config, "head")

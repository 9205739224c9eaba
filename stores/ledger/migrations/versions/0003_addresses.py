"""E-mail addresses are compared with ASCII letters in lower case, no longer case-folded: others are other mailboxes."""

from string import ascii_lowercase, ascii_uppercase

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def upgrade() -> None:
    for table in ("users", "invitations"):
        _recompute(sa.table(table, sa.column("id"), sa.column("email"), sa.column("email_key")))


def _recompute(table: sa.TableClause) -> None:
    """Rewrite the keys of the addresses that have other letters.

    None is in the way of another one: what this rule finds equal, folding did too.
    """
    connection = op.get_bind()
    found = connection.execute(sa.select(table.c.id, table.c.email)).all()
    for each in found:
        if not each.email.isascii():
            statement = sa.update(table).where(table.c.id == each.id)
            connection.execute(statement.values(email_key=each.email.translate(LOWER)))

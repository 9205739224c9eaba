"""The owner of a data folder, whose commands need no login: what proves them is that they can read a file in it."""

import getpass
import secrets
from contextlib import suppress

from auth.api_keys import KeyRequest
from auth.principal import SESSION_SCOPES, Principal
from stores.errors import AuthenticationRequired, Forbidden
from stores.folder import LOCAL_KEY, replace_file
from stores.ledger import AuditDraft
from stores.records import ApiKey, JsonObject
from tools.app import App

ADDRESS = "owner@localhost"


def keep_local_key(app: App) -> None:
    """Keep a valid API key of the first admin in the data folder; make an owner if nobody has signed up. It blocks."""
    path = app.folder.path / LOCAL_KEY
    with suppress(OSError, UnicodeDecodeError, AuthenticationRequired, Forbidden):
        app.accounts.keys.authenticate(path.read_text().strip())
        path.chmod(0o600)
        return
    owner = _owner(app)

    def audit(key: ApiKey) -> AuditDraft:
        details: JsonObject = {"name": key.name, "prefix": key.prefix, "scopes": list(key.scopes)}
        return AuditDraft("api_key.create", key.organization_id, owner.user_id, key.id, details, {})

    wanted = KeyRequest("commands of this machine", True, sorted(SESSION_SCOPES), (), None)
    path.unlink(missing_ok=True)  # Its mode is not kept.
    replace_file(path, app.accounts.keys.create(owner, wanted, audit)[1].encode())


def _owner(app: App) -> Principal:
    with suppress(AuthenticationRequired):
        return app.accounts.local_principal()
    name = "Owner"
    with suppress(OSError, KeyError):
        name = getpass.getuser()
    # Nobody knows this password: the way in is the key.
    app.accounts.create(ADDRESS, secrets.token_urlsafe(32), name)
    return app.accounts.local_principal()

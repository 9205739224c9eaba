"""Client of a server for commands: address, login, errors.

Every failure is a `CommandFailed`, which `guarded` prints.
"""

from cli.client.client import Client, ToolAnswer, open_client
from cli.client.failure import CommandFailed, guarded

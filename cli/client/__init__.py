"""How commands talk to a server: which one, as whom, and in words when it does not work.

`open_client` is all that a command needs; everything that can go wrong is a `CommandFailed`, which `guarded` prints.
"""

from cli.client.client import Client, open_client
from cli.client.failure import CommandFailed, guarded

__all__ = ["Client", "CommandFailed", "guarded", "open_client"]

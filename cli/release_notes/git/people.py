"""Who wrote a commit: names as `.mailmap` wants them."""

from pathlib import PurePosixPath

import pygit2

from cli.release_notes.git.text import decoded
from cli.release_notes.git.trees import blob_at, text_of

MAILMAP = PurePosixPath(".mailmap")


class Names:
    """Resolves names and addresses, each pair once."""

    def __init__(self, repository: pygit2.Repository, newer: pygit2.Commit) -> None:
        self._maps = _mailmaps(repository, newer)
        self._known: dict[tuple[str, str], tuple[str, str]] = {}

    def of(self, signature: pygit2.Signature) -> tuple[str, str]:
        """Return the name and the address of a signature."""
        return self.resolve(decoded(signature.raw_name), decoded(signature.raw_email))

    def resolve(self, name: str, email: str) -> tuple[str, str]:
        """Return the proper name and address for those that a commit states."""
        key = (name, email)
        if key not in self._known:
            for mailmap in self._maps:
                name, email = mailmap.resolve(name, email)
            self._known[key] = (name.strip() or email, email.strip())
        return self._known[key]


def _mailmaps(repository: pygit2.Repository, newer: pygit2.Commit) -> list[pygit2.Mailmap]:
    """Return the mailmap as Git would read it here; where it reads none, that of the newer end."""
    maps = []
    text = text_of(repository, blob_at(repository, newer, str(MAILMAP)))
    if text is not None:
        maps.append(pygit2.Mailmap.from_buffer(text))
    try:
        maps.append(pygit2.Mailmap.from_repository(repository))
    except (pygit2.GitError, KeyError, ValueError):
        return maps
    return maps

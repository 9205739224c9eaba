"""The objects of the Git library under names of our own: the analysis passes them on and calls little on them."""

from pygit2 import Commit as CommitObject
from pygit2 import Diff, GitError, Oid, Repository

__all__ = ["CommitObject", "Diff", "GitError", "Oid", "Repository"]

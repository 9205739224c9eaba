"""Aliases of libgit2 objects for the analysis."""

from pygit2 import Commit as CommitObject
from pygit2 import Diff, GitError, Oid, Repository

__all__ = ["CommitObject", "Diff", "GitError", "Oid", "Repository"]

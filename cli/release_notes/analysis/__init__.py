"""Facts of a release: the changes between two commits, and their impact on users."""

from cli.release_notes.analysis.analyse import analyse

__all__ = ["analyse"]

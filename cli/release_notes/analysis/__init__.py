"""Facts of a release: the changes between two commits."""

from cli.release_notes.analysis.analyse import analyse

__all__ = ["analyse"]

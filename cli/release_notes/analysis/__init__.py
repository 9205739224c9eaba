"""What changed between two commits, and how much users will notice: `analyse` gives the facts of a release."""

from cli.release_notes.analysis.analyse import analyse

__all__ = ["analyse"]

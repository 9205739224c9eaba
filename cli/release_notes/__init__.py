"""`engrain release-notes`: what changed between two points of a Git repository, as facts, then as a document."""

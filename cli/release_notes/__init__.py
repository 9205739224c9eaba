"""`engrain release-notes`: the changes between two points of a Git repository, as a document."""

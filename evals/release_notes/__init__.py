"""`engrain eval release-notes`: notes of replayed logs against manual labels."""

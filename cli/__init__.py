"""The `engrain` command for people."""

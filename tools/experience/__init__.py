"""Operational experience: runs as clients report them, with the records that are made of each."""

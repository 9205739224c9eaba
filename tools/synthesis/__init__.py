"""Synthesis: documents that are compiled from what the caller may read, each statement with the records it rests on.

`outline` plans sections, `gathering` fills their source packs, `statements` says what stands in the sources, `writing`
makes the document, `verifying` holds it against them, `remembering` keeps it; `operations` are the ways in.
"""

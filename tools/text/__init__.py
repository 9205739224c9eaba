"""Texts of others, made fit for documents that Engrain writes, and what such a document says held against them."""

"""The document: sections of statements with their commits, and their Markdown."""

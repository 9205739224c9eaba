"""The document: sections of statements, each with its commits, and how they are written down."""

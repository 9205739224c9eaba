"""Imports: adapters read other tools' files, and the server stores the records."""

"""Imports: adapters read other tools' files, and the server keeps what they yield."""

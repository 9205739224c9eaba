"""HTTP surface, generated from the catalogue."""

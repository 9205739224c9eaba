"""The analytics."""

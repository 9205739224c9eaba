"""Documentation is a test."""

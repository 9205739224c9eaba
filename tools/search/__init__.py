"""The search verb, citations and exposure."""

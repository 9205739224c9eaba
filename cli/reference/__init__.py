"""`engrain reference`: the documentation's reference pages, generated from the code that they describe."""

from cli.reference.writing import pages, run_reference

__all__ = ["pages", "run_reference"]

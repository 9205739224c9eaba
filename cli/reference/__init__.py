"""`engrain reference`: reference pages generated from the code."""

from cli.reference.writing import pages, run_reference

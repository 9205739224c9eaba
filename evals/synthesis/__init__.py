"""`engrain eval synthesis`: documents against the records that they must cite."""

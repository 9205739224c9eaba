"""Language models, against a server of our own."""

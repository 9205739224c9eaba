"""`engrain setup` connects coding agents to Engrain; their hooks call `engrain hook`."""

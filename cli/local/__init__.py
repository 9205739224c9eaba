"""What the commands learn from this machine."""

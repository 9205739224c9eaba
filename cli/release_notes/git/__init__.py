"""Git, read through libgit2. No other package imports the library; nothing is written but a clone while it lasts."""

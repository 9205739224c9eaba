"""The server of this user's data folder: found by its lock, started in the background, used without a login."""

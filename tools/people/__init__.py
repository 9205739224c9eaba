"""Accounts, sign-in, organizations, teams and keys."""

"""The client of a remote cuihop service."""

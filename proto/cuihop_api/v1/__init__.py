"""Version 1 of the contract."""

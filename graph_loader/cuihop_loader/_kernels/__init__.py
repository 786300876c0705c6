"""Compiled loops. Each module is imported on first use only, because numba takes a second to import."""

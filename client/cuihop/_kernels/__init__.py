"""Compiled loops. Every module but `shared` imports numba, so it is imported where it is needed."""

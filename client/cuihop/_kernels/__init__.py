"""Compiled loops. Importing a module of this package imports numba, so nothing imports one before it is needed."""

"""Comparison of systems: differences, significance tests, score cards."""

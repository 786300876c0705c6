"""Concepts of texts: the values of an annotation, its options, and the rules that need no graph."""

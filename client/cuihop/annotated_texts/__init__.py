"""Texts with identifiers, and their concepts: read, annotated in bulk, written and scored."""

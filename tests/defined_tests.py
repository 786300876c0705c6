"""The names of the tests of a file, for pages that refer to them."""

from __future__ import annotations

import ast
from functools import cache

from shared_data import ROOT

__all__ = ["defined_in"]


@cache
def defined_in(file: str) -> set[str]:
    """The functions and classes of a file, named from the root of the repository."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}

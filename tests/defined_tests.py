"""The names of the tests of a file, for pages that refer to them."""

from __future__ import annotations

import ast
from functools import cache

from shared_data import ROOT

__all__ = ["defined_in"]


@cache
def defined_in(file: str) -> set[str]:
    """The tests of a file that is named from the root of the repository; ``TestClass::test`` for those of a class."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    owned = {f"{each.name}::{node.name}" for each in classes for node in each.body if isinstance(node, ast.FunctionDef)}
    return owned | {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}

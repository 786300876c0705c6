"""What docstrings refer to is there."""

from __future__ import annotations

import ast
import importlib
import re

from shared_data import ROOT

CLIENT = ROOT / "client" / "cuihop"


def exists(reference: str) -> bool:
    """Whether this is a module, or something that can be reached from one."""
    parts = reference.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            found = getattr(found, name, None)
        return found is not None
    return False


def test_references_in_docstrings_lead_somewhere() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {reference}"
        for path in sorted(CLIENT.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for reference in re.findall(r"`(cuihop(?:\.\w+)+)`", node.value.value)
        if not exists(reference)
    ]
    assert not wrong


def test_a_reference_that_leads_nowhere_is_seen() -> None:
    assert exists("cuihop.evaluation.qrels.Qrels.read")
    assert not exists("cuihop.evaluation.codes")
    assert not exists("cuihop.evaluation.qrels.Judgements")

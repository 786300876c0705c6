"""The reference of the Python library: which modules, in which order. Autodoc takes the rest from their docstrings."""

from __future__ import annotations

import importlib
import inspect

__all__ = ["MODULES", "python_reference"]

MODULES = {
    "The library": ("cuihop.connection", "cuihop.graph", "cuihop.snapshot", "cuihop.identifiers", "cuihop.errors"),
    "Measures": ("cuihop.measures",),
    "Evaluation": (
        "cuihop.evaluation.image_concepts",
        "cuihop.evaluation.rankings",
        "cuihop.evaluation.ranking_in_memory",
        "cuihop.evaluation.baselines",
        "cuihop.evaluation.whole_collection",
        "cuihop.evaluation.result",
        "cuihop.evaluation.score_card",
        "cuihop.evaluation.judged",
        "cuihop.evaluation.qrels",
        "cuihop.evaluation.image_labels",
        "cuihop.evaluation.comparison",
        "cuihop.evaluation.concept_detection",
    ),
    "Loading": ("cuihop_loader",),
}


def python_reference() -> str:
    """Every public name of every module, once: where it is defined, or where users import it from."""
    parts: list[str] = []
    told: set[int] = set()
    for chapter, modules in MODULES.items():
        parts.append(f"## {chapter}")
        for name in modules:
            module = importlib.import_module(name)
            parts += [f"### `{name}`", _directive("automodule", name)]
            for public in module.__all__:
                value = getattr(module, public)
                if id(value) in told or not (inspect.isclass(value) or inspect.isroutine(value)):
                    continue
                told.add(id(value))
                kind = "autoclass" if inspect.isclass(value) else "autofunction"
                parts.append(_directive(kind, f"{name}.{public}"))
    return "\n\n".join(parts)


def _directive(kind: str, name: str) -> str:
    options = "\n   :members:\n   :show-inheritance:" if kind == "autoclass" else ""
    return f"```{{eval-rst}}\n.. {kind}:: {name}{options}\n```"

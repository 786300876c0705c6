"""The reference of the Python library: its modules in order. Autodoc takes the rest from their docstrings."""

from __future__ import annotations

import importlib
import inspect
from typing import Literal, get_args, get_origin

from sphinx.pycode import ModuleAnalyzer

from markdown_cells import cell

__all__ = ["MODULES", "python_reference"]

MODULES = {
    "The library": (
        "cuihop.connection",
        "cuihop.graph",
        "cuihop.snapshot.graph",
        "cuihop.snapshot.distance_index",
        "cuihop.snapshot.index_builder",
        "cuihop.explanation.graph_pictures",
        "cuihop.adapters.graph_export",
        "cuihop.identifiers",
        "cuihop.resources.resources",
        "cuihop.errors",
    ),
    "Measures": ("cuihop.measures", "cuihop.measures.nearness"),
    "Evaluation": (
        "cuihop.collection.image_concepts",
        "cuihop.collection.dataset",
        "cuihop.rankings.ranking",
        "cuihop.rankings.reading",
        "cuihop.rankings.in_memory",
        "cuihop.relevance.baselines",
        "cuihop.evaluation.evaluate",
        "cuihop.evaluation.result",
        "cuihop.comparison.score_card",
        "cuihop.collection.judgements",
        "cuihop.collection.labels",
        "cuihop.comparison.comparison",
        "cuihop.comparison.paired_tests",
        "cuihop.notebooks.table",
        "cuihop.imageclef.concept_detection",
        "cuihop.imageclef.irma_codes",
    ),
    "Explanation of values": (
        "cuihop.explanation.pair",
        "cuihop.explanation.query",
        "cuihop.explanation.sensitivity",
        "cuihop.explanation.values",
        "cuihop.explanation.picture",
    ),
    "Other tools": (
        "cuihop.adapters.pandas",
        "cuihop.adapters.pytrec_eval",
        "cuihop.adapters.ir_measures",
        "cuihop.adapters.ranx",
        "cuihop.adapters.sklearn",
        "cuihop.adapters.integer_gains",
        "cuihop.files.tensors",
    ),
    "Graphs elsewhere": ("cuihop.neo4j_graph.graph", "cuihop.remote.graph", "cuihop.remote.settings"),
    "Loading": ("cuihop_loader", "cuihop_loader.demo"),
}


_LONGEST = 100
"""Letters of a constant that is shown."""


def python_reference() -> str:
    """Every public name of every module, once: in the module that defines it, or that users import it from."""
    parts: list[str] = []
    documented: set[str] = set()
    for chapter, modules in MODULES.items():
        parts.append(f"## {chapter}")
        for name in modules:
            module = importlib.import_module(name)
            parts += [f"### `{name}`", _directive("automodule", name)]
            comments = ModuleAnalyzer.for_module(name).find_attr_docs()
            for public in module.__all__:
                value = getattr(module, public)
                called = inspect.isclass(value) or inspect.isroutine(value)
                same = f"{value.__module__}.{value.__qualname__}" if called else public
                if same in documented:
                    continue
                documented.add(same)
                if inspect.isclass(value):
                    parts.append(_directive("autoclass", f"{name}.{public}"))
                elif called:
                    parts.append(_directive("autofunction", f"{name}.{public}"))
                else:
                    choices = get_args(value) if get_origin(value) is Literal else [value]
                    words = " or ".join(f"`{one!r}`" for one in choices if len(repr(one)) <= _LONGEST)
                    comment = cell(" ".join(comments.get(("", public), [])))
                    parts.append(f"```{{py:data}} {name}.{public}\n\n{words}. {comment}\n```")
    return "\n\n".join(parts)


def _directive(kind: str, name: str) -> str:
    options = "\n   :members:\n   :show-inheritance:" if kind == "autoclass" else ""
    return f"```{{eval-rst}}\n.. {kind}:: {name}{options}\n```"

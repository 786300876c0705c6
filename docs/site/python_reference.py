"""The reference of the Python library: its public names with their signatures and docstrings, from the source text."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from markdown_cells import cell, table

__all__ = ["MODULES", "python_reference"]

MODULES = {
    "The library": (
        "cuihop.connection",
        "cuihop.graph",
        "cuihop.annotation.mentions",
        "cuihop.annotation.options",
        "cuihop.snapshot.graph",
        "cuihop.snapshot.distance_index",
        "cuihop.snapshot.index_builder",
        "cuihop.snapshot.neighbour_dictionary",
        "cuihop.graph_wrapper",
        "cuihop.explanation.graph_pictures",
        "cuihop.adapters.graph_export",
        "cuihop.identifiers",
        "cuihop.resources.resources",
        "cuihop.errors",
    ),
    "Measures": ("cuihop.measures", "cuihop.measures.nearness"),
    "Similarity": ("cuihop.similarity", "cuihop.snapshot.all_similarities"),
    "Evaluation": (
        "cuihop.collection.image_concepts",
        "cuihop.collection.concept_tables",
        "cuihop.collection.dataset",
        "cuihop.rankings.ranking",
        "cuihop.rankings.reading",
        "cuihop.rankings.in_memory",
        "cuihop.rankings.pooling",
        "cuihop.relevance.baselines",
        "cuihop.evaluation.evaluate",
        "cuihop.evaluation.shards",
        "cuihop.cluster.open_cluster",
        "cuihop.evaluation.result",
        "cuihop.evaluation.groups",
        "cuihop.evaluation.test_vectors",
        "cuihop.comparison",
        "cuihop.comparison.score_card",
        "cuihop.collection.judgements",
        "cuihop.collection.labels",
        "cuihop.collection.label_classes",
        "cuihop.comparison.comparison",
        "cuihop.comparison.system_groups",
        "cuihop.comparison.paired_tests",
        "cuihop.notebooks.table",
        "cuihop.imageclef.concept_detection",
        "cuihop.imageclef.detected_concepts",
        "cuihop.imageclef.detection_scores",
        "cuihop.imageclef.irma_codes",
        "cuihop.imageclef.training_frequency",
    ),
    "Reports": ("cuihop.reports",),
    "Explanation of values": (
        "cuihop.explanation.pair",
        "cuihop.explanation.query",
        "cuihop.explanation.sensitivity",
        "cuihop.explanation.values",
        "cuihop.explanation.picture",
    ),
    "Agreement with people": (
        "cuihop.agreement",
        "cuihop.agreement.agreement",
        "cuihop.agreement.result",
        "cuihop.agreement.scored_pairs",
        "cuihop.agreement.term_concepts",
    ),
    "Annotated texts": ("cuihop.annotated_texts",),
    "Captions": ("cuihop.captions",),
    "Other tools": (
        "cuihop.adapters.annotators",
        "cuihop.adapters.metamaplite",
        "cuihop.adapters.ctakes",
        "cuihop.adapters.caption_models",
        "cuihop.adapters.local_models",
        "cuihop.adapters.image_similarity",
        "cuihop.adapters.text_models",
        "cuihop.adapters.pandas",
        "cuihop.adapters.pytrec_eval",
        "cuihop.adapters.ir_measures",
        "cuihop.adapters.ranx",
        "cuihop.adapters.sklearn",
        "cuihop.adapters.integer_gains",
        "cuihop.files.arrays",
    ),
    "Graphs elsewhere": ("cuihop.neo4j_graph.graph", "cuihop.remote.graph", "cuihop.remote.settings"),
    "Loading": ("cuihop_loader", "cuihop_loader.demo"),
}

_WIDE = 100
"""Characters of a signature on one line."""

_SECTIONS = ("Args:", "Attributes:", "Raises:", "Returns:")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class _Definition:
    """The place where a public name is defined: the statement, and the string below it for a constant."""

    module: str
    node: ast.stmt
    comment: str = ""


def python_reference() -> dict[str, str]:
    """The pages by name: one of each package with its public names, and ``index``, which leads to them.

    A name is described once, below the first module that exports it.
    """
    bodies: dict[str, list[str]] = {}
    chapters: dict[str, Counter[str]] = {}
    addresses: dict[tuple[str, int], str] = {}
    headings: dict[str, Counter[str]] = {}
    for chapter, modules in MODULES.items():
        for name in modules:
            package = _package(name)
            chapters.setdefault(package, Counter())[chapter] += 1
            body = bodies.setdefault(package, [])
            body += [f'<a id="{name}"></a>\n\n## {name}', *_docstring(ast.get_docstring(_tree(name)))]
            for public in importlib.import_module(name).__all__:
                definition = _definition(name, public)
                position = (definition.module, definition.node.lineno)
                if position not in addresses:
                    addresses[position] = f"{_file(package)}#{_anchor(public, headings.setdefault(package, Counter()))}"
                    body += _entry(f"{name}.{public}", public, definition)
    pages = {package: _page(package, body) for package, body in bodies.items()}
    kinds = {package: counts.most_common(1)[0][0] for package, counts in chapters.items()}
    return {_file(package).removesuffix(".md"): page for package, page in pages.items()} | {
        "index": _index(kinds, addresses)
    }


def _package(module: str) -> str:
    """The package on whose page a module stands: ``cuihop.measures``, or ``cuihop`` for a module of the top level."""
    first = ".".join(module.split(".")[:2])
    return first if hasattr(importlib.import_module(first), "__path__") else first.partition(".")[0]


def _anchor(heading: str, earlier: Counter[str]) -> str:
    """The anchor that GitHub and Sphinx give a heading, after those before it on the page."""
    anchor = heading.lower()
    earlier[anchor] += 1
    return anchor if earlier[anchor] == 1 else f"{anchor}-{earlier[anchor] - 1}"


def _file(package: str) -> str:
    return f"{package.removeprefix('cuihop.')}.md"


def _page(package: str, body: list[str]) -> str:
    documented = f'<a id="{package}"></a>' == body[0].partition("\n")[0]
    introduction = [] if documented else _docstring(ast.get_docstring(_tree(package)))
    return "\n\n".join([f"# {package}", "Every package: [Python](index.md).", *introduction, *body])


def _index(kinds: dict[str, str], addresses: dict[tuple[str, int], str]) -> str:
    """The packages by chapter, the names of everyday use, and the table of contents for Sphinx."""
    parts: list[str] = []
    for chapter in MODULES:
        rows = [
            (f"[{package}]({_file(package)})", cell((ast.get_docstring(_tree(package)) or "").partition("\n\n")[0]))
            for package, kind in kinds.items()
            if kind == chapter
        ]
        parts += [f"## {chapter}", table(("package", "content"), rows)]
    names = []
    for public in sorted(importlib.import_module("cuihop").__all__, key=str.lower):
        definition = _definition("cuihop", public)
        names.append(f"[{cell(public)}]({addresses[definition.module, definition.node.lineno]})")
    parts += ["## Names of everyday use", "All of these come from `import cuihop`:", ",\n".join(names) + "."]
    contents = [_file(package).removesuffix(".md") for package in kinds]
    parts.append("\n".join(["```{toctree}", ":hidden:", "", *contents, "```"]))
    return "\n\n".join(parts)


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(importlib.import_module(module)))


def _definition(module: str, name: str) -> _Definition:
    """The definition of a name, through imports that pass it on.

    Raises:
        LookupError: the module neither defines nor imports it.
    """
    body = _tree(module).body
    for place, node in reversed(list(enumerate(body))):  # of overloads, the implementation comes last
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return _Definition(module, node)
        if name in _assigned(node):
            return _Definition(module, node, _string(body[place + 1]) if place + 1 < len(body) else "")
    for imported in ast.walk(_tree(module)):
        if isinstance(imported, ast.ImportFrom) and imported.module and name in {one.name for one in imported.names}:
            return _definition(imported.module, name)
    raise LookupError(f"{module}.{name}: neither defined nor imported there")


def _assigned(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _string(node: ast.stmt) -> str:
    value = node.value.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) else None
    return value if isinstance(value, str) else ""


def _entry(full: str, name: str, found: _Definition) -> Iterator[str]:
    yield f'<a id="{full}"></a>\n\n### {cell(name)}'
    if isinstance(found.node, ast.ClassDef):
        yield from _class(full, found.node)
    elif isinstance(found.node, _FUNCTIONS):
        yield _code(_signature(name, found.node))
        yield from _docstring(ast.get_docstring(found.node))
    else:
        value = getattr(found.node, "value", None)
        text = "" if value is None else ast.unparse(value)
        yield _code(f"{name} = {text}" if text and len(text) <= _WIDE else name)
        yield from _docstring(found.comment)


def _class(full: str, node: ast.ClassDef) -> Iterator[str]:
    methods = [one for one in node.body if isinstance(one, _FUNCTIONS)]
    constructor = next((one for one in methods if one.name == "__init__"), None)
    fields = [ast.unparse(one) for one in node.body if isinstance(one, ast.AnnAssign) and not _hidden(one)]
    if constructor is not None:
        yield _code("class " + _signature(node.name, constructor))
    else:
        bases = f"({', '.join(ast.unparse(base) for base in node.bases)})" if node.bases else ""
        yield _code("\n".join([f"class {node.name}{bases}", *(f"    {one}" for one in fields)]))
    yield from _docstring(ast.get_docstring(node))
    yield from _items(
        f"`{name}`: {cell(' '.join(_string(below).split()), lines=True)}"
        for one, below in zip(node.body, node.body[1:], strict=False)
        for name in _assigned(one)
        if _string(below) and not name.startswith("_")
    )
    for method in methods:
        if method.name.startswith("_") or ast.get_docstring(method) is None:
            continue
        marks = {ast.unparse(one) for one in method.decorator_list}
        attribute = marks & {"property", "cached_property", "functools.cached_property"}
        yield f'<a id="{full}.{method.name}"></a>'
        if attribute:
            kind = f": {ast.unparse(method.returns)}" if method.returns else ""
            yield _code(f"{node.name}.{method.name}{kind}")
        else:
            yield _code(_signature(f"{node.name}.{method.name}", method, own="staticmethod" not in marks))
        yield from _docstring(ast.get_docstring(method))


def _hidden(field: ast.AnnAssign) -> bool:
    return not isinstance(field.target, ast.Name) or field.target.id.startswith("_")


def _signature(name: str, node: _Function, *, own: bool | None = None) -> str:
    """As it is written in the source, without the first argument of a method (``own``, or ``__init__``)."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    texts = [_argument(*one) for one in zip(positional, defaults, strict=True)]
    if arguments.posonlyargs:
        texts.insert(len(arguments.posonlyargs), "/")
    if own or node.name == "__init__":
        texts = texts[1:]
    if arguments.vararg:
        texts.append("*" + _argument(arguments.vararg))
    elif arguments.kwonlyargs:
        texts.append("*")
    texts += [_argument(*one) for one in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    if arguments.kwarg:
        texts.append("**" + _argument(arguments.kwarg))
    result = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    line = f"{name}({', '.join(texts)}){result}"
    return line if len(line) <= _WIDE else "\n".join([f"{name}(", *(f"    {one}," for one in texts), f"){result}"])


def _argument(argument: ast.arg, default: ast.expr | None = None) -> str:
    kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    return f"{argument.arg}{kind}" + (f" = {ast.unparse(default)}" if default is not None else "")


def _code(text: str, language: str = "py") -> str:
    return f"```{language}\n{text}\n```"


def _docstring(text: str | None) -> Iterator[str]:
    """A docstring of this project's style as Markdown: paragraphs, sections, examples and literal blocks."""
    lines = inspect.cleandoc(text or "").splitlines()
    literal = False
    while lines:
        block = list(takewhile(str.strip, lines))
        del lines[: len(block) + 1]
        if not block:
            continue
        if block[0] in _SECTIONS:
            yield f"**{block[0].removesuffix(':')}**"
            yield from _section(block[1:])
        elif block[0].startswith(">>>"):
            yield _code("\n".join(block), "pycon")
        elif literal and block[0].startswith(" "):
            yield _code("\n".join(block), "text")
            continue  # further blocks may belong to it
        else:
            literal = block[-1].endswith("::")
            block[-1] = re.sub(r":?:$", "", block[-1]) + ":" * (block[-1] != "::") if literal else block[-1]
            if block != [""]:
                yield cell("\n".join(block), lines=True)


def _section(lines: list[str]) -> Iterator[str]:
    """One item an entry, ``name: text`` or text."""
    entries: list[list[str]] = []
    for line in lines:
        if line.startswith("     ") and entries:
            entries[-1].append(line)
        else:
            entries.append([line])
    parts = [re.match(r"([*\w, …]+?): (.*)", " ".join(one.strip() for one in entry)) for entry in entries]
    if all(parts):
        yield from _items(f"`{part[1]}`: {cell(part[2], lines=True)}" for part in parts if part)
    else:
        yield cell(inspect.cleandoc("\n".join(lines)), lines=True)


def _items(items: Iterable[str]) -> Iterator[str]:
    text = "\n".join(f"- {one}" for one in items)
    if text:
        yield text

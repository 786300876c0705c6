"""Plain language: words, names and forms that the code, its messages and its pages must not use.

``python -m cuihop_tools.plain_language client service graph_loader tools tests docs README.md`` lists every line that
breaks a rule, and fails if there is one. The lists below are the only ones.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

OPENINGS = re.compile(
    r"(What|Whether|Who|Whose|Whom|Which|How|Why|Where|When|That|Nobody|Nothing|Everybody|Of|Those|These|None|Likewise)\b"
    r"|The same(?=[,.;:]| (?:again|as|at|but|by|for|from|in|of|on|with|without)\b)"
)
"""A docstring begins with a noun phrase or an imperative, never with one of these."""

SENTENCES = re.compile(r"(?!\s*f?\"(?!\"\"))(?:.*[.!?)] |[\s#>*|-]*)(Where|Who|Of several|Of two|So that)\b(?!.*\?)")
"""No sentence begins so, but for a question, a heading and a message."""

BANNED_TEXT = re.compile(
    r"\b(told|tells|telling|so many|that is none|it is known whose|no such way|why not it|puts? it at hand|nobody asks"
    r"|is asked of|knows of it|for what is none|(?<!dealt out )anew|(?<!one )pass(es|ed)? over|reckon(s|ed|ing)?"
    r"|whole or not at all)\b",
    re.IGNORECASE,
)
"""Nowhere: neither in code, comments and messages nor on a page."""

BANNED_NAMES = re.compile(r"_?(told|tell|asked|settle|settled|kept|made|known|shown)(_|$)|.*_(told|settled)$")
"""No function, class, parameter or variable has such a name, but in tests."""

BANNED_LOCALS = frozenset({"found", "place", "places"})
"""No parameter or local variable of what is shipped has such a name, which says nothing of the value."""

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_PUBLIC = frozenset({"errors.py", "graph_pictures.py"})  # with a public parameter `found`
_SHIPPED = frozenset({"client", "graph_loader", "service"})
_JAVASCRIPT_NAME = re.compile(r"\b(?:const|let|var|function|class) +([\w$]+)")


def problems(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a file that break a rule: line number and cause."""
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        if match := BANNED_TEXT.search(line):
            yield number, f"“{match[0]}”"
        if (match := SENTENCES.match(line)) and not (path.suffix == ".md" and line.startswith("#")):
            yield number, f"sentence begins with “{match[1]}”"
        for name in _JAVASCRIPT_NAME.findall(line) if path.suffix == ".js" else ():
            if BANNED_NAMES.match(re.sub("(?=[A-Z])", "_", name).lower()):
                yield number, f"the name “{name}”"
    if path.suffix == ".py":
        yield from sorted(set(_code_problems(ast.parse(text), path)))


def _code_problems(tree: ast.Module, path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings and names that break a rule."""
    in_tests = "tests" in path.parts
    is_shipped = not (in_tests or path.name in _PUBLIC or _SHIPPED.isdisjoint(path.parts))
    for node in ast.walk(tree):
        if isinstance(node, _Documented) and (match := OPENINGS.match(ast.get_docstring(node) or "")):
            yield getattr(node, "lineno", 1), f"docstring begins with “{match[0]}”"
        for line, name in () if in_tests else _names(node):
            if BANNED_NAMES.match(name):
                yield line, f"the name “{name}”"
        if is_shipped and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            named = (n for each in ast.walk(node) if isinstance(each, ast.arg | ast.Name) for n in _names(each))
            yield from ((line, f"the name “{name}”") for line, name in named if name in BANNED_LOCALS)


def _names(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Names that a node binds, with their lines."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield node.lineno, name
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield node.lineno, name


def main(arguments: list[str]) -> int:
    """Print each line that breaks a rule; 1 if there is one."""
    count = 0
    for file in (
        file for root in map(Path, arguments) for file in ([root] if root.is_file() else sorted(root.rglob("*")))
    ):
        foreign = "_pb2" in file.name or "vendor" in file.parts or "plain_language" in file.name
        for line, cause in () if foreign or file.suffix not in (".py", ".md", ".js") else problems(file):
            print(f"{file}:{line}: {cause}")
            count += 1
    if count:
        print(f"{count:,} problems", file=sys.stderr)
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Plain language: words and openings that the code, its messages and its pages must not use.

``python -m cuihop_tools.plain_language client service graph_loader tools docs README.md`` lists every place, and fails
where there is one. The lists below are the only ones.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

OPENINGS = re.compile(r"(What|Whether|Who|Whose|Whom|Which|How|Why|Where|When|That|Nobody|Nothing|Everybody)\b")
"""A docstring begins with a noun phrase or an imperative, never with one of these."""

BANNED_TEXT = re.compile(
    r"\b(told|tells|telling|so many|that is none|it is known whose|no such way|why not it|puts? it at hand"
    r"|nobody asks|is asked of|knows of it)\b",
    re.IGNORECASE,
)
"""Nowhere: neither in code, comments and messages nor on a page."""

BANNED_NAMES = re.compile(r"_?(told|tell|asked|settle|settled|kept|made|known|shown)(_|$)|.*_(told|settled)$")
"""No function, class, parameter or variable has such a name."""

_SUFFIXES = {".py", ".md", ".js"}
_VENDORED = "vendor"
_JAVASCRIPT_NAME = re.compile(r"\b(?:const|let|var|function|class) +([\w$]+)")


def problems(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a file that break a rule: line number and cause."""
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        if found := BANNED_TEXT.search(line):
            yield number, f"“{found[0]}”"
        for name in _JAVASCRIPT_NAME.findall(line) if path.suffix == ".js" else ():
            if BANNED_NAMES.match(re.sub("(?=[A-Z])", "_", name).lower()):
                yield number, f"the name “{name}”"
    if path.suffix != ".py":
        return
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            if found := OPENINGS.match(first):
                yield getattr(node, "lineno", 1), f"docstring begins with “{found[0]}”"
        for name in _names(node):
            if BANNED_NAMES.match(name):
                yield getattr(node, "lineno", 1), f"the name “{name}”"


def _names(node: ast.AST) -> Iterator[str]:
    """Names that a node binds."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.arg(arg=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()):
            yield name


def main(arguments: list[str]) -> int:
    """Print each place; 1 where there is one."""
    roots = [Path(argument) for argument in arguments]
    files = [file for root in roots for file in ([root] if root.is_file() else sorted(root.rglob("*")))]
    count = 0
    for file in files:
        foreign = "_pb2" in file.name or _VENDORED in file.parts
        if file.suffix in _SUFFIXES and not foreign and file.name != Path(__file__).name:
            for line, cause in problems(file):
                print(f"{file}:{line}: {cause}")
                count += 1
    if count:
        print(f"{count:,} places", file=sys.stderr)
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

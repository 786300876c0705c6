"""Mutants of a module: its source with one change, such as another operator, constant or boundary.

cosmic-ray and mutmut change files or put every mutant into one function that chooses among them at run time. Compiled
code stands in a cache under a digest of its files, and has no such function; and a file that is changed disturbs
whoever else reads it. Here a mutant is a syntax tree, which the loader of a process takes in place of the file.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

__all__ = ["Mutant", "mutants", "mutated"]

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd,
}  # fmt: skip
_OTHER_SIDE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE
}  # fmt: skip
_LONGEST_TEXT = 24


@dataclass(frozen=True)
class Mutant:
    """One change of a module.

    Attributes:
        number: its position among the mutants of the module.
        function: qualified name of the outermost function; empty at the level of the module or of a class.
        line: text of the changed line.
        change: the changed expression, before and after; with a number if the line has several such changes.
    """

    number: int
    function: str
    line: str
    change: str


class _Site:
    """A node that can be changed, and the changes, each of which returns the new node."""

    def __init__(self, node: ast.AST, function: str, parent: ast.AST, field: str, index: int | None) -> None:
        self.node, self.function, self.parent, self.field, self.index = node, function, parent, field, index

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def _sites(tree: ast.AST, function: str = "", within: str = "") -> Iterator[_Site]:
    """Every node whose change matters: no annotation, decorator, documentation, message or name for other modules."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_left_out(child):
                continue
            name, inner = function, within
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not function:
                inner = f"{within}.{child.name}" if within else child.name
                name = "" if isinstance(child, ast.ClassDef) else inner
            yield _Site(child, name, tree, field, index)
            if not isinstance(child, (ast.Raise, ast.JoinedStr)):  # messages
                yield from _sites(child, name, inner)


def _is_left_out(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
            return True
        case ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar" | "ParamSpec"))):
            return True
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="_log" | "warnings")))):
            return True  # words for people
        case ast.Call(func=ast.Name(id="cast")):
            return True
    return False


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """The changes of one node."""
    match node:
        case ast.Compare(ops=ops):
            for index, op in enumerate(ops):
                for other in (_OPERATORS.get(type(op)), _OTHER_SIDE.get(type(op))):
                    if other is not None:
                        yield _with(node, "ops", other(), index)
        case ast.BoolOp(op=op) | ast.BinOp(op=op) | ast.AugAssign(op=op):
            if (other := _OPERATORS.get(type(op))) is not None:
                yield _with(node, "op", other())
            if isinstance(node, ast.AugAssign):
                yield ast.Pass()
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if not isinstance(test, (ast.Compare, ast.UnaryOp)) and not isinstance(test, ast.Constant):
                yield _with(node, "test", ast.UnaryOp(ast.Not(), test))
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
            if value not in (0, -1):
                yield ast.Constant(value - 1)
        case ast.Constant(value=str() | bytes() as value):
            if 0 < len(value) <= _LONGEST_TEXT and not any(blank in str(value) for blank in " {}"):
                yield ast.Constant(value[:-1])
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
            yield ast.Pass()
        case ast.Call(args=[first, second, *others]) if not isinstance(first, ast.Starred):
            if not isinstance(second, ast.Starred):
                yield _with(node, "args", [second, first, *others])


def _with(node: ast.AST, field: str, value: object, index: int | None = None) -> ast.AST:
    other = copy.copy(node)
    if index is not None:
        several = list(getattr(node, field))
        several[index] = value
        value = several
    setattr(other, field, value)
    return other


def _changed(source: str) -> Iterator[tuple[Mutant, ast.Module]]:
    """Each mutant, with the tree that has its change until the next one is asked for."""
    tree = ast.parse(source)
    lines = source.splitlines()
    number, several = 0, Counter[tuple[str, str, str]]()
    for site in list(_sites(tree)):
        for new in _changes(site.node):
            ast.copy_location(new, site.node)
            ast.fix_missing_locations(new)
            line = lines[getattr(site.node, "lineno", 1) - 1].strip()
            change = f"{_text(site.node)} → {_text(new)}"
            site.put(new)
            several[site.function, line, change] += 1
            if (repeated := several[site.function, line, change]) > 1:
                change += f" ({repeated})"
            yield Mutant(number, site.function, line, change), tree
            site.put(site.node)
            number += 1


def _text(node: ast.AST) -> str:
    match node:
        case ast.If(test=test):
            return f"if {ast.unparse(test)}"
        case ast.While(test=test):
            return f"while {ast.unparse(test)}"
    return ast.unparse(node)


def mutants(source: str) -> list[Mutant]:
    """The mutants of a source in the order of their numbers, those included that have no effect."""
    return [mutant for mutant, _ in _changed(source)]


def mutated(source: str, number: int, file: str) -> CodeType | None:
    """The code of a mutant; None if it is that of the source."""
    for mutant, tree in _changed(source):
        if mutant.number == number:
            code = compile(tree, file, "exec", dont_inherit=True)
            return None if code == compile(source, file, "exec", dont_inherit=True) else code
    raise IndexError(number)

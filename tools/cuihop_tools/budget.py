"""The budget of code: lines and modules of each package, held by ``tools/budget.toml``, and parameters of functions.

``python -m cuihop_tools.budget`` fails where a package has more than its budget. A change that needs more raises the
number in the same commit, with a line of reason. Compiled kernels apart, ten parameters of a function fail it too.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

_BUDGET = "tools/budget.toml"
_SOURCES = {"cuihop": "client", "cuihop_loader": "graph_loader", "cuihop_service": "service", "cuihop_tools": "tools"}


def sizes(root: Path) -> dict[str, tuple[int, int]]:
    """Lines and modules of each package; the modules directly in ``cuihop`` count as a package of that name."""
    lines, modules = Counter[str](), Counter[str]()
    for package, folder in _SOURCES.items():
        base = root / folder / package
        for path in base.rglob("*.py"):
            inner = path.relative_to(base).parts[:-1]
            name = ".".join([package, *inner[:1]])
            lines[name] += len(path.read_bytes().splitlines())
            modules[name] += 1
    return {name: (lines[name], modules[name]) for name in sorted(lines)}


def excesses(root: Path) -> list[str]:
    """The packages beyond their budget, a sentence each."""
    budget = tomllib.loads((root / _BUDGET).read_text(encoding="utf-8"))
    measured = sizes(root)
    problems = [f"{_BUDGET}: “{name}” is no package" for name in budget if name not in measured]
    for name, counts in measured.items():
        if name not in budget:
            problems.append(f"{_BUDGET}: no budget for {name}")
            continue
        for unit, count in zip(("lines", "modules"), counts, strict=True):
            if count > (most := budget[name][unit]):
                problems.append(f"{name}: {count:,} {unit}; its budget is {most:,}")
    return problems


def long_signatures(root: Path) -> list[str]:
    """The functions that are shipped with ten parameters or more, a sentence each."""
    long = []
    for path in sorted(path for name in ("client", "graph_loader", "service") for path in (root / name).rglob("*.py")):
        module = SourceFileLoader(path.stem, str(path))  # which reads the compiled file, if it is current
        codes = [] if "_kernels" in path.parts else [module.get_code(path.stem)]
        for code in filter(None, codes):
            codes += [each for each in code.co_consts if isinstance(each, CodeType)]
            names = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
            if (count := len(names - {"self", "cls"})) >= 10:
                long.append(f"{path.relative_to(root)}:{code.co_firstlineno}: {code.co_name} has {count} parameters")
    return long


def main() -> int:
    """Print the packages beyond their budget, and the long signatures; 1 if there is one."""
    problems = excesses(Path.cwd()) + long_signatures(Path.cwd())
    print("".join(f"{problem}\n" for problem in problems), end="", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    raise SystemExit(main())

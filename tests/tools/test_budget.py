"""The budget of lines and modules, and the parameters of functions."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from cuihop_tools import budget

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in {
        "client/cuihop/graph.py": "a\nb\n",
        "client/cuihop/cli/one.py": "a\n",
        "client/cuihop/cli/inner/two.py": "a\nb",
        "service/cuihop_service/core.py": "",
        "tools/budget.toml": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_package_is_counted_with_what_is_in_it(tree: Path) -> None:
    assert budget.sizes(tree) == {"cuihop": (2, 1), "cuihop.cli": (3, 2), "cuihop_service": (0, 1)}


def test_what_is_beyond_the_budget_is_named_and_fails(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '[cuihop]\nlines = 2\nmodules = 1\n["cuihop.cli"]\nlines = 2\nmodules = 1\n[gone]\nlines = 1\nmodules = 1\n'
    (tree / "tools/budget.toml").write_text(text)
    monkeypatch.chdir(tree)
    assert budget.main() == 1
    assert capsys.readouterr().err.splitlines() == [
        "tools/budget.toml: “gone” is no package",
        "cuihop.cli: 3 lines; its budget is 2",
        "cuihop.cli: 2 modules; its budget is 1",
        "tools/budget.toml: no budget for cuihop_service",
    ]


def test_the_budget_of_this_tree_has_no_idle_room() -> None:
    """A budget far above the size would hold nothing."""
    assert budget.excesses(ROOT) == []
    allowed = tomllib.loads((ROOT / "tools/budget.toml").read_text(encoding="utf-8"))
    sizes = budget.sizes(ROOT)
    idle = {name: most["lines"] - sizes[name][0] for name, most in allowed.items()}
    assert {name: lines for name, lines in idle.items() if lines > 300} == {}


def test_a_function_with_ten_parameters_is_named_but_for_compiled_kernels(tree: Path) -> None:
    nine, ten = ", ".join("abcdefghi"), ", ".join("abcdefghij")
    methods = f"    def all(self, {nine}): ...\n\n    async def more(self, {ten}): ...\n"
    (tree / "client/cuihop/graph.py").write_text(f"class Graph:\n{methods}\n\ndef keys(*, {ten}): ...\n")
    (tree / "client/cuihop/_kernels").mkdir()
    (tree / "client/cuihop/_kernels/one.py").write_text(f"def kernel({ten}): ...\n")
    for name in ("client/cuihop/cli/one.py", "client/cuihop/cli/inner/two.py"):
        (tree / name).write_text("")
    assert sorted(budget.long_signatures(tree)) == [
        "client/cuihop/graph.py:4: more has 10 parameters",
        "client/cuihop/graph.py:7: keys has 10 parameters",
    ]


def test_no_function_of_this_tree_has_ten_parameters() -> None:
    assert budget.long_signatures(ROOT) == []

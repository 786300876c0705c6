"""The budget of lines and modules."""

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
    idle = {name: most["lines"] - budget.sizes(ROOT)[name][0] for name, most in allowed.items()}
    assert {name: lines for name, lines in idle.items() if lines > 300} == {}

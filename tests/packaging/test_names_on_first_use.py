"""``import cuihop`` imports no name before it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import cuihop
from example_graph import example_graph


def test_every_public_name_is_there_and_listed() -> None:
    for name in cuihop.__all__:
        assert getattr(cuihop, name) is not None
        assert name in dir(cuihop)


def test_type_checkers_see_the_names_that_are_there() -> None:
    tree = ast.parse(Path(cuihop.__file__).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert sorted(seen) == sorted(cuihop.__all__)
    for name, module in seen.items():
        assert getattr(import_module(str(module)), name) is getattr(cuihop, name)


def test_modules_are_found_as_attributes() -> None:
    program = "import cuihop; print(cuihop.errors.InputError.__name__, hasattr(cuihop, 'nothing'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "InputError False\n"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    for name in ("nothing", "_private", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"module 'cuihop' has no attribute '{name}'"):
            getattr(cuihop, name)


def test_a_distance_imports_nothing_that_evaluates(tmp_path: Path) -> None:
    snapshot = tmp_path / "example.cuihop"
    example_graph().save(snapshot)
    program = (
        "import sys, cuihop\n"
        "assert 'numpy' not in sys.modules\n"
        f"graph = cuihop.SnapshotGraph.open({str(snapshot)!r})\n"
        "assert graph.distance('C0006121', 'C0018670') == 3\n"
        "heavy = ('numba', 'pandas', 'numpy.ma', 'cuihop.evaluation', 'cuihop.explanation', 'cuihop.measures')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_a_service_on_a_snapshot_imports_nothing_that_it_does_not_use() -> None:
    program = (
        "import sys, cuihop_service.worker\n"
        "heavy = ('neo4j', 'redis', 'jwt', 'cryptography', 'pandas', 'pyarrow', 'matplotlib')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

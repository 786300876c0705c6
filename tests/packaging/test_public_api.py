"""The public names of the library: graphs from files, names on answers, one spelling of each parameter."""

from __future__ import annotations

import inspect
import pickle
import sys
from importlib import import_module
from pathlib import Path

import pytest

import cuihop
from cuihop.graph_wrapper import GraphWithNames

OBO = """format-version: 1.2
ontology: made
[Term]
id: M:1
name: vessel
[Term]
id: M:2
name: vein
is_a: M:1
[Term]
id: M:3
is_a: M:2
"""
PARAMETERS_OF_HOPS = {"neighbours", "ancestors", "descendants", "pack", "of"}


def made(folder: Path) -> Path:
    (folder / "made.obo").write_text(OBO)
    return folder / "made.obo"


def test_a_graph_is_loaded_from_a_file_or_several(tmp_path: Path) -> None:
    for sources in (made(tmp_path), str(made(tmp_path)), [made(tmp_path)]):
        graph = cuihop.load(sources)
        assert isinstance(graph, cuihop.SnapshotGraph)
        assert (graph.distance("M:1", "M:3"), graph.release.edges) == (2, 2)
    assert cuihop.load(made(tmp_path), release="r1").release.name == "r1"
    with pytest.raises(TypeError, match="no_such"):
        cuihop.load(made(tmp_path), no_such=1)
    with pytest.raises(cuihop.InputError):
        cuihop.load(tmp_path / "absent")
    with pytest.raises(cuihop.InputError, match=r"cuihop\.connect opens it\.$"):
        cuihop.load("graph.cuihop")


def test_reservations_of_a_load_are_warnings(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("child,parent,colour\nC0000002,C0000001,red\n")
    with pytest.warns(UserWarning, match="columns that are not read: colour"):
        cuihop.load(tmp_path / "edges.csv")


def test_without_the_loader_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuihop_loader", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'cuihop\[loader\]'"):
        cuihop.load(made(tmp_path))


def test_paths_and_neighbourhoods_carry_names(tmp_path: Path) -> None:
    graph = cuihop.load(made(tmp_path))
    path = graph.path("M:1", "M:3")
    assert path is not None
    assert path.names == ("vessel", "vein", None)
    (near,) = graph.neighbours(["M:2"])
    assert (near.cuis, near.names) == (("M:1", "M:3"), ("vessel", None))
    assert graph.ancestors("M:3").names == ("vein", "vessel")
    named = GraphWithNames(graph, {"M:3": "venule"}).path("M:1", "M:3")
    assert named is not None
    assert named.names == ("vessel", "vein", "venule")
    assert path.names == ("vessel", "vein", None)
    copied = pickle.loads(pickle.dumps(path))  # noqa: S301
    assert (copied, copied.names) == (path, (None, None, None))  # a graph is not pickled with its answers


def test_dir_has_public_names_only() -> None:
    names = dir(cuihop)
    assert set(cuihop.__all__) < set(names)
    assert not {"TYPE_CHECKING", "annotations", "import_module"} & set(names)
    for name in set(names) - set(cuihop.__all__) - {"__version__", "adapters"}:
        assert import_module(f"cuihop.{name}").__all__, name
    assert cuihop.InputError is import_module("cuihop.errors").InputError
    assert import_module("cuihop.comparison").compare is cuihop.compare
    assert callable(import_module("cuihop.agreement").agreement)


def _functions() -> list[tuple[str, inspect.Signature]]:
    values = [(name, getattr(cuihop, name)) for name in cuihop.__all__]
    found = [(name, value) for name, value in values if inspect.isfunction(value)]
    for _, value in values:
        if inspect.isclass(value):
            members = inspect.getmembers(value, lambda each: inspect.isfunction(each) or inspect.ismethod(each))
            found += [(name, each) for name, each in members if not name.startswith("_")]
    return [(name, inspect.signature(value)) for name, value in found]


def test_each_parameter_has_one_spelling() -> None:
    for name, signature in _functions():
        parameters = set(signature.parameters)
        assert not parameters & {"lambda_", "lamda", "l", "n_hops", "max_distance", "bound", "radius"}, name
        assert "hops" not in parameters or name in PARAMETERS_OF_HOPS, name


def test_signatures_state_types() -> None:
    untyped = {
        f"{name}({parameter.name})"
        for name, signature in _functions()
        for parameter in signature.parameters.values()
        if str(parameter.annotation) in ("object", "object | None")
    }
    assert untyped <= {"main(message)"}

"""Labels from classes of concepts: a class holds its concepts and all below them in the graph."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import Dataset, ImageConcepts, SnapshotGraph, evaluate
from cuihop.collection.label_classes import LabelClasses
from cuihop.collection.labels import MANUAL_LABELS, Labels
from cuihop.errors import ConceptNotFound, CuihopError, InputError
from cuihop.relevance import top_k
from example_graph import EDGES, example_graph
from program_run import Run, program
from shared_data import shared

__all__ = ["program"]

ABOVE = nx.DiGraph(EDGES)  # from a concept to the one above it
CONCEPTS = sorted(ABOVE)
PUBLISHED_BY_ISSUE = {"modality": (99.37, 99.28, 99.08), "organ": (93.43, 93.05, 91.25)}


@given(
    st.lists(st.sets(st.sampled_from(CONCEPTS), max_size=4), min_size=1, max_size=6),
    st.dictionaries(st.sampled_from("abc"), st.sets(st.sampled_from(CONCEPTS), min_size=1, max_size=3), min_size=1),
    st.booleans(),
)
def test_an_image_has_the_classes_of_its_concepts_and_of_those_above(
    sets: list[set[str]], classes: dict[str, set[str]], below: bool
) -> None:
    images = ImageConcepts.of({f"i{place}": concepts for place, concepts in enumerate(sets)})
    found = Labels.of_classes(images, {"label": classes}, example_graph() if below else None).columns["label"]
    for image, concepts in images.items():
        reached = {over for concept in concepts for over in (nx.descendants(ABOVE, concept) if below else ())}
        expected = sorted(name for name, of_class in classes.items() if of_class & (reached | concepts))
        assert found[image] == ";".join(expected)


def test_a_retired_concept_is_its_successor_on_both_sides() -> None:
    images = ImageConcepts.of({"retired": "C9000901", "aorta": "C0003483", "none": ""})  # C9000901 → C0042449, veins
    found = Labels.of_classes(images, {"vessel": {"vein": "C0042449", "artery": "C0003842"}}, example_graph())
    assert dict(found.columns["vessel"]) == {"retired": "vein", "aorta": "artery", "none": ""}
    found = Labels.of_classes(images, {"vessel": {"vein": "C9000901"}}, example_graph())
    assert found.columns["vessel"]["retired"] == "vein"


def test_an_image_of_two_collections_has_its_concepts_in_the_corpus() -> None:
    queries, corpus = ImageConcepts.of({"a": "C0042449", "q": "C0042449"}), ImageConcepts.of({"a": "C0018670"})
    found = Labels.of_classes([queries, corpus], {"place": {"vein": "C0042449", "head": "C0018670"}})
    assert dict(found.columns["place"]) == {"a": "head", "q": "vein"}


def test_the_account_names_the_classes_that_no_image_has() -> None:
    images = ImageConcepts.of({"a": "C0042449", "b": "C0018670"})
    found = Labels.of_classes(images, {"part": {"vein": "C0042449", "typo": "C004", "head": "C0018670"}})
    assert "3 classes of 3 concepts, 1 class without an image (typo)" in found.account
    assert "without an image" not in Labels.of_classes(images, {"part": {"vein": "C0042449"}}).account


def test_the_account_says_what_was_read_and_what_a_class_holds(tmp_path: Path) -> None:
    path = tmp_path / "vessel.csv"
    path.write_text("class;CUI\nvein;c0042449\nvessel;C0042449\nvessel;C0003842\n")
    classes = LabelClasses.read(path)
    assert classes.concepts == {"vein": ("C0042449",), "vessel": ("C0042449", "C0003842")}
    images = ImageConcepts.of({"a": "C0042449", "b": "C0018670"})
    alone = Labels.of_classes(images, {"vessel": classes})
    expected = "2 classes of 2 concepts, 1 concept in several classes, semicolons"
    assert expected in alone.account
    assert "a concept of a class counts alone, without those below it" in alone.account
    assert Labels.of_classes(images, {"vessel": path}).digest == alone.digest
    with_graph = Labels.of_classes(images, {"vessel": classes}, example_graph())
    assert "counts and all below it in the graph" in with_graph.account
    assert "images agree where they share a class" in with_graph.with_agreement("shared").account


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("class,CUI\nCT,\n", r"line 2.*a class without a concept.*nothing beside 'CT'"),
        ("class,CUI\n,C0040405\n", "line 2.*not the name of a class"),
        ("class,CUI\nCT;PET,C0040405\n", "not the name of a class.*without ';'"),
        ("class,CUI\nCT,C0040405\nCT,c0040405\n", "line 3.*a concept stands twice in a class"),
        ("class,CUI\nCT,C0040405|C0032743\n", r"line 2.*identifiers separated by '\|'"),
        ("CT,C0040405\n", "line 1.*no header"),
        ("C0040405,CT\n", "line 1.*no header"),
        ("CUI,class\nC0040405,a CT\n", "line 2.*not an identifier.*swapped"),
        ("class,CUI,name\nCT,C0040405,tomography\n", "not two columns"),
        ("class,CUI\n", "the file holds no class"),
    ],
)
def test_wrong_files_of_classes(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "modality.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        LabelClasses.read(path)
    assert caught.value.file is not None
    assert str(caught.value.file).endswith("modality.csv")


def test_a_concept_of_a_class_that_the_graph_does_not_hold_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "modality.csv"
    path.write_text("class,CUI\nvein,C0042449\nCT,C0040405\n")
    images = ImageConcepts.of({"a": "C0042449"})
    with pytest.raises(InputError, match=r"line 3.*does not hold.*C0040405.*--unknown isolated"):
        Labels.of_classes(images, {"modality": LabelClasses.read(path)}, example_graph())
    found = Labels.of_classes(images, {"modality": LabelClasses.read(path)}, example_graph(), unknown="isolated")
    assert found.columns["modality"]["a"] == "vein"
    with pytest.raises(ConceptNotFound):
        Labels.of_classes(ImageConcepts.of({"a": "C0040405"}), {"modality": {"vein": "C0042449"}}, example_graph())


@pytest.mark.parametrize(
    "make",
    [
        lambda images: Labels.of_classes(images, {}),
        lambda images: Labels.of_classes(images, {"modality": {}}),
        lambda images: Labels.of_classes(images, {"modality": {"CT": ""}}),
        lambda images: Labels.of_classes(images, {"modality": {"CT": "C0040405,C0032743"}}),
    ],
)
def test_wrong_classes_in_python(make: Callable[[ImageConcepts], Labels]) -> None:
    with pytest.raises(CuihopError):
        make(ImageConcepts.of({"a": "C0040405"}))


def test_evaluate_compare_and_study_take_classes(program: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example_graph().save("graph.cuihop")
    Path("images.csv").write_text("ID,CUIs\na,C0042449\nb,C0003483;C0018670\nc,C0003842\nd,C0018670\n")
    Path("vessel.csv").write_text("class,CUI\nartery,C0003842\nvein,C0042449\nhead,C0018670\n")
    Path("x.run").write_text("".join(f"{q} Q0 {i} 1 {9 - ord(i)} x\n" for q in "abcd" for i in "abcd" if i != q))
    shared_options = ["--label-classes", "vessel=vessel.csv", "--graph", "graph.cuihop", "--label-agreement", "shared"]
    options = ["--concepts", "images.csv", *shared_options, "--measure", "P@3(vessel)", "--by", "vessel"]
    found = program("evaluate", *options, "x.run", "--card", "shared.json", "--json")
    # b has artery and head: it shares one with c and one with d.
    assert '"P@3(vessel)": 0.3333333333333333' in found.out, found.err
    assert '"label_agreement": "shared"' in found.out
    assert program("evaluate", *options, "--label-agreement", "equal", "x.run", "--card", "e.json").code == 0
    refused = program("compare", "a=shared.json", "b=e.json")
    assert refused.code != 0
    assert "label_agreement: 'shared' and 'equal'" in refused.err
    both = program("compare", "a=x.run", "b=shared.json", *options[:-2])
    assert both.code == 0, both.err
    assert "0.3333" in both.out
    studied = program("study", "images.csv", *shared_options, "--output", "study", "--only", "tables", "--no-plots",
                      "--verbose")  # fmt: skip
    assert studied.code == 0, studied.err
    assert "share a class" in studied.out
    assert "counts and all below it in the graph" in studied.out
    alone = program("evaluate", *options, "x.run", "--no-class-descendants", "--verbose")
    assert "counts alone, without those below it" in alone.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label-classes", "modality.csv"], "NAME=FILE"),
        (["--label-classes", "a+b=modality.csv"], "NAME=FILE"),
        (["--label-classes", "m=x.csv", "--labels", "y.csv"], "give one of"),
        (["--label-agreement", "shared"], "--label-agreement goes with"),
        (["--labels", "y.csv", "--no-class-descendants"], "--no-class-descendants goes with"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], message: str, program: Run, tmp_path: Path) -> None:
    images = tmp_path / "images.csv"
    images.write_text("ID,CUIs\na,C0042449\nb,C0042449\n")
    for name in ("x.csv", "y.csv"):
        tmp_path.joinpath(name).write_text("class,CUI\nvein,C0042449\n")
    given = [str(tmp_path / part) if part in ("x.csv", "y.csv") else part for part in options]
    given = [part.replace("x.csv", str(tmp_path / "x.csv")) for part in given]
    done = program("evaluate", "--concepts", images, "--baseline", "iou", "--measure", "CUI@1", *given)
    assert done.code != 0
    assert message in " ".join(done.err.split())


def test_table_1_by_all_concepts_of_rocov2(tmp_path: Path) -> None:
    path = tmp_path / "test_concepts.csv"
    path.write_bytes(gzip.decompress(shared("rocov2/test_concepts.csv.gz").read_bytes()))
    images = ImageConcepts.read(path)
    classes = {name: {concept: concept for concept in group} for name, group in MANUAL_LABELS.items()}
    ranking = top_k(images, None, 30, by="iou")
    names = [f"P@5,10,30({name})" for name in PUBLISHED_BY_ISSUE]
    data = Dataset(images, labels=Labels.of_classes(images, classes))
    found = evaluate(data, ranking, measures=names, empty_ideal="skip")
    expected = [value for values in PUBLISHED_BY_ISSUE.values() for value in values]
    assert np.round([100 * (mean or 0.0) for mean in found.means.values()], 2).tolist() == expected


def test_classes_of_a_graph_without_edges_are_those_of_equal_concepts() -> None:
    graph = SnapshotGraph.of([], concepts=CONCEPTS)
    images = ImageConcepts.of({concept: [concept] for concept in CONCEPTS})
    classes = {"label": {concept: [concept] for concept in CONCEPTS[:3]}}
    with_graph, without = (Labels.of_classes(images, classes, each).columns for each in (graph, None))
    assert with_graph == without

"""Similarity beside other programs' values: nxontology, PyHPO and NLTK, each on the graph that it accepts.

Conventions that differ, and how each comparison meets them:

- nxontology has no cycles and no virtual root: graphs here are acyclic, with one root or with a node above all roots.
  Its ``jiang`` is 1 / (1 + distance), its ``batet`` is simUI, its ``intrinsic_ic_scaled`` is the information content of
  Seco et al., and its depth is the shortest one.
- PyHPO counts each gene or disease of a term and its descendants once, and ours sums occurrences; so both get the same
  sums here, PyHPO as an information content of its user. Its ``jc`` is 1 / (1 + distance). A term without any
  occurrence has information content 0 there, and no value here. Its ``graphic`` leaves the two terms themselves out of
  the united ancestors, so it is not simGIC.
- NLTK's Wu-Palmer takes the common ancestor that is deepest by its shortest chain from the root, and its own first one
  of several; where this is not the deepest by its longest chain, or is farther away, values differ. WordNet's nouns
  have one root. Instances hang below their classes as kinds do.
"""

from __future__ import annotations

import functools
import gzip
import math
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.similarity.options import InformationContent, SimilarityMeasure, SimilarityOptions
from cuihop_loader.demo import ontology
from shared_data import shared, wordnet

if TYPE_CHECKING:
    from nxontology import NXOntology

_LEXICOGRAPHER_FILES = 45  # of WordNet 3: NLTK wants a line for each, and their names do not matter here


def _values(
    graph: SnapshotGraph, pairs: list[tuple[str, str]], measure: SimilarityMeasure, ic: InformationContent = "Sanchez"
) -> list[float | None]:
    return graph.hierarchy.similarities(pairs, SimilarityOptions(measure, ic)).to_list()


def _same_as_nxontology(edges: list[tuple[str, str]], pairs: list[tuple[str, str]]) -> None:
    """Compare every measure of nxontology; ``edges`` are (child, parent) pairs below one root."""
    from nxontology import NXOntology

    theirs: NXOntology[str] = NXOntology()
    theirs.graph.add_edges_from((parent, child) for child, parent in edges)
    theirs.freeze()
    ours = SnapshotGraph.of(edges)
    names: dict[InformationContent, str] = {"Sanchez": "intrinsic_ic_sanchez", "Seco": "intrinsic_ic_scaled"}
    for ic, name in names.items():
        places = ours.hierarchy.placements(sorted({a for a, _ in pairs}), ic=ic)
        assert [place.ic for place in places] == pytest.approx(
            [getattr(theirs.node_info(place.cui), name) for place in places], rel=1e-12, abs=1e-12
        )
        assert [(place.ancestors + 1, place.descendants + 1) for place in places] == [
            (theirs.node_info(place.cui).n_ancestors, theirs.node_info(place.cui).n_descendants) for place in places
        ]
    scale = math.log(len(theirs.graph))  # Seco's content is the plain one in units of log N
    for ic, name in names.items():
        plain, unit = ("intrinsic_ic", scale) if ic == "Seco" else (name, 1.0)
        both = [theirs.similarity(a, b, ic_metric=plain) for a, b in pairs]
        expected: dict[SimilarityMeasure, list[float]] = {
            "Resnik": [pair.resnik / unit for pair in both],
            "Lin": [pair.lin for pair in both],
            "Jiang-Conrath": [(1 / pair.jiang - 1) / unit for pair in both],
            "simUI": [pair.batet for pair in both],
        }
        for measure, values in expected.items():
            assert _values(ours, pairs, measure, ic) == pytest.approx(values, rel=1e-12, abs=1e-12), measure


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=3), min_size=2, max_size=14))
def test_random_graphs_have_the_values_of_nxontology(parents: list[list[int]]) -> None:
    edges = [(f"N{i + 1}", f"N{parent % (i + 1)}") for i, each in enumerate(parents) for parent in each]
    concepts = [f"N{i}" for i in range(len(parents) + 1)]
    _same_as_nxontology(list(set(edges)), [(a, b) for a in concepts for b in concepts])


def test_the_example_of_metals_has_the_values_of_nxontology() -> None:
    from nxontology.examples import create_metal_nxo

    graph = create_metal_nxo().graph
    edges = [(child, parent) for parent, child in graph.edges]
    _same_as_nxontology(edges, [(a, b) for a in graph for b in graph])
    found = SnapshotGraph.of(edges).hierarchy.pair("gold", "silver")
    assert {each.cui for each in found.lowest} == {"coinage", "precious"}
    assert found.values["simUI"] == 3 / 5


@functools.cache
def _hpo_edges() -> list[tuple[str, str]]:
    edges, term, obsolete = [], "", False
    for line in ontology().read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(": ")
        if line.startswith("["):
            term, obsolete = "", line != "[Term]"
        elif key == "id" and not obsolete:
            term = value
        elif key == "is_a" and term:
            edges.append((term, value.split(" ! ")[0].strip()))
    return edges


@pytest.mark.filterwarnings("ignore")  # PyHPO's own
def test_the_phenotype_ontology_has_the_values_of_nxontology() -> None:
    edges = _hpo_edges()
    chance = random.Random(1)
    terms = chance.sample(sorted({child for child, _ in edges}), 120)
    _same_as_nxontology(edges, list(zip(terms[::2], terms[1::2], strict=True)))


def test_the_environment_ontology_has_the_values_of_nxontology() -> None:
    edges, term = [], ""
    with gzip.open(shared("hierarchies/envo.obo.gz"), "rt", encoding="utf-8") as file:
        for line in file:
            if line.startswith("id: "):
                term = line[4:].strip()
            elif line.startswith("is_a: "):
                edges.append((term, line[6:].split(" ")[0].strip()))
    whole = nx.DiGraph(edges)
    roots = [node for node in whole if not whole.out_degree(node)]
    edges += [(root, "ABOVE-ALL-ROOTS") for root in roots]  # nxontology has no virtual root
    assert nx.is_directed_acyclic_graph(whole)
    terms = random.Random(2).sample(sorted(whole), 120)
    _same_as_nxontology(edges, list(zip(terms[::2], terms[1::2], strict=True)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # PyHPO's own
def test_a_corpus_of_phenotypes_gives_the_values_of_pyhpo(tmp_path: Path) -> None:
    from pyhpo.ontology import OntologyClass

    whole = nx.DiGraph(_hpo_edges())
    chance = random.Random(3)
    chosen = chance.sample(sorted(whole), 60)
    part = whole.subgraph({above for term in chosen for above in nx.descendants(whole, term)} | set(chosen))
    counts = {term: float(chance.randrange(1, 50)) for term in part}
    below = {term: sum(counts[low] for low in nx.ancestors(part, term) | {term}) for term in part}

    stanzas = [
        f"[Term]\nid: {term}\nname: {term}\n" + "".join(f"is_a: {parent}\n" for parent in part.successors(term))
        for term in sorted(part)
    ]
    (tmp_path / "hp.obo").write_text("format-version: 1.2\n\n" + "\n".join(stanzas), encoding="utf-8")
    installed = ontology().parent
    for name in ("phenotype.hpoa", "genes_to_phenotype.txt", "phenotype_to_genes.txt"):
        with (installed / name).open(encoding="utf-8") as file:  # PyHPO wants a disease of each kind, and a gene
            rows = [next(file) for _ in range(6)]
        rows += [rows[-1].replace("OMIM", kind) for kind in ("ORPHA", "DECIPHER")]
        (tmp_path / name).write_text(re.sub(r"HP:\d{7}", "HP:0000001", "".join(rows)), encoding="utf-8")
    theirs: Any = OntologyClass()(data_folder=str(tmp_path))
    terms = {term: theirs.get_hpo_object(term) for term in part}
    for term, each in terms.items():
        each.information_content.set_custom("corpus", -math.log(below[term] / sum(counts.values())))
    ours = SnapshotGraph.of(part.edges).hierarchy
    pairs = [(chance.choice(chosen), chance.choice(chosen)) for _ in range(200)]
    names: dict[str, SimilarityMeasure] = {"resnik": "Resnik", "lin": "Lin", "jc": "Jiang-Conrath"}
    for name, measure in names.items():
        found = ours.similarities(pairs, SimilarityOptions(measure, "corpus", counts)).to_list()
        expected = [terms[a].similarity_score(terms[b], "corpus", name) for a, b in pairs]
        if name == "jc":
            expected = [1 / value - 1 for value in expected]
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12), measure


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The multilingual functions")
def test_nouns_of_wordnet_have_the_values_of_nltk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    # Translations between versions need further files.
    monkeypatch.setattr(WordNetCorpusReader, "map_wn", lambda self, version="wordnet": None)
    for file in wordnet().iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    for name in ("cntlist.rev", "index.sense", *(f"{kind}.exc" for kind in ("noun", "verb", "adj", "adv"))):
        (tmp_path / name).touch()
    lines = [f"{i:02}\tfile{i}\t1\n" for i in range(_LEXICOGRAPHER_FILES)]
    (tmp_path / "lexnames").write_text("".join(lines), encoding="ascii")
    monkeypatch.setattr(nltk.data, "path", [*nltk.data.path, str(tmp_path)])
    theirs: Any = WordNetCorpusReader(str(tmp_path), None)

    def number(synset: Any) -> str:
        return f"{synset.offset():08}-n"

    synsets = list(theirs.all_synsets("n"))
    ours = SnapshotGraph.of(
        [
            (number(synset), number(above))
            for synset in synsets
            for above in synset.hypernyms() + synset.instance_hypernyms()
        ]
    )
    assert (ours.hierarchy.facts().roots, ours.hierarchy.facts().cycles) == (1, 0)
    dog, cat = (theirs.synset(name) for name in ("dog.n.01", "cat.n.01"))
    chance = random.Random(4)
    chosen = [(dog, cat), *((chance.choice(synsets), chance.choice(synsets)) for _ in range(150))]
    pairs = [(number(a), number(b)) for a, b in chosen]
    paths = _values(ours, pairs, "path-lcs")
    chodorow = _values(ours, pairs, "Leacock-Chodorow")
    assert paths == pytest.approx([a.path_similarity(b) for a, b in chosen], rel=1e-12)
    assert chodorow == pytest.approx([a.lch_similarity(b) for a, b in chosen], rel=1e-12)
    palmer = _values(ours, pairs, "Wu-Palmer")
    # values of the page "WordNet Interface" of NLTK, rounded there
    assert [paths[0], palmer[0], chodorow[0]] == pytest.approx([0.2, 0.857, 2.028], abs=5e-4)
    alike = 0
    for (a, b), value in zip(chosen, palmer, strict=True):
        subsumer = a.lowest_common_hypernyms(b, use_min_depth=True)[0]
        found = ours.hierarchy.pair(number(a), number(b)).deepest
        if number(subsumer) == found.cui:
            assert value == pytest.approx(a.wup_similarity(b), rel=1e-12)
            alike += 1
    assert alike > len(chosen) * 0.8


def test_path_has_the_values_published_with_umls_similarity() -> None:
    """Its page of the measure ``upath`` gives 1/3, 1/4 and 1/5 for chains of three, four and five concepts."""
    graph = SnapshotGraph.of([("C1", "C0"), ("C2", "C1"), ("C3", "C2"), ("C4", "C3")])
    assert _values(graph, [("C0", "C2"), ("C0", "C3"), ("C0", "C4"), ("C0", "C0")], "path") == [1 / 3, 1 / 4, 1 / 5, 1]

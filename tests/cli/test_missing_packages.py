"""A package that is missing is named before anything is read; what was computed is shown, whatever happens then."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.evaluation.result import MeasuredQueries
from cuihop.resources.optional_packages import OptionalPackage
from program_run import Run

# Arguments that name no file that exists: an error about a file would show that the work began before the check.
CASES = {
    "evaluate --plot": ("matplotlib", "cuihop[plots]", "evaluate x.run --concepts x.csv --plot x.svg"),
    "compare --plot": ("matplotlib", "cuihop[plots]", "compare a.run b.run --concepts x.csv --plot x.svg"),
    "score captions --plot": ("matplotlib", "cuihop[plots]", "score captions x.csv y.csv --plot x.png"),
    "score irma --plot": (
        "matplotlib", "cuihop[plots]", "score irma x.csv y.csv --branching 2 --training z.csv --plot x.pdf",
    ),
    "explain --plot": ("matplotlib", "cuihop[plots]", "explain pair x.csv a b --graph g.cuihop --plot x.svg"),
    "score captions by BLEU": ("sacrebleu", "cuihop[captions]", "score captions x.csv y.csv --measure BLEU@4"),
    "score captions by a model": ("torch", "torch transformers", "score captions x.csv y.csv --model BERTScore=model"),
    "fuse": ("ranx", "cuihop[fusion]", "runs fuse a.run b.run --output c.run"),
    "pairs in Parquet": ("pyarrow", "cuihop[parquet]", "similarity --all --graph g.cuihop --output x.parquet"),
    "concepts in Parquet": ("pyarrow", "cuihop[parquet]", "evaluate x.parquet --concepts x.csv"),
    "a system in Parquet": ("pyarrow", "cuihop[parquet]", "compare x.run NAME=x.parquet --concepts x.csv"),
    "zstd": ("pyarrow", "cuihop[parquet]", "runs pool a.run b.run.zst"),
    "a cluster": (
        "distributed", "cuihop[cluster]", "evaluate x.run --concepts x.csv --cluster local:2",
    ),
    "a service": ("urllib3", "cuihop[remote]", "evaluate x.run --concepts x.csv --graph http://127.0.0.1:1"),
    "a service by gRPC": ("grpc", "cuihop[remote]", "study x.csv --graph grpc://127.0.0.1:1 --output y --no-plots"),
    "a server": ("neo4j", "cuihop[neo4j]", "evaluate x.run --concepts x.csv --graph bolt://127.0.0.1:1"),
    "loading OBO": ("fastobo", "cuihop[loader]", "load two.tsv two.obo --output x.cuihop"),
    "loading OWL": ("pyhornedowl", "cuihop[ontologies]", "load two.tsv two.ofn --output x.cuihop"),
    "loading RDF": ("pyoxigraph", "cuihop[ontologies]", "load two.tsv two.ttl --output x.cuihop"),
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUIHOP_GRAPH", raising=False)
    monkeypatch.setenv("NEO4J_PASSWORD", "unused-here")
    for name in ("two.tsv", "two.obo", "two.ttl"):
        (tmp_path / name).write_text("not what a reader expects\n")
    (tmp_path / "two.ofn").write_text("Prefix(\n")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize("case", CASES)
def test_a_missing_package_is_named_before_the_work(
    case: str, here: Path, program: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, requirement, command = CASES[case]
    monkeypatch.setitem(sys.modules, package, None)
    before = sorted(here.iterdir())
    done = program(*command.split())
    argument = f"'{requirement}'" if "[" in requirement else requirement
    assert done.code == 8, done.err
    assert f"needs the package {package}, which is not installed: pip install {argument}" in done.err
    assert sorted(here.iterdir()) == before


def test_a_package_is_looked_up_and_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    OptionalPackage("this", "a requirement").check()
    assert "this" not in sys.modules
    with pytest.raises(ModuleNotFoundError, match="no_such_package, which is not installed: pip install 'x\\[y\\]'"):
        OptionalPackage("no_such_package", "x[y]").check()


def test_what_was_computed_is_shown_if_a_file_cannot_be_written(
    here: Path, program: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of the figure vanishes while the values are computed."""
    SnapshotGraph.of([("C0000001", "C0000002")]).save(here / "g.cuihop")
    (here / "images.csv").write_text("ID,Concepts\na,C0000001\nb,C0000002\nc,C0000001\n")
    gone = here / "gone"
    gone.mkdir()
    written = MeasuredQueries.to_csv

    def and_then_gone(self: MeasuredQueries, path: Path) -> None:
        written(self, path)
        shutil.rmtree(gone)

    monkeypatch.setattr(MeasuredQueries, "to_csv", and_then_gone)
    ask = ("evaluate", "--concepts", "images.csv", "--baseline", "iou", "--graph", "g.cuihop", "--output", "v.csv")
    done = program(*ask, "--card", "gone/card.json")
    assert (done.code, "no such folder" in done.err) == (6, True), done.err
    assert "nn-CUI@5" in done.out
    assert "Values of each query: v.csv" in done.out
    assert "Score card" not in done.out
    gone.mkdir()
    done = program(*ask, "--card", "gone/card.json", "--json")
    assert done.code == 6
    result, end = json.JSONDecoder().raw_decode(done.out)
    assert (result["per_query"], json.loads(done.out[end:])["exit_code"]) == ("v.csv", 6)

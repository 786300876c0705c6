"""Real-valued gains: written from nn-IoU as MTEB has them, read as judgements, and measured by nDCG alone."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from collections_made import Case, cases
from cuihop import evaluate
from cuihop.adapters import pytrec_eval
from cuihop.adapters.integer_gains import write_gains
from cuihop.collection.dataset import Dataset
from cuihop.collection.judgements import Gains, Judgements
from cuihop.errors import InputError
from cuihop.measures.nearness import Nearness
from cuihop.rankings.ranking import Ranking
from example_files import write_example_files
from examples import examples
from program_run import Run

MTEB = ("query-id", "corpus-id", "gain")


@settings(max_examples=examples(40))
@given(case=cases())
def test_ndcg_of_written_gains_is_nn_cui(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("gains")
    nearness = Nearness(case.n, case.lam, case.direction, "isolated")
    images = Dataset(case.queries, case.corpus)
    for name in ("gains.jsonl", "gains.parquet"):
        write_gains(folder / name, images, case.graph, nearness)
    if not (folder / "gains.jsonl").stat().st_size:
        with pytest.raises(InputError, match="holds no judgement"):
            Judgements.read(folder / "gains.parquet")
        return
    gains = Judgements.read(folder / "gains.jsonl")
    assert isinstance(gains, Gains)
    assert dict(Judgements.read(folder / "gains.parquet")) == dict(gains)
    assert all(list(of.values()) == sorted(of.values(), reverse=True) for of in gains.values())
    ranking = Ranking.of(case.ranking, tuple(case.queries), tuple(case.held))
    data = Dataset(case.queries, case.corpus, qrels=gains)
    measures = ["nn-CUI@3", "nDCG@3", "nn-CUI@20", "nDCG@20"]
    found = evaluate(data, ranking, case.graph, measures=measures, missing="zero", nearness=nearness).to_pandas()
    for k in (3, 20):
        judged = found[f"nDCG@{k}"].notna()
        np.testing.assert_allclose(found[f"nDCG@{k}"][judged], found[f"nn-CUI@{k}"][judged], rtol=1e-12)
        assert not found[f"nn-CUI@{k}"][~judged].any()


def test_whole_numbers_are_measured_to_the_last_bit_as_grades(tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    names = [f"d{number}" for number in range(40)]
    rows = [(f"q{query}", name, int(generator.integers(0, 5))) for query in range(30) for name in names[query::2]]
    ranking = {f"q{query}": list(generator.permutation(names)[:15]) for query in range(30)}
    pd.DataFrame(rows, columns=["query", "document", "grade"]).to_csv(tmp_path / "grades.csv", index=False)
    pd.DataFrame(rows, columns=MTEB).to_csv(tmp_path / "gains.tsv", index=False, sep="\t")
    values = []
    for name in ("grades.csv", "gains.tsv"):
        data = Dataset(qrels=Judgements.read(tmp_path / name))
        result = evaluate(data, ranking, measures=["nDCG", "nDCG@5", "nDCG@5(gain=exp)"])
        values.append(result.to_pandas().to_numpy())
    assert np.array_equal(values[0], values[1])


def test_ndcg_is_that_of_its_definition(tmp_path: Path) -> None:
    gains = {"q": {"a": 0.9, "b": 0.25, "c": 0.5, "d": 0.0}, "r": {"a": 1e-9}, "s": {"a": 0.0}}
    lines = [json.dumps(dict(zip(MTEB, (q, d, g), strict=True))) for q, of in gains.items() for d, g in of.items()]
    (tmp_path / "gains.jsonl").write_text("\n".join(lines))
    data = Dataset(qrels=Judgements.read(tmp_path / "gains.jsonl"))
    result = evaluate(data, {"q": ["b", "x", "a"], "r": ["x", "a"], "s": ["a"]}, measures="nDCG@2")
    assert result.to_pandas()["nDCG@2"].tolist() == pytest.approx(
        [0.25 / (0.9 + 0.5 / math.log2(3)), 1 / math.log2(3), 0]
    )
    assert result.counts.nothing_relevant == {"judgements": ("s",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query-id,corpus-id,gain\nq,a,0.5\nq,b,-0.1\n", "line 3, column grade: not a gain; found '-0.1'"),
        ("query-id\tcorpus-id\tgain\nq\ta\tnan\n", "line 2, column grade: not a gain; found 'nan'"),
        ("query-id,corpus-id,gain\nq,a,1000.5\n", "line 2, column grade: not a gain"),
        ("query-id,corpus-id,gain\nq,a,DR\n", "line 2, column grade: not a gain; found 'DR'"),
        ('{"query-id": "q", "corpus-id": "a", "gain": "0.5"}\n', "line 1, column grade: not a gain"),
        ('{"query-id": "q", "corpus-id": "a", "gain": true}\n', "line 1, column grade: not a gain"),
        ("query-id,corpus-id,gain\nq,a,0.5\nq,a,0.6\n", "line 3, column document: a document is judged twice"),
        ("query-id,corpus-id,gain\n", "holds no judgement"),
        ("query-id,corpus-id,grade\nq,a,0.5\n", "not a grade; found '0.5'"),
    ],
)  # fmt: skip
def test_what_is_no_gain_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "gains").write_text(text)
    with pytest.raises(InputError, match=message):
        Judgements.read(tmp_path / "gains")


def test_a_column_of_gains_beside_grades_is_not_read(tmp_path: Path) -> None:
    for name in ("grade", "rel"):
        (tmp_path / "both.csv").write_text(f"query,document,{name},gain\nq,a,2,0.5\n")
        judged = Judgements.read(tmp_path / "both.csv")
        assert (dict(judged), type(judged)) == ({"q": {"a": 2}}, Judgements)
    frame = pd.DataFrame({"query": ["q"], "document": ["a"], "rel": [2], "gain": [0.5]})
    assert dict(Judgements.of(frame)) == {"q": {"a": 2}}


def test_gains_that_a_table_holds_wrongly(tmp_path: Path) -> None:
    for gain in (-0.5, 2000.0):
        frame = pd.DataFrame({"query-id": ["q", "q"], "corpus-id": ["a", "b"], "gain": [0.5, gain]})
        with pytest.raises(InputError, match="column gain, row 2: not a gain"):
            Judgements.of(frame)


def test_gains_are_no_whole_grades() -> None:
    frame = pd.DataFrame({"query-id": ["q"], "corpus-id": ["a"], "gain": [0.5]})
    gains = Judgements.of(frame)
    for measure in ("AP", "P@5", "bpref", "RR"):
        with pytest.raises(InputError, match="gains are not relevant or not relevant"):
            evaluate(Dataset(qrels=gains), {"q": ["a"]}, measures=[measure])
    with pytest.raises(InputError, match="takes whole grades"):
        pytrec_eval.to_qrel(gains)


def test_the_command_writes_gains_and_reads_them(tmp_path: Path, program: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_example_files(tmp_path)
    conditions = ("--concepts", "concepts.csv", "--graph", "graph.cuihop", "--hops", "2", "--lambda", "0.3")
    done = program("evaluate", "run-a.csv", *conditions, "-m", "nn-CUI@2", "--gains", "gains.jsonl", "--json")
    assert done.code == 0, done.err
    first = json.loads(Path("gains.jsonl").read_text().splitlines()[0])
    assert tuple(first) == MTEB
    by_gains = program("evaluate", "run-a.csv", "--qrels", "gains.jsonl", "-m", "nDCG@2", "--json")
    (ours,), (theirs,) = (json.loads(each.out)["means"].values() for each in (done, by_gains))
    assert theirs == pytest.approx(ours, rel=1e-12)
    refused = program("evaluate", "run-a.csv", "--qrels", "qrels.txt", "-m", "AP", "--gains", "g.jsonl")
    assert "--gains goes with --concepts" in refused.err

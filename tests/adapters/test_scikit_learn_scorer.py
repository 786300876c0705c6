"""The scorer in real searches of scikit-learn: they find what trying by hand finds."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cuihop import SnapshotGraph, evaluate
from cuihop.adapters.sklearn import ConceptScorer
from cuihop.collection.dataset import Dataset
from cuihop.errors import InputError
from cuihop.rankings.in_memory import embedding_ranking, neighbour_ranking

CONCEPTS = [f"C{i:07}" for i in range(12)]
EDGES = [(CONCEPTS[i], CONCEPTS[i + 1]) for i in range(11)]
DIMS = [1, 2, 3, 5, 8]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> SnapshotGraph:
    path = tmp_path_factory.mktemp("graph") / "chain.cuihop"
    SnapshotGraph.of(EDGES).save(path)
    return SnapshotGraph.open(path)


@pytest.fixture(scope="module")
def images() -> tuple[np.ndarray[Any, Any], list[str]]:
    """60 images: two or three concepts next to one another, and features that tell them, under much noise."""
    generator = np.random.default_rng(11)
    first = generator.integers(0, 10, 60)
    held = [[CONCEPTS[f + i] for i in range(2 + int(f % 2))] for f in first]
    signal = np.zeros((60, 12))
    for row, concepts in enumerate(held):
        signal[row, [CONCEPTS.index(c) for c in concepts]] = 3.0
    noise = generator.normal(size=(60, 40))
    noise[:, :2] *= 4.0  # the first components of a PCA tell nothing
    return np.hstack([signal, noise]), [";".join(concepts) for concepts in held]


def by_hand(model: Any, X: Any, y: list[str], graph: SnapshotGraph, dims: list[int], measure: str) -> list[float]:
    from sklearn.model_selection import KFold

    means = []
    for count in dims:
        scores = []
        for train, test in KFold(3).split(X):
            fitted = type(model)(n_components=count, random_state=0).fit(X[train])
            held = {f"{place:03}": y[row] for place, row in enumerate(test)}
            ranking = embedding_ranking(held, fitted.transform(X[test]), 10)
            scores.append(evaluate(held, ranking, graph, measures=measure).mean(measure))
        means.append(float(np.mean(scores)))
    return means


@pytest.mark.parametrize("form", ["PCA", "TruncatedSVD"])
@pytest.mark.parametrize("measure", ["nn-CUI@10", "CUI@5"])
def test_a_grid_search_picks_what_trying_by_hand_picks(
    form: str, measure: str, graph: SnapshotGraph, images: tuple[Any, list[str]]
) -> None:
    from sklearn import decomposition
    from sklearn.model_selection import GridSearchCV, KFold

    model = getattr(decomposition, form)(random_state=0)
    X, y = images
    search = GridSearchCV(model, {"n_components": DIMS}, scoring=ConceptScorer(graph, measure), cv=KFold(3))
    search.fit(X, y)
    means = by_hand(model, X, y, graph, DIMS, measure)
    assert search.cv_results_["mean_test_score"].tolist() == pytest.approx(means, abs=1e-12)
    assert search.best_params_ == {"n_components": DIMS[int(np.argmax(means))]}
    assert len(set(means)) == len(means)  # there was something to pick from


def test_it_goes_to_other_processes_and_through_pipelines(graph: SnapshotGraph, images: tuple[Any, list[str]]) -> None:
    from sklearn import decomposition
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = images
    model = make_pipeline(StandardScaler(), decomposition.PCA(3, random_state=0))
    scorer = pickle.loads(pickle.dumps(ConceptScorer(graph)))  # noqa: S301 - what n_jobs does
    assert cross_val_score(model, X, pd.Series(y), scoring=scorer, cv=3).tolist() == pytest.approx(
        cross_val_score(model, X, [set(c.split(";")) for c in y], scoring=ConceptScorer(graph), cv=3).tolist()
    )


def test_neighbours_in_what_an_estimator_was_fitted_on(graph: SnapshotGraph, images: tuple[Any, list[str]]) -> None:
    from sklearn.model_selection import GridSearchCV, PredefinedSplit
    from sklearn.neighbors import NearestNeighbors

    X, y = images
    held = PredefinedSplit([-1] * 40 + [0] * 20)
    scorer = ConceptScorer(graph, "nn-CUI@5", by="kneighbors", corpus=y[:40])
    search = GridSearchCV(
        NearestNeighbors(), {"metric": ["cosine", "euclidean", "chebyshev"]}, scoring=scorer, cv=held, refit=False
    ).fit(X, y)
    means = []
    for metric in ("cosine", "euclidean", "chebyshev"):
        rows = NearestNeighbors(n_neighbors=5, metric=metric).fit(X[:40]).kneighbors(X[40:], return_distance=False)
        queries, corpus = ({f"{kind}{place:02}": c for place, c in enumerate(of)} for kind, of in
                           (("q", y[40:]), ("c", y[:40])))  # fmt: skip
        result = evaluate(
            Dataset(queries, corpus), neighbour_ranking(queries, rows, corpus=corpus), graph, measures="nn-CUI@5"
        )
        means.append(result.mean("nn-CUI@5"))
    assert search.cv_results_["mean_test_score"].tolist() == means


def test_a_perfect_estimator_scores_1_and_greater_is_better(graph: SnapshotGraph) -> None:
    class Perfect:
        def transform(self, X: Any) -> Any:
            return X

    y = [CONCEPTS[0], CONCEPTS[0], CONCEPTS[5], CONCEPTS[5]]
    good, bad = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]]
    scorer = ConceptScorer(graph, "nn-CUI@1")
    assert scorer(Perfect(), good, y) == 1.0
    assert scorer(Perfect(), bad, y) == 0.0
    assert scorer.evaluation(Perfect(), bad, y).counts.queries == 4
    assert repr(scorer) == "ConceptScorer(nn-CUI@1, by='transform')"


def test_what_cannot_be_scored_is_refused(graph: SnapshotGraph, tmp_path: Path) -> None:
    from sklearn import decomposition
    from sklearn.neighbors import NearestNeighbors

    for measure in ("nn-CUI@5,10", "AP", "nn-IoU"):
        with pytest.raises(InputError, match="not one measure of a ranking by concepts"):
            ConceptScorer(graph, measure)
    with pytest.raises(InputError, match="without corpus"):
        ConceptScorer(graph, by="kneighbors")
    with pytest.raises(InputError, match="with corpus"):
        ConceptScorer(graph, corpus=["C0000000"])
    with pytest.raises(InputError, match="transform or kneighbors"):
        ConceptScorer(graph, by="predict")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the estimator has no transform"):
        ConceptScorer(graph)(NearestNeighbors(), [[1.0]], ["C0000000"])
    fitted = NearestNeighbors().fit([[1.0], [2.0]])
    with pytest.raises(InputError, match=r"fitted on other images.*found 2 rows"):
        ConceptScorer(graph, by="kneighbors", corpus=["C0000000"])(fitted, [[1.0]], ["C0000000"])
    with pytest.raises(InputError, match=r"not one row for each image.*\(1, 1\)"):
        ConceptScorer(graph)(decomposition.PCA(1).fit([[1.0], [2.0]]), [[1.0]], ["C0000000", "C0000001"])

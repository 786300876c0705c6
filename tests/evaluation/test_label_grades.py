"""LabelValues joined by +: the grade of an image is the number of labels in which it agrees with the query."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop import ImageConcepts, evaluate
from cuihop.collection.dataset import Dataset
from cuihop.collection.labels import Agreement, Labels
from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import InputError
from cuihop.evaluation.judge import Truth, judge
from cuihop.measures import Measure, measures_named
from cuihop.rankings.ranking import Ranking
from examples import examples

NAMES = ("modality", "organ", "view")
LabelValues = Mapping[str, Mapping[str, str]]


def agreeing(labels: LabelValues, names: Sequence[str], query: str, image: str, agreement: Agreement = "equal") -> int:
    """In how many labels the two agree; a missing one agrees with nothing."""
    values = [(labels[name][query], labels[name][image]) for name in names]
    if agreement == "shared":
        return sum(bool((set(a.split(";")) & set(b.split(";"))) - {""}) for a, b in values)
    return sum(a == b != "" for a, b in values)


@st.composite
def collections(draw: st.DrawFn) -> tuple[LabelValues, list[str], list[str], dict[str, list[str]]]:
    """LabelValues, queries, corpus, and rankings that need not be whole."""
    images = [f"i{place}" for place in range(draw(st.integers(2, 9)))]
    labels = {
        name: {image: draw(st.sampled_from(["", "x", "y", "z", "x;y", "y;z"])) for image in images} for name in NAMES
    }
    queries = draw(st.lists(st.sampled_from(images), min_size=1, unique=True))
    corpus = draw(st.one_of(st.just(images), st.lists(st.sampled_from(images), min_size=1, unique=True)))
    lists = {}
    for query in queries:
        others = [image for image in corpus if image != query]
        lists[query] = draw(st.permutations(others))[: draw(st.integers(0, len(others)))]
    return labels, queries, corpus, lists


@pytest.mark.slow
@given(collections(), st.integers(1, 3), st.integers(1, 10), st.sampled_from(["equal", "shared"]))
def test_grades_of_labels_are_judgements_that_nobody_wrote(
    drawn: tuple[LabelValues, list[str], list[str], dict[str, list[str]]], joined: int, k: int, agreement: Agreement
) -> None:
    labels, queries, corpus, lists = drawn
    names = NAMES[:joined]
    parsed = Labels.of(labels).with_agreement(agreement)
    qrels = {q: {i: agreeing(labels, names, q, i, agreement) for i in corpus if i != q} for q in queries}
    families = [
        f"nDCG@{k}",
        "nDCG",
        f"nDCG@{k}(gain=exp)",
        f"mAP@{k}",
        f"P@{k}",
        f"R@{k}",
        "AP",
        "Rprec",
        "RR",
        "bpref",
    ]
    wanted = [measures_named(name)[0] for name in families]
    wanted += [Measure(m.family, m.k, options=(("rel", joined),)) for m in wanted if m.family != "nDCG" and joined > 1]
    by_labels = [Measure(m.family, m.k, ("+".join(names),), m.options) for m in wanted]
    ranking = Ranking.of(lists, queries, corpus)
    found = judge(ranking, Truth(by_labels, None, parsed, "zero"))
    expected = evaluate(Dataset(qrels=qrels), lists, measures=wanted)
    unjudged = [query for query in queries if not any(labels[name][query] for name in names)]
    expected.values[[queries.index(query) for query in unjudged]] = np.nan
    assert np.array_equal(found.values, expected.values, equal_nan=True)
    assert set(found.unjudged.values()) == {tuple(unjudged)}
    nothing = {name.replace("+".join(names), "judgements"): queries for name, queries in found.nothing_relevant.items()}
    assert nothing == {
        name: tuple(query for query in those if query not in unjudged)
        for name, those in expected.counts.nothing_relevant.items()
    }
    without = {i for i in {*queries, *corpus} if any(not labels[name][i] for name in names)}
    assert found.unlabelled == {"+".join(names): len(without)}
    # Of any part of the queries the answers are the same.
    half = queries[: len(queries) // 2 + 1]
    part = Ranking.of({query: lists[query] for query in half}, half, corpus)
    some = judge(part, Truth(by_labels, None, parsed, "zero"))
    assert np.array_equal(some.values, found.values[: len(half)], equal_nan=True)


@settings(max_examples=examples(60))
@given(collections(), st.sampled_from(["equal", "shared"]))
def test_labels_named_by_commas_all_have_to_agree(
    drawn: tuple[LabelValues, list[str], list[str], dict[str, list[str]]], agreement: Agreement
) -> None:
    labels, queries, corpus, lists = drawn
    parsed = Labels.of(labels).with_agreement(agreement)
    measures = measures_named(["P@3(modality, organ)", "R@3(modality, organ)", "bpref(modality, organ)"])
    found = judge(Ranking.of(lists, queries, corpus), Truth(measures, None, parsed, "zero"))
    names = NAMES[:2]
    qrels = {
        q: {i: int(agreeing(labels, names, q, i, agreement) == 2) for i in corpus if i != q} for q in queries
    }  # fmt: skip
    expected = evaluate(Dataset(qrels=qrels), lists, measures=["P@3", "R@3", "bpref"])
    unjudged = [q for q in queries if not all(labels[name][q] for name in names)]
    expected.values[[queries.index(q) for q in unjudged]] = np.nan
    assert np.array_equal(found.values, expected.values, equal_nan=True)


def test_more_classes_than_a_word_has_bits_and_too_many() -> None:
    images = [f"i{place}" for place in range(200)]
    values = {image: f"c{place};c{(place * 7 + 1) % 200}" for place, image in enumerate(images)}
    parsed = Labels.of({"modality": values}).with_agreement("shared")
    measure = Measure("RR", None, ("modality",))
    found = judge(Ranking.of({image: [] for image in images}, images), Truth([measure], None, parsed, "zero"))
    (counts,) = found.relevance.values()
    expected = [
        sum(agreeing({"m": values}, ["m"], q, i, "shared") for i in images if i != q) for q in images
    ]  # fmt: skip
    assert counts[:, 1].tolist() == expected
    many = {f"i{place}": ";".join(f"c{place * 100 + n}" for n in range(100)) for place in range(41)}
    with pytest.raises(InputError, match="too many classes of a label; found 4,100; expected at most 4,096"):
        Labels.of({"modality": many}).with_agreement("shared").bits("modality")
    with pytest.raises(InputError, match="agreement"):
        parsed.with_agreement("either")  # type: ignore[arg-type]


def test_the_equations_of_the_hashing_paper_literally() -> None:
    from sklearn.metrics import ndcg_score

    generator = np.random.default_rng(11)
    images = [f"i{place}" for place in range(60)]
    labels = {name: dict(zip(images, generator.choice(list("xyz"), 60).tolist(), strict=True)) for name in NAMES[:2]}
    ranking = {q: [o for o in generator.permutation(images).tolist() if o != q] for q in images}
    p = 10
    names = [f"mAP@{p}(modality+organ)", f"nDCG@{p}(modality+organ, gain=exp)", f"mAP@{p}(modality+organ, rel=2)"]
    result = evaluate(Dataset(labels=labels), ranking, measures=names)
    for row, query in enumerate(result.queries):
        rel = [agreeing(labels, NAMES[:2], query, image) for image in ranking[query]]
        for column, least in ((0, 1), (2, 2)):
            hit = [int(grade >= least) for grade in rel[:p]]
            prec = [sum(hit[:m]) / m for m in range(1, p + 1)]  # (3)
            ap = sum(a * b for a, b in zip(prec, hit, strict=True)) / sum(hit) if any(hit) else 0.0  # (2)
            assert result.values[row, column] == pytest.approx(ap, abs=1e-12)
        dcg, ideal = (
            sum((2**grade - 1) / math.log2(m + 1) for m, grade in enumerate(grades[:p], start=1))
            for grades in (rel, sorted(rel, reverse=True))
        )  # (4)
        assert result.values[row, 1] == pytest.approx(dcg / ideal, abs=1e-12)  # (5)
        gains = [[2**grade - 1 for grade in rel]]
        assert result.values[row, 1] == pytest.approx(ndcg_score(gains, [range(len(rel), 0, -1)], k=p), abs=1e-12)


def test_by_hand() -> None:
    labels = {
        "modality": {"q": "CT", "a": "CT", "b": "CT", "c": "MR", "d": ""},
        "organ": {"q": "head", "a": "chest", "b": "head", "c": "head", "d": "head"},
    }
    lists = {"q": ["a", "c", "b", "d"]}  # grades 1, 1, 2, 1
    exact = (1 + 1 / math.log2(3)) / (3 + 1 / math.log2(3))
    result = evaluate(
        Dataset(labels=labels),
        lists,
        measures=["nDCG@2(modality+organ, gain=exp)", "AP(modality+organ, rel=2)"],
        missing="skip",
    )
    assert result.means == {
        "nDCG@2(modality+organ, gain=exp)": pytest.approx(exact),
        "AP(modality+organ, rel=2)": pytest.approx(1 / 3),
    }
    assert result.counts.unlabelled == {"modality+organ": 1}
    assert result.counts.nothing_relevant == {"modality+organ": (), "modality+organ, rel=2": ("a", "c", "d")}
    relevance = result.counts.relevance["modality+organ"]
    assert (relevance.retrieved, relevance.relevant, relevance.relevant_retrieved) == (4, 4, 4)
    assert result.counts.relevance["modality+organ, rel=2"].relevant == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("P@5(modality+organ, view)", r"joined by \+ and by commas.*modality\+organ\+view: the grade"),
        ("P@5(modality+modality)", "each once"),
        ("P@5(modality+)", "each once"),
        ("P@5(modality++organ)", "each once"),
        ("P@5(modality+organ, rel=3)", "no image has this grade.*rel of 2 at most"),
        ("P@5(modality, organ, rel=2)", "no image has this grade.*rel of 1 at most"),
        (f"P@5({'+'.join('abcdefghijk')})", r"too many labels joined by \+; found 11; expected 10 at most"),
        ("nn-CUI@5(modality+organ)", "takes no labels"),
    ],
)
def test_names_that_are_none(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        measures_named(name)
    assert caught.value.column == "measures"


def test_columns_that_hold_a_plus_cannot_be_named() -> None:
    labels = {name: {"p": "1", "q": "1"} for name in ("a+b", "a", "b")}
    with pytest.raises(InputError, match=r"the name of a label holds a \+; found 'a\+b'.*Rename") as caught:
        evaluate(Dataset(labels=labels), {"p": ["q"], "q": ["p"]}, measures="P@1(a + b)")
    assert caught.value.file == "memory"
    with pytest.raises(InputError, match="no such label; found 'c'"):
        evaluate(Dataset(labels=labels), {"p": ["q"], "q": ["p"]}, measures="P@1(a+c)")


def test_joined_labels_beside_concepts_and_in_score_cards(tmp_path: Path) -> None:
    images = ImageConcepts.of({"p": "C0042449", "q": "C0005847", "r": "C0042449"})
    labels = {name: dict(zip("pqr", values, strict=True)) for name, values in (("a", "xxy"), ("b", "uvu"))}
    ranking = {one: [other for other in "pqr" if other != one] for one in "pqr"}
    names = ["CUI@1", "nDCG@2(a+b)", "nDCG@2(a+b, gain=exp)"]
    result = evaluate(Dataset(images, labels=labels), ranking, None, measures=names)
    alone = evaluate(Dataset(labels=labels), ranking, measures=names[1:])
    assert np.array_equal(result.values[:, 1:], alone.values)
    ScoreCard.of(alone, "s").write(tmp_path / "card.json")
    card = ScoreCard.read(tmp_path / "card.json")
    assert list(card.values) == names[1:]
    assert card.counts["relevance"]["a+b"] == {"retrieved": 6, "relevant": 4, "relevant_retrieved": 4}


def test_many_labels_are_counted_as_they_would_be_one_by_one() -> None:
    generator = np.random.default_rng(5)
    images = [f"i{place}" for place in range(40)]
    names = [f"l{place}" for place in range(6)]
    labels = {name: dict(zip(images, generator.choice(["", "x", "y"], 40).tolist(), strict=True)) for name in names}
    ranking = Ranking.of({image: [] for image in images}, images)
    for rel in range(1, 7):
        measure = Measure("RR", None, ("+".join(names),), (("rel", rel),))
        found = judge(ranking, Truth([measure], None, Labels.of(labels), "zero"))
        (relevance,) = found.relevance.values()
        pairs = itertools.permutations(images, 2)
        assert relevance[:, 1].sum() == sum(agreeing(labels, names, one, other) >= rel for one, other in pairs)


def test_threads_ask_the_same_labels_for_their_rows_at_once() -> None:
    """Shards and jobs of one process share labels: a thread once met a list that another had under way."""
    images = tuple(f"i{place}" for place in range(20))
    labels = Labels.of({"modality": dict.fromkeys(images, "x")})
    asked = [images, images[::-1], images[5:]]
    expected = [[images.index(image) for image in of_one] for of_one in asked]

    def rows(first: int) -> bool:
        return all(labels.rows(asked[at % 3]).tolist() == expected[at % 3] for at in range(first, first + 5_000))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(rows, range(4)))
    finally:
        sys.setswitchinterval(interval)

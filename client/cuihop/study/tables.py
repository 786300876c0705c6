"""The tables of a study, and the published figures of the paper."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cuihop.evaluation.means import MeanQueries, mean_text, p_text, signed_text
from cuihop.evaluation.result import Evaluation
from cuihop.notebooks.table import Table
from cuihop.study.ablation import HOPS, LAMBDAS, SUBSETS, subset_name
from cuihop.study.cost import Cost
from cuihop.study.cross_evaluation import IOU, NN_IOU, CrossEvaluation
from cuihop.study.difference import NearConcepts, PrecisionDifference
from cuihop.study.inputs import CUT_OFFS, DEPTH, LongRow, StudyInputs

SOURCE = "Wei, Kurtz and Cloppet 2025, arXiv:2506.13509"

_LABELS = (("modality",), ("organ",), ("modality", "organ"))
PRECISION: dict[str, dict[tuple[str, ...], tuple[float, float, float]]] = {
    ranking: dict(zip(_LABELS, figures, strict=True))
    for ranking, figures in {
        "IoU": ((99.28, 99.17, 98.99), (94.27, 93.46, 91.15), (90.03, 88.87, 85.72)),
        "nn-IoU": ((99.34, 99.46, 99.42), (94.59, 93.78, 91.50), (90.65, 89.53, 86.85)),
        "BioMedCLIP-t": ((74.61, 73.25, 69.83), (60.52, 56.91, 51.17), (37.62, 33.53, 27.44)),
        "BioMedCLIP-v": ((95.85, 93.09, 89.44), (87.12, 84.32, 78.46), (91.33, 89.48, 84.08)),
    }.items()
}
"""Table 1: P@5, P@10 and P@30 in per cent on the ROCOv2 test set."""

COST = (
    "The paper's Figure 4 shows, without numbers and on an axis up to five seconds per image, bars of CUI@K, nn-CUI@K "
    "offline and nn-CUI@K on the fly, with NetworkX; machine and UMLS release are not stated."
)

_ROCOV2_TEST = "ROCOv2_2023_test_"
_MOST_OF_THEM = 9_900  # of 9,928; copies without the few images that were withdrawn are the same test set


def comparable(images: Collection[str], label_sets: Iterable[tuple[str, ...]]) -> bool:
    """True for the test images of ROCOv2, recognised by their names, with labels of the paper's names."""
    complete = len(images) >= _MOST_OF_THEM and all(image.startswith(_ROCOV2_TEST) for image in images)
    return complete and set(PRECISION["IoU"]) <= set(label_sets)


def precision_table(evaluations: Mapping[str, Evaluation], inputs: StudyInputs) -> Table:
    """P@K in per cent for each ranking, by each set of labels."""
    rows = [(name, *_precisions(evaluation, inputs.label_sets)) for name, evaluation in evaluations.items()]
    counts = _query_counts(evaluations, inputs)
    caption = f"Precision@K (%) of rankings by each relevance, by labels. Queries: {counts}"
    return _by_k("precision", caption, rows, [" & ".join(labels) for labels in inputs.label_sets])


def _query_counts(evaluations: Mapping[str, Evaluation], inputs: StudyInputs) -> str:
    """Number of queries that count by each set of labels."""
    behind = next(iter(evaluations.values())).mean_queries
    return _counts_text(inputs, {" & ".join(s): behind[f"P@{DEPTH}({', '.join(s)})"] for s in inputs.label_sets})


def _counts_text(inputs: StudyInputs, named: Mapping[str, MeanQueries]) -> str:
    return "; ".join(f"{name}: {mean_text(behind, inputs.empty_ideal)}" for name, behind in named.items())


def difference_table(differences: Sequence[PrecisionDifference]) -> Table:
    """Each P@K of nn-IoU less that of IoU, in points, with interval and p."""
    rows = [
        (
            f"P@{each.k}, {' & '.join(each.labels)}", _percent(each.iou), _percent(each.nn_iou),
            _points(each.difference), f"{_points(each.interval[0])} to {_points(each.interval[1])}",
            p_text(each.p_holm), f"{each.better:,}", f"{each.worse:,}",
        )
        for each in differences
    ]  # fmt: skip
    caption = (
        "P@K (%) of the ranking by nn-IoU less that by IoU: 95 % confidence interval (paired bootstrap), p of the "
        "paired randomisation test, adjusted by Holm, and queries for which nn-IoU is better and worse"
    )
    columns = ("measure", IOU, NN_IOU, "difference", "interval", "p", "better", "worse")
    return Table(columns, rows, "difference", caption, [("", 5), ("queries", 2)])


def near_table(near: NearConcepts, inputs: StudyInputs) -> Table:
    """Near concepts, which nn-IoU counts and IoU does not."""
    rows = [("queries with other images than by IoU (%)", *(_percent(near.others[k]) for k in CUT_OFFS))]
    for name in (IOU, NN_IOU):
        shares = (_percent(near.having[name, k]) for k in CUT_OFFS)
        rows.append((f"near concepts an image, by {name}", *(f"{near.near[name, k]:.3f}" for k in CUT_OFFS)))
        rows.append((f"images with a near concept, by {name} (%)", *shares))
    caption = f"What nn-IoU ({inputs.nn_iou}) changes among the first K images"
    return Table(["", *(f"@{k}" for k in CUT_OFFS)], rows, "near", caption)


def gain_table(evaluations: Mapping[str, Evaluation], inputs: StudyInputs) -> Table:
    """CUI@K and nn-CUI@K for each ranking."""
    families = ("CUI", "nn-CUI")
    columns = [f"{family}@{k}" for family in families for k in CUT_OFFS]
    behind = next(iter(evaluations.values())).mean_queries
    queries = _counts_text(inputs, {family: behind[f"{family}@{DEPTH}"] for family in families})
    rows = [(name, *(_fraction(each.means[column]) for column in columns)) for name, each in evaluations.items()]
    caption = f"CUI@K and nn-CUI@K ({inputs.nn_iou}) of rankings by each relevance. Queries: {queries}"
    return _by_k("gain", caption, rows, families)


def published_table(evaluations: Mapping[str, Evaluation], inputs: StudyInputs) -> Table:
    """P@K here, and the published P@K of a ranking of the same name."""
    named = {name.lower(): name for name in evaluations}
    rows: list[tuple[str, ...]] = []
    for name, figures in PRECISION.items():
        here = evaluations.get(named.get(name.lower(), ""))
        if here is not None:
            label_sets = [next(s for s in inputs.label_sets if set(s) == set(labels)) for labels in figures]
            rows.append((f"{name}, here", *_precisions(here, label_sets)))
        rows.append((f"{name}, published", *(f"{value:.2f}" for values in figures.values() for value in values)))
    caption = (
        f"Precision@K (%) here, and as published ({SOURCE}, Table 1). Queries here: "
        f"{_query_counts(evaluations, inputs)}; published: not stated"
    )
    return _by_k("published", caption, rows, [" & ".join(labels) for labels in PRECISION["IoU"]])


def _by_k(name: str, caption: str, rows: Sequence[Sequence[str]], groups: Sequence[str]) -> Table:
    """A table of rankings, with a column for each K in each group."""
    columns = ["ranking by", *(f"@{k}" for _ in groups for k in CUT_OFFS)]
    return Table(columns, rows, name, caption, [(group, len(CUT_OFFS)) for group in groups])


def ablation_tables(rows: Sequence[LongRow], inputs: StudyInputs) -> Iterator[Table]:
    """P@30 for each λ, n and label: a table for each subset of queries."""
    values = {(x.subset, x.measure, x.n, x.lam): x for x in rows if x.part == "ablation"}
    names = [f"P@{DEPTH}({', '.join(labels)})" for labels in inputs.label_sets]
    for subset, meaning in SUBSETS.items():
        first = (values[subset, name, 0, 0.0] for name in names)
        behind = (MeanQueries(each.queries, each.nothing_relevant or 0, each.unjudged or 0) for each in first)
        counts = _counts_text(inputs, dict(zip(map(" & ".join, inputs.label_sets), behind, strict=True)))
        yield Table(
            ["λ", *(f"n = {n}" for _ in names for n in HOPS)],
            [
                (f"{lam:.1f}", *(_percent(values[subset, name, n, lam].value) for name in names for n in HOPS))
                for lam in LAMBDAS
            ],
            subset_name(subset),
            f"P@{DEPTH} (%) of rankings by nn-IoU (n, λ) on the {meaning}. Queries: {counts}",
            [(" & ".join(labels), len(HOPS)) for labels in inputs.label_sets],
        )


def _precisions(evaluation: Evaluation, label_sets: Sequence[Sequence[str]]) -> list[str]:
    means = evaluation.means
    return [_percent(means[f"P@{k}({', '.join(labels)})"]) for labels in label_sets for k in CUT_OFFS]


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f}"


def _fraction(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _points(value: float) -> str:
    """A difference of shares in hundredths, signed; a rounded 0 has no sign."""
    text = signed_text(100 * value, 2)
    return "0.00" if text in ("+0.00", "−0.00") else text


@dataclass(frozen=True)
class StudyResults:
    """Results of a study; parts that were left out are empty."""

    tables: CrossEvaluation | None = None
    differences: Sequence[PrecisionDifference] = ()
    near: NearConcepts | None = None
    ablation: Sequence[LongRow] = ()
    costs: Sequence[Cost] = ()

    def long_rows(self, inputs: StudyInputs) -> list[LongRow]:
        """Every number but times and tests."""
        tables = () if self.tables is None else self.tables.long_rows(inputs)
        return [*tables, *(() if self.near is None else self.near.long_rows(inputs)), *self.ablation]


def tables_of(results: StudyResults, inputs: StudyInputs) -> list[Table]:
    """The tables, but for the times."""
    tables = []
    if results.tables is not None:
        evaluations = results.tables.evaluations
        if inputs.label_sets:
            tables.append(precision_table(evaluations, inputs))
            if comparable(inputs.images, inputs.label_sets):
                tables.append(published_table(evaluations, inputs))
        if results.differences:
            tables.append(difference_table(results.differences))
        if results.near is not None:
            tables.append(near_table(results.near, inputs))
        tables.append(gain_table(evaluations, inputs))
    if results.ablation:
        tables += ablation_tables(results.ablation, inputs)
    return tables

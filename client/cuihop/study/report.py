"""The report of a study: Markdown, with its tables and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from cuihop.evaluation.result import Evaluation
from cuihop.files.text_lines import direction_text
from cuihop.measures.nearness import weight_text
from cuihop.measures.resolution import treated_text
from cuihop.notebooks.table import Table, marked
from cuihop.study.ablation import HOPS, LAMBDAS, SUBSETS
from cuihop.study.cost import Cost
from cuihop.study.cross_evaluation import RANDOM, RESAMPLES, SHUFFLED, CrossEvaluation
from cuihop.study.difference import EXCHANGES, NearConcepts
from cuihop.study.inputs import DEPTH, StudyInputs
from cuihop.study.plots import time_text
from cuihop.study.tables import COST, SOURCE


def report(
    inputs: StudyInputs, scores: CrossEvaluation | None, near: NearConcepts | None, notes: Sequence[str],
    tables: Sequence[Table], figures: Sequence[str], *, comparable: bool,
) -> Iterator[str]:  # fmt: skip
    """The lines of the report. They hold no time, path of the output, or name of a machine.

    Args:
        scores, near: scores of every ranking, and near concepts; ``None`` if the tables were left out.
        notes: lines about the inputs. figures: names of the figures that were drawn, without suffix.
        comparable: true if the published figures are among the tables.
    """
    yield f"# Relevance measures on {len(inputs.images):,} images"
    yield (
        f"The study of {SOURCE}, repeated by `cuihop study`. Each image is a query; "
        f"{'the others' if inputs.query_image == 'exclude' else 'all of them, the query too,'} are its corpus. "
        "Values of all tables, to the last digit: `numbers.csv`. Tables for LaTeX: `*.tex`. Times and machine: "
        "`cuihop-study.json` and, where cost was measured, `cost.md`."
    )
    first = None if scores is None else next(iter(scores.evaluations.values()))
    yield "## What went in"
    yield "\n".join(_conditions(inputs, first))
    yield from (["\n".join(f"- {line}" for line in notes)] if notes else [])
    if first is not None:
        yield _coverage(first)
    for table in tables:
        yield table.markdown().rstrip()
        yield from (f"![{marked(table.caption)}]({name}.png)" for name in figures if name == table.name)
        if table.name == "precision" and scores is not None:
            yield from _alike(scores, inputs)
        if table.name == "near" and near is not None:
            yield _linked(near, inputs)
    yield "## How to read it"
    yield "\n".join(f"- {line}" for line in _explained(inputs, comparable))


def _conditions(inputs: StudyInputs, first: Evaluation | None) -> Iterator[str]:
    rows = [("images", f"{inputs.images.source}, content SHA-256 {inputs.images.digest}")]
    if inputs.labels is not None:
        rows.append(("labels", f"{inputs.labels.source}, content SHA-256 {inputs.labels.digest}"))
    for name, (file, digest) in inputs.embedding_files.items():
        rows.append((f"embeddings {name}", f"{file}, file SHA-256 {digest}"))
    release = inputs.graph.release
    rows += [
        ("release", f"{release.name}, digest {release.digest}"),
        ("source vocabularies", ", ".join(release.sabs) or "not stated"),
        ("relations", ", ".join(release.relations) or "not stated"),
        ("graph", f"{release.concepts:,} concepts, {release.edges:,} is_a edges"),
        ("n, λ", f"{inputs.nearness.n}, {inputs.nearness.lam}"),
        ("weight of a near concept", weight_text(inputs.nearness.weight, inputs.nearness.ic)),
        ("hops", direction_text(inputs.nearness.direction)),
        ("unknown identifiers", inputs.nearness.unknown),
        ("queries for which nothing is relevant", "left out" if inputs.empty_ideal == "skip" else "scored 0"),
        ("queries without the label", "left out"),
        ("a query in its own ranking", "left out" if inputs.query_image == "exclude" else "counted"),
        ("seed", str(inputs.seed)),
    ]
    if first is not None:
        rows.append(("versions", ", ".join(f"{name} {version}" for name, version in first.versions.items())))
    yield "| | |"
    yield "|---|---|"
    yield from (f"| {marked(name)} | {marked(value)} |" for name, value in rows)


def _coverage(evaluation: Evaluation) -> str:
    counts = evaluation.counts
    outside = (counts.unknown, counts.retired)

    def share(total: int, of: Sequence[int]) -> str:
        held = total - sum(of)
        return f"{held:,} of {total:,} ({held / total:.1%})" if total else "none"

    distinct = share(counts.identifiers, [kind.distinct for kind in outside])
    occurrences = share(counts.occurrences, [kind.occurrences for kind in outside])
    return (
        f"**Coverage.** The graph holds {distinct} distinct identifiers of the images, and {occurrences} of their "
        f"occurrences. The others {treated_text(evaluation.parameters['unknown'])}."
    )


def _alike(scores: CrossEvaluation, inputs: StudyInputs) -> Iterator[str]:
    """Label sets that give every query the same values."""
    columns = {
        labels: [column for column, measure in enumerate(inputs.measures) if measure.labels == labels]
        for labels in inputs.label_sets
    }
    for labels, others in combinations(inputs.label_sets, 2):
        values = [(e.values[:, columns[labels]], e.values[:, columns[others]]) for e in scores.evaluations.values()]
        if all(np.array_equal(ours, theirs, equal_nan=True) and not np.isnan(ours).all() for ours, theirs in values):
            yield (
                f"**{marked(' & '.join(labels))}** and **{marked(' & '.join(others))}** give every query the same "
                "value under every ranking: on these images they are one result, not two."
            )


def _linked(near: NearConcepts, inputs: StudyInputs) -> str:
    def share(count: int, total: int) -> str:
        return f"{count:,} of {total:,}" + (f" ({count / total:.1%})" if total else "")

    return (
        f"Only concepts that have another concept of these images within n = {inputs.nearness.n} can ever earn λ: "
        f"{share(near.linked, near.concepts)} distinct ones, and {share(near.linked_occurrences, near.occurrences)} of "
        f"all that the images hold, {near.occurrences / near.queries:.1f} for each image. “Near concepts an image” "
        "is the mean |rel| of a query and one of its first K images."
    )


def _explained(inputs: StudyInputs, comparable: bool) -> Iterator[str]:
    yield (
        "Rankings by IoU, nn-IoU and BM are exact, over all pairs; equal values are ordered by the name of the image. "
        "BM: best one-to-one matching, weights 1 / (1 + hops), divided by the size of the smaller set."
    )
    yield (
        f"TF-IDF: cosine of TF-IDF vectors of concepts. {SHUFFLED}: the concept sets were dealt out anew among the "
        f"images, then ranked by nn-IoU. {RANDOM}: chance. All three need no image and no model."
    )
    if inputs.labels is not None:
        yield (
            "Whether nn-IoU and IoU differ by more than chance: p is how often so large a difference would come of "
            f"exchanging the two at random in each query ({EXCHANGES:,} times), adjusted for the number of measures. "
            f"The interval is what resampling the queries {RESAMPLES:,} times gives. Intervals of all means, made "
            "so too, stand in `numbers.csv` (`low`, `high`: 95 %)."
        )
        yield (
            "Precision counts an image as relevant that has the query's label, in every label named. Where labels come "
            "from concepts, an image's label is the set of its manual concepts, or of its classes, of that kind; see "
            "`docs/measures/judged.md`. Such concepts may stand in the sets that IoU, nn-IoU, BM and TF-IDF rank by: "
            "then precision says how well a ranking keeps them, not how well it finds them."
        )
        readings = "; ".join(f"*{subset}*: {meaning}" for subset, meaning in SUBSETS.items())
        yield (
            f"The ablation ranks by nn-IoU with n of {', '.join(map(str, HOPS))} and λ from {LAMBDAS[0]} to "
            f"{LAMBDAS[-1]}. Its queries are those on which IoU and nn-IoU ({inputs.nn_iou}) disagree, "
            f"in two readings of the paper: {readings}. They were chosen by these very rankings, so its figures "
            "compare n and λ, and are no estimate for all queries. n = 0 and λ = 0 are IoU."
        )
    if comparable:
        yield (
            "The published figures were computed on UMLS; which release, and which concepts "
            "gave modality and organ, is not stated there. With another graph (see coverage) and other labels (see the "
            "numbers of queries), differences are to be expected either way: they are no check of this program."
        )
    else:
        yield "The paper's figures are of all ROCOv2 test images, with modality and organ: not comparable with these."


def cost_table(costs: Sequence[Cost]) -> Table:
    """Seconds per query of each implementation."""
    rows = [
        (f"{cost.measure}, {cost.way}", time_text(cost.seconds), f"{cost.queries:,}",
         f"{cost.difference:.1e}" if cost.difference else "0")
        for cost in costs
    ]  # fmt: skip
    columns = ("measure, way", "time", "queries timed", "largest difference")
    return Table(columns, rows, "cost", f"Time per query image, ranking of {DEPTH}")


def cost_report(costs: Sequence[Cost], inputs: StudyInputs, machine: str, *, figure: bool) -> Iterator[str]:
    """The lines of the report on cost."""
    yield "# Cost per query image"
    yield marked(machine)
    yield cost_table(costs).markdown().rstrip()
    yield from (["![Seconds per query image](cost.png)"] if figure else [])
    yield (
        f"Corpus: {len(inputs.images):,} images; {inputs.nn_iou}. Compiled: all queries, the index and "
        "the graph's answers included, files not. Plain Python: the paper's Algorithms 1 and 2 with sets, on a sample "
        "of queries; *offline*: neighbours prepared once in a dictionary, and a share of that counted to each query; "
        "*on the fly*: one call of the graph for each pair of concepts. "
        "The last column is the largest difference of a query's value from the compiled one."
    )
    yield COST

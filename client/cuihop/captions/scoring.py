"""Captions of images, scored against the reference captions: words, concepts, and values computed elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.annotated_texts.scoring import AnnotationCounts, AnnotationScores, notes_on_identifiers
from cuihop.captions.blocks import CaptionBlocks, TextBlocks, bleu_values, corpus_bleu, rouge_values
from cuihop.captions.concepts import CaptionConcepts, caption_concepts, concept_values, score_concepts
from cuihop.captions.external_scores import ExternalScores
from cuihop.captions.reading import Captions, depends_on_captions
from cuihop.captions.rules import CaptionRules, components
from cuihop.errors import InputError
from cuihop.evaluation.result import Details, MeasuredQueries
from cuihop.files.text_lines import counted, direction_text
from cuihop.graph import ConceptGraph
from cuihop.measures.caption_measures import COMPOSITES, CONCEPT_FAMILIES, EXTERNAL, MODEL_FAMILIES, ROUGE_FAMILIES
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.nearness import Nearness
from cuihop.resources.arrays import Float64
from cuihop.resources.optional_packages import versions
from cuihop.resources.resources import Resources

_ROUGE, _CONCEPTS, _MODELS, _COMPOSITES = (
    frozenset(family.name for family in families)
    for families in (ROUGE_FAMILIES, CONCEPT_FAMILIES, (*MODEL_FAMILIES, EXTERNAL), COMPOSITES)
)


@dataclass(frozen=True, slots=True)
class CaptionCounts:
    """Counts of a scoring of captions.

    Attributes:
        captions: of the references.
        empty_references, empty_predictions: captions without a character.
        both_empty: images whose two captions are empty; every measure computed here scores them 1.
        not_computed: name of a composite → the measures that it lacks.
        corpus: name of a measure → its value of all captions together.
        concepts: counts of the concepts of all captions; ``None`` if no measure needs them.
        without_concepts: images without a concept on either side; measures of concepts score them 0, unless both
            captions are empty.
    """

    captions: int
    empty_references: int
    empty_predictions: int
    both_empty: int
    not_computed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    corpus: Mapping[str, float] = field(default_factory=dict)
    concepts: AnnotationCounts | None = None
    without_concepts: int = 0


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CaptionScores(MeasuredQueries):
    """The result of `score_captions`: a value of each caption under each measure.

    Its `counts` are `CaptionCounts`.

    Attributes:
        concepts: the concepts of all captions, with the nearest concept of the other side; ``None`` if no measure
            needs them. `cuihop.annotated_texts.near_misses` lists the near misses.
        signatures: name of a measure → the signature by which sacrebleu states how its value of all captions arose.
    """

    concepts: AnnotationScores | None = None
    signatures: Mapping[str, str] = field(default_factory=dict)

    def conditions(self) -> str:
        """The rules, the nearness and the release in one line."""
        p, form = self.parameters, "in lower case, digits as “number”, without punctuation"
        parts = [f"words compared {form if p['text'] == 'imageclef' else 'as given'}"]
        if p["official"] is not None:
            parts.insert(0, f"rules of ImageCLEFmedical's program of {p['official']}")
        if self.counts.concepts is not None and self.release is None:
            parts.append("without a graph: identifiers are compared as they are written")
        elif self.counts.concepts is not None and self.release is not None:
            if any(m.family == "nn-concept-F1" and len(m.options) < 2 for m in self.measures):
                parts.append(f"n = {p['n']}, λ = {p['lambda']}, hops {direction_text(p['direction'])}")
            parts.append(f"release {self.release.name} ({self.release.digest[:12]})")
        return " · ".join(parts)

    def _notes(self, *, brief: bool) -> Iterator[str]:
        counts: CaptionCounts = self.counts
        if counts.both_empty:
            yield f"{counted(counts.both_empty, 'image')} with two empty captions: scored 1"
        one = counts.empty_references + counts.empty_predictions - 2 * counts.both_empty
        if one:
            yield f"{counted(one, 'image')} with one empty caption: 0 by words and by concepts"
        for name, value in counts.corpus.items():
            yield f"{name} of all captions together: {value:.4f} (sacrebleu {self.signatures[name]})"
        if counts.concepts is not None:
            yield from self._notes_on_concepts(counts.concepts, brief=brief)
        for name, absent in counts.not_computed.items():
            yield f"{name}: not computed, without {' and '.join(absent)}"

    def _notes_on_concepts(self, counts: AnnotationCounts, *, brief: bool) -> Iterator[str]:
        if not brief:
            yield f"{counts.true_concepts:,} concepts of the references, {counts.predicted_concepts:,} predicted"
        if self.counts.without_concepts:
            yield f"{counted(self.counts.without_concepts, 'image')} without a concept on either side: 0 by concepts"
        yield from self.concepts.notes_on_shared() if self.concepts is not None else ()
        yield from notes_on_identifiers(counts, (counts.without_prefix, "compared without their prefix"))
        if any(measure.family == "MEDCON" for measure in self.measures) and counts.unknown.distinct:
            yield "MEDCON leaves out identifiers that are not in the graph: they have no semantic type"


def score_captions(
    references: Captions | Mapping[str, str],
    predictions: Captions | Mapping[str, str],
    graph: ConceptGraph | None = None,
    *,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    rules: CaptionRules = CaptionRules(),
    concepts: CaptionConcepts | None = None,
    scores: Sequence[ExternalScores] = (),
    nearness: Nearness = Nearness(unknown="isolated"),
    resources: Resources | None = None,
) -> CaptionScores:
    """Score predicted captions against the references.

    Definitions and edge cases: ``docs/measures/captions.md``. The columns of ``scores`` are measures of the result, and
    a column takes the place of what would be computed.

    Args:
        references: image → caption. predictions: of the same images.
        graph: finds the concepts of captions by their names unless ``concepts`` has them, and gives distances.
        measures: their names; by default ROUGE-1, with concepts concept-F1, with a graph nn-concept-F1, and with
            ``scores`` the composites whose components are there.
        rules: the form of words, and an edition of the organisers' program.
        concepts: concepts of both sides, from any extractor.
        scores: values that another program computed.
        nearness: n, λ and direction of near misses, from a concept of the reference. An identifier that the graph does
            not hold matches only itself, unless ``unknown`` is ``error``.
        resources: threads; progress of the search for concepts and of the values by words; and a checkpoint of these:
            the beginning of the names of its files.

    Raises:
        InputError: the images differ, a measure is none of captions, or lacks what it needs.
        InvalidCui, ConceptNotFound, ConceptRetired: as `cuihop.annotated_texts.score_annotations`.
        ModuleNotFoundError: BLEU, and sacrebleu is not installed.
    """
    references, predictions = Captions.of(references, "references"), Captions.of(predictions, "predictions")
    predictions.check_images(references)
    external: dict[Measure, Float64] = {}
    for source in scores:
        for measure, column in source.of_images(references).items():
            if measure in external:
                raise InputError(
                    "a measure stands in two inputs", file=source.source, column=str(measure), expected="each once"
                )
            external[measure] = column
    scoring = _Scoring(
        references, predictions, graph, rules, concepts, external, nearness, CaptionBlocks(resources or Resources())
    )
    requested = scoring.default_measures() if measures is None else _checked(measures)
    scoring.requested = tuple(dict.fromkeys((*requested, *external)))
    values = {measure: scoring.column(measure) for measure in scoring.requested}
    columns = {measure: column for measure, column in values.items() if column is not None}
    if not columns:
        lacking = next(iter(scoring.not_computed.items()))
        raise InputError(
            f"{lacking[0]} cannot be computed", column="measures", found=f"no {' and no '.join(lacking[1])}",
            expected="a column of each, from --scores",
        )  # fmt: skip
    return scoring.result(columns, scores)


def score_words_of_shard(
    references: Captions,
    predictions: Captions,
    *,
    measures: Iterable[Measure] | None,
    rules: CaptionRules,
    blocks: CaptionBlocks,
) -> None:
    """Compute the values by words that `score_captions` needs of the captions of a shard, into files of blocks.

    Measures by concepts, which are soon computed for all, are left out.
    """
    predictions.check_images(references)
    scoring = _Scoring(references, predictions, None, rules, None, {}, Nearness(unknown="isolated"), blocks)
    requested = scoring.default_measures() if measures is None else _checked(measures)
    needed = (
        component
        for measure in requested
        for component in (components(measure.family, rules.official) if measure.family in _COMPOSITES else [measure])
    )
    for measure in dict.fromkeys(needed):
        if measure.family not in _MODELS | _CONCEPTS:
            scoring.by_words(measure)


def _checked(measures: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    checked = measures_named(measures)
    for measure in checked:
        if measure.kind != "caption":
            raise InputError(
                "not a measure of captions", column="measures", found=str(measure),
                expected="one that cuihop measures list lists for captions, such as ROUGE-1",
            )  # fmt: skip
    return checked


class _Scoring:
    """The columns of one system, each computed once and when it is needed."""

    def __init__(
        self, references: Captions, predictions: Captions, graph: ConceptGraph | None, rules: CaptionRules,
        concepts: CaptionConcepts | None, external: Mapping[Measure, Float64], nearness: Nearness,
        blocks: CaptionBlocks,
    ) -> None:  # fmt: skip
        self.references, self.predictions, self.graph, self.rules = references, predictions, graph, rules
        self.external, self.nearness, self.blocks = external, nearness, blocks
        self._columns: dict[Measure, Float64] = dict(external)
        self._concepts = concepts
        self.requested: tuple[Measure, ...] = ()
        self.concept_scores: AnnotationScores | None = None
        self.not_computed: dict[str, tuple[str, ...]] = {}
        self.corpus: dict[str, float] = {}
        self.signatures: dict[str, str] = {}

    @cached_property
    def texts(self) -> tuple[list[str], list[str]]:
        """The captions of both sides in the form that is compared, in the order of the references."""
        text = self.rules.compared_text
        ours = [text(caption) for caption in self.references.values()]
        return ours, [text(self.predictions[image]) for image in self.references]

    @cached_property
    def both_empty(self) -> npt.NDArray[np.bool_]:
        """True for each image with two empty captions."""
        return np.array([not caption and not self.predictions[image] for image, caption in self.references.items()])

    @property
    def has_concepts(self) -> bool:
        return self._concepts is not None or self.graph is not None

    def default_measures(self) -> tuple[Measure, ...]:
        names = ["ROUGE-1"]
        names += ["concept-F1"] if self.has_concepts else []
        names += [] if self.graph is None else ["nn-concept-F1"]
        composites = measures_named([family.name for family in COMPOSITES]) if self.external else ()
        return (*measures_named(names), *self.external, *composites)

    def column(self, measure: Measure) -> Float64 | None:
        """The values of a measure; ``None`` of a composite that lacks a component."""
        if measure not in self._columns:
            column = self._composite(measure) if measure.family in _COMPOSITES else self._computed(measure)
            if column is None:
                return None
            self._columns[measure] = column
        return self._columns[measure]

    def _composite(self, measure: Measure) -> Float64 | None:
        column_of = {
            component: self._component(component) for component in components(measure.family, self.rules.official)
        }
        absent = tuple(str(component) for component, column in column_of.items() if column is None)
        if absent:
            self.not_computed[str(measure)] = absent
            return None
        return np.asarray(
            np.mean([column for column in column_of.values() if column is not None], axis=0), dtype=np.float64
        )

    def _component(self, measure: Measure) -> Float64 | None:
        lacking = measure.family in _MODELS or (measure.family in _CONCEPTS and not self.has_concepts)
        return None if lacking and measure not in self._columns else self.column(measure)

    def _computed(self, measure: Measure) -> Float64:
        if measure.family in _MODELS:
            raise InputError(
                f"{measure} is not computed from captions alone", column="measures", found="no values of it",
                expected=f"a column {measure} in a file of --scores, or a model of {measure.family} by --model",
            )  # fmt: skip
        column = self._of_concepts(measure) if measure.family in _CONCEPTS else self.by_words(measure)
        if measure.family not in _CONCEPTS | _ROUGE:
            self.corpus[str(measure)], self.signatures[str(measure)] = corpus_bleu(measure, *self.texts)
        return np.where(self.both_empty, 1.0, column)

    def by_words(self, measure: Measure) -> Float64:
        """ROUGE or BLEU of each caption, in blocks."""
        rouge = measure.family in _ROUGE
        depends = {
            "work": f"{measure} of {self.predictions.source}",
            **{f"version of {name}": version for name, version in versions("cuihop", "numpy", "sacrebleu").items()},
            **depends_on_captions(self.references, self.predictions),
            "text": self.rules.text,
        }
        value = partial(rouge_values if rouge else bleu_values, measure)
        threads = self.blocks.resources.block_threads
        return self.blocks.rows(
            depends, len(self.references), 1, lambda left: TextBlocks(value, self.texts, left, threads)
        )[:, 0]

    def _of_concepts(self, measure: Measure) -> Float64:
        if self._concepts is None and self.graph is not None:
            true, predicted = self.references, self.predictions
            self._concepts = CaptionConcepts(
                caption_concepts(true, self.graph, self.blocks.resources),
                caption_concepts(predicted, self.graph, self.blocks.resources),
            )
        if self._concepts is None or (measure.family != "concept-F1" and self.graph is None):
            needed = "a graph, or concepts of both sides" if measure.family == "concept-F1" else "a graph"
            raise InputError(
                f"{measure} needs {needed}", column="measures", found="none",
                expected="--graph, or --reference-concepts and --concepts" if ", or" in needed else "--graph",
            )  # fmt: skip
        if self.concept_scores is None:
            largest = max([self.nearness.n, *(int(m.values.get("n", 0)) for m in self.requested)])
            nearness = replace(self.nearness, n=largest)
            self.concept_scores = score_concepts(self._concepts, self.references, self.graph, nearness)
        return concept_values(self.concept_scores, measure, self.nearness, self.graph)

    def result(self, columns: Mapping[Measure, Float64], scores: Sequence[ExternalScores]) -> CaptionScores:
        concepts = self.concept_scores
        inputs = {"references": self.references.account, "predictions": self.predictions.account}
        if concepts is not None and self._concepts is not None:
            inputs |= {
                "reference concepts": self._concepts.references.account, "concepts": self._concepts.predictions.account
            }  # fmt: skip
        inputs |= {f"scores {number}": source.account for number, source in enumerate(scores, start=1)}
        counts = CaptionCounts(
            captions=len(self.references),
            empty_references=self.references.empty,
            empty_predictions=self.predictions.empty,
            both_empty=int(self.both_empty.sum()),
            not_computed=self.not_computed,
            corpus=self.corpus,
            concepts=None if concepts is None else concepts.counts,
            without_concepts=0 if concepts is None else self._without_concepts(concepts),
        )
        return CaptionScores(
            measures=tuple(columns),
            queries=tuple(self.references),
            values=np.array(list(columns.values())).T,
            release=None if concepts is None else concepts.release,
            versions=versions("cuihop", "numpy", *(["sacrebleu"] if self.corpus else [])),
            details=Details(counts, self._parameters(columns), inputs),
            concepts=concepts,
            signatures=self.signatures,
        )

    def _without_concepts(self, scores: AnnotationScores) -> int:
        counts = scores.of_texts(n=0)
        return int((~counts[:, :2].any(axis=1) & ~self.both_empty).sum())

    def _parameters(self, columns: Iterable[Measure]) -> dict[str, Any]:
        scores = self.concept_scores
        computable = sorted(str(m) for m in self.external if m.family not in _MODELS | _COMPOSITES)
        concepts = None if scores is None or self._concepts is None else self._concepts.references.digest
        return {
            "measures": [str(measure) for measure in columns],
            "text": self.rules.text,
            "official": self.rules.official,
            "read from scores": computable or None,
            **(self.nearness.fields() if scores is not None and self.graph is not None else {}),
            "references": self.references.source,
            "predictions": self.predictions.source,
            "digests": {"references": self.references.digest, "reference concepts": concepts},
        }

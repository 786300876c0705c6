"""Similarity as messages of gRPC, written and read by client and service alike."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cuihop.errors import InputError
from cuihop.remote.transport import PairValues
from cuihop.similarity.hierarchy import CommonSubsumer, HierarchyFacts, PairSimilarity, Placement, Similarities
from cuihop.similarity.options import (
    INFORMATION_CONTENTS,
    SIMILARITY_MEASURES,
    InformationContent,
    SimilarityMeasure,
)
from cuihop_api.v1 import concept_graph_pb2 as messages

MEASURES: Mapping[SimilarityMeasure, messages.SimilarityMeasure.ValueType] = {
    measure: messages.SimilarityMeasure.Value(f"SIMILARITY_MEASURE_{measure.upper().replace('-', '_')}")
    for measure in SIMILARITY_MEASURES
}
CONTENTS: Mapping[InformationContent, messages.InformationContent.ValueType] = {
    ic: messages.InformationContent.Value(f"INFORMATION_CONTENT_{ic.upper()}") for ic in INFORMATION_CONTENTS
}
_MEASURES_OF = {number: measure for measure, number in MEASURES.items()}
_CONTENTS_OF = {number: ic for ic, number in CONTENTS.items()}


def measure_of(number: int) -> SimilarityMeasure:
    """The measure of a message; Lin where it is unset.

    Raises:
        InputError: a number without a meaning in the contract.
    """
    if number not in _MEASURES_OF and number:
        raise InputError(
            "no such measure of similarity", column="measure", found=str(number),
            expected="a value of cuihop_api.v1.SimilarityMeasure",
        )  # fmt: skip
    return _MEASURES_OF.get(messages.SimilarityMeasure.ValueType(number), "Lin")


def content_of(number: int) -> InformationContent:
    """The information content of a message; Sanchez where it is unset.

    Raises:
        InputError: a number without a meaning in the contract.
    """
    if number not in _CONTENTS_OF and number:
        raise InputError(
            "unknown information content", column="ic", found=str(number),
            expected="a value of cuihop_api.v1.InformationContent",
        )  # fmt: skip
    return _CONTENTS_OF.get(messages.InformationContent.ValueType(number), "Sanchez")


def similarities_message(found: Similarities) -> messages.SimilaritiesResponse:
    """The similarities of a batch; provenance is left to the caller."""
    return messages.SimilaritiesResponse(
        similarities=np.where(found.defined, found.values, 0.0).tolist(),
        undefined=np.flatnonzero(~found.defined).tolist(),
        merged=found.merged,
    )


def values_of_message(message: messages.SimilaritiesResponse) -> PairValues:
    """The similarities of a batch."""
    values = np.array(message.similarities, dtype=np.float64)
    defined = np.ones(len(values), dtype=np.bool_)
    defined[np.array(message.undefined, dtype=np.int64)] = False
    return PairValues(values, defined)


def placement_message(place: Placement) -> messages.Placement:
    """The place of a concept."""
    return messages.Placement(
        cui=place.cui, depth=place.depth, shortest_depth=place.shortest_depth, height=place.height,
        ancestors=place.ancestors, descendants=place.descendants, leaves=place.leaves, ic=place.ic, cycle=place.cycle,
    )  # fmt: skip


def placement_of_message(message: messages.Placement) -> Placement:
    """The place of a concept."""
    return Placement(
        cui=message.cui, depth=message.depth, shortest_depth=message.shortest_depth, height=message.height,
        ancestors=message.ancestors, descendants=message.descendants, leaves=message.leaves,
        ic=message.ic if message.HasField("ic") else None, cycle=tuple(message.cycle),
    )  # fmt: skip


def _subsumer_message(each: CommonSubsumer) -> messages.CommonSubsumer:
    return messages.CommonSubsumer(cui=each.cui, depth=each.depth, ic=each.ic, hops_a=each.hops_a, hops_b=each.hops_b)


def _subsumer_of_message(message: messages.CommonSubsumer) -> CommonSubsumer:
    return CommonSubsumer(
        cui=message.cui if message.HasField("cui") else None, depth=message.depth,
        ic=message.ic if message.HasField("ic") else None, hops_a=message.hops_a, hops_b=message.hops_b,
    )  # fmt: skip


def pair_message(pair: PairSimilarity) -> messages.PairSimilarity:
    """Two concepts by every measure."""
    return messages.PairSimilarity(
        a=placement_message(pair.a),
        b=placement_message(pair.b),
        hops=pair.hops,
        lowest=map(_subsumer_message, pair.lowest),
        deepest=_subsumer_message(pair.deepest),
        nearest=_subsumer_message(pair.nearest),
        most_informative=_subsumer_message(pair.most_informative),
        values=[messages.MeasureValue(measure=MEASURES[m], value=value) for m, value in pair.values.items()],
        ic=CONTENTS[pair.ic],
        merged=pair.merged,
    )


def pair_of_message(message: messages.PairSimilarity) -> PairSimilarity:
    """Two concepts by every measure that this version knows.

    Raises:
        KeyError: an unknown information content.
    """
    return PairSimilarity(
        a=placement_of_message(message.a),
        b=placement_of_message(message.b),
        hops=message.hops if message.HasField("hops") else None,
        lowest=tuple(map(_subsumer_of_message, message.lowest)),
        deepest=_subsumer_of_message(message.deepest),
        nearest=_subsumer_of_message(message.nearest),
        most_informative=_subsumer_of_message(message.most_informative),
        values={
            _MEASURES_OF[each.measure]: each.value if each.HasField("value") else None
            for each in message.values
            if each.measure in _MEASURES_OF
        },
        ic=_CONTENTS_OF[message.ic],
        merged=dict(message.merged),
    )


def facts_message(facts: HierarchyFacts) -> messages.Hierarchy:
    """The hierarchy as a whole."""
    return messages.Hierarchy(
        nodes=facts.nodes, cycles=facts.cycles, concepts_in_cycles=facts.concepts_in_cycles, roots=facts.roots,
        leaves=facts.leaves, depth=facts.depth,
    )  # fmt: skip


def facts_of_message(message: messages.Hierarchy) -> HierarchyFacts:
    """The hierarchy as a whole."""
    return HierarchyFacts(
        nodes=message.nodes, cycles=message.cycles, concepts_in_cycles=message.concepts_in_cycles,
        roots=message.roots, leaves=message.leaves, depth=message.depth,
    )  # fmt: skip

"""Test collections: images, and the relevance that labels and judgements give them."""

from __future__ import annotations

from typing import TypeAlias

from cuihop.collection.image_concepts import ImageConcepts, ImagesLike
from cuihop.collection.judgements import Judgements, JudgementsLike, are_judgements
from cuihop.collection.labels import Labels, LabelsLike
from cuihop.errors import InputError

__all__ = ["DataLike", "Dataset", "ImagesLike", "JudgementsLike", "LabelsLike"]


class Dataset:
    """A test collection: query images, the corpus that they search, relevance judgements and labels.

    Args:
        queries: image → its concepts: the result of `ImageConcepts.read`, a mapping (``"C1;C2"`` or a collection of
            identifiers), or a DataFrame of two columns. Optional where judgements or labels name the queries.
        corpus: the images that can be retrieved, in any form of the queries; the queries themselves by default.
        qrels: query → document → grade, for measures without labels.
        labels: image → its labels, in any form of `Labels.of`, for measures with labels.

    Attributes:
        queries, corpus: the concepts of the images; no corpus where it is the queries.
        qrels, labels: the parsed relevance.

    Raises:
        InputError: an input is malformed, or there is a corpus without queries.

    >>> Dataset({"a": "C0042449"}, qrels={"a": {"b": 1}}).qrels["a"]
    {'b': 1}
    """

    def __init__(
        self,
        queries: ImagesLike | None = None,
        corpus: ImagesLike | None = None,
        *,
        qrels: JudgementsLike | None = None,
        labels: LabelsLike | None = None,
    ) -> None:
        if queries is None and corpus is not None:
            raise InputError("a corpus without queries", column="queries", found="None", expected="image → concepts")
        self.queries = None if queries is None else ImageConcepts.of(queries)
        held = None if corpus is None else ImageConcepts.of(corpus)
        self.corpus = None if held is self.queries else held
        self.qrels = None if qrels is None else Judgements.of(qrels)
        self.labels = None if labels is None else Labels.of(labels)

    @classmethod
    def of(cls, data: DataLike) -> Dataset:
        """The collection itself, one of images that are both queries and corpus, or one of judgements alone."""
        if isinstance(data, Dataset):
            return data
        return cls(qrels=data) if are_judgements(data) else cls(data)

    @property
    def images(self) -> tuple[ImageConcepts, ImageConcepts]:
        """Queries and corpus; one object where they are the same images.

        Raises:
            InputError: there are no concepts.
        """
        if self.queries is None:
            raise InputError("images without concepts", column="queries", found="None", expected="image → concepts")
        return self.queries, self.queries if self.corpus is None else self.corpus


DataLike: TypeAlias = Dataset | ImagesLike | JudgementsLike
"""A test collection; the concepts of images that are both queries and corpus; or judgements."""

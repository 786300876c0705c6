"""Classes of a label and the concepts of each, such as CT → C0040405, from files and mappings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import InputError, first_few
from cuihop.files.input_file import InputFile, Readable, opened_input
from cuihop.files.records import Records, cause_of_columns
from cuihop.files.text_lines import counted, joined, quoted
from cuihop.graph import ConceptGraph
from cuihop.identifiers import as_read, concept_set, identifier_fault, looks_like_identifier
from cuihop.measures.resolution import ResolvedConcepts, Unknown, resolved_concepts

__all__ = ["LabelClasses", "classes_of_images"]

_EXPECTED = "a header, then in each row a class and one of its concepts"
_FARTHEST = 255  # hops of a distance pack; no hierarchy is as deep


@dataclass(frozen=True, eq=False)
class LabelClasses:
    """The classes of one label: class → its concepts.

    Attributes:
        concepts: class → identifiers, in the order of the file.
        source: the file, or another origin.
        lines: identifier → its first line or row in the file. unit: line or row.
        form: compression and delimiter, where the input was not plain CSV.
    """

    concepts: Mapping[str, tuple[str, ...]]
    source: str = "memory"
    lines: Mapping[str, int] = field(default_factory=dict)
    unit: str = "line"
    form: str = ""

    @classmethod
    def read(cls, path: Readable) -> LabelClasses:
        """Read the classes of a label: two columns, a class and a concept, in a row for each pair of the two.

        CSV with a header of any two names; columns may be separated by commas, tabs or semicolons. JSON Lines, Parquet
        and Arrow will do too, and compressed text. A concept may belong to several classes.

        Raises:
            InputError: names the file and the line: a class without a concept, a malformed identifier, a pair that
                stands twice, a class whose name holds a semicolon.
            ModuleNotFoundError: a Parquet, Arrow or zstd file, and pyarrow is not installed.
        """
        records = Records.of(opened_input(path), _EXPECTED)
        if len(records.names) != 2:
            raise records.error(
                "not two columns", quoted(records.header), "two columns: class and concept",
                cause_of_columns(records.names, 2, records.delimiter),
            )  # fmt: skip
        if any(looks_like_identifier(name.strip()) for name in records.names):
            raise records.error("no header", quoted(records.header), "class,CUI in the first line")
        classes: dict[str, list[str]] = {}
        lines: dict[str, int] = {}
        row_error = records.row_errors([0, 1])
        for row, (name, written) in records.texts([0, 1], needed=(0, 1)):
            if not name and not written:
                continue
            if not name or ";" in name:
                raise row_error("not the name of a class", row, 0, quoted(name), "a text without ';'")
            if not written:
                raise row_error("a class without a concept", row, 1, f"nothing beside {quoted(name)}", "an identifier")
            hint = "Are the columns swapped?" if looks_like_identifier(name) else "One concept in each row."
            concept = row_error.checked_identifier(written, row, 1, hint)
            if concept in classes.setdefault(name, []):
                twice = f"{concept} in {quoted(name)}"
                raise row_error("a concept stands twice in a class", row, 1, twice, "each once")
            classes[name].append(concept)
            lines.setdefault(concept, row)
        if not classes:
            raise row_error.empty("class", _EXPECTED)
        concepts = {name: tuple(listed) for name, listed in classes.items()}
        return cls(concepts, records.source, lines, records.unit, records.form)

    @classmethod
    def of(cls, classes: LabelClasses | Mapping[str, str | Iterable[str]] | Readable) -> LabelClasses:
        """From class → its concepts, ``"C1;C2"`` or a collection of identifiers; or from the path of a file.

        Raises:
            InputError: a class has no concept, or its name is none; an identifier is malformed; or as `read`.
        """
        if isinstance(classes, LabelClasses):
            return classes
        if isinstance(classes, str | Path | InputFile):
            return cls.read(classes)
        if not isinstance(classes, Mapping) or not classes:
            raise InputError("not classes of a label", found=type(classes).__name__, expected="class → its concepts")
        checked = {name: tuple(sorted(map(as_read, concept_set(listed)))) for name, listed in classes.items()}
        for name, concepts in checked.items():
            if not isinstance(name, str) or not name or ";" in name:
                raise InputError("not the name of a class", found=quoted(str(name)), expected="a text without ';'")
            if not concepts:
                raise InputError("a class without a concept", found=quoted(name), expected="identifiers")
            for concept in concepts:
                if (wrong := identifier_fault(concept)) is not None:
                    raise InputError(wrong.problem, column=name, found=quoted(concept), expected=wrong.expected)
        return cls(checked)

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        held = [concept for concepts in self.concepts.values() for concept in concepts]
        several = len(held) - len(set(held))
        concepts = counted(len(set(held)), "concept")
        twice = f"{counted(several, 'concept')} in several classes" if several else ""
        classes = counted(len(self.concepts), "class", "classes")
        return f"{self.source}: {joined(f'{classes} of {concepts}', twice, self.form)}"

    def place_of(self, concept: str) -> str | None:
        """The first occurrence of a concept: file and row; ``None`` if there is no file."""
        return f"{self.source}, {self.unit} {self.lines[concept]:,}" if concept in self.lines else None

    def resolved(self, graph: ConceptGraph | None, unknown: Unknown) -> ResolvedConcepts:
        """The identifiers as concepts of the graph.

        Raises:
            InputError: the graph does not hold one of them, and ``unknown`` is ``error``; names its line.
        """
        identifiers = {concept for concepts in self.concepts.values() for concept in concepts}
        resolved = resolved_concepts(identifiers, graph, "isolated", self.place_of)
        strange = sorted(resolved.isolated, key=lambda concept: self.lines.get(concept, 0))
        if strange and unknown == "error" and graph is not None:
            raise InputError(
                "a class of a concept that the graph does not hold", file=self.source,
                line=self.lines.get(strange[0]) if self.unit == "line" else None, found=first_few(strange),
                expected=f"concepts of release {graph.release.name}",
                advice="unknown='isolated' (--unknown isolated) lets such a concept match only itself.",
            )  # fmt: skip
        return resolved


def classes_of_images(
    images: Sequence[ImageConcepts], labels: Mapping[str, LabelClasses], graph: ConceptGraph | None, unknown: Unknown
) -> dict[str, dict[str, str]]:
    """Label → image → its classes, ascending and joined by ``;``; empty for an image without any.

    An image has a class where one of its concepts is a concept of the class or lies below one in the graph. Without a
    graph, only the concept itself counts. An image that stands in several collections has its concepts in the last.

    Raises:
        InputError: as `LabelClasses.resolved`.
        InvalidCui, ConceptRetired, ConceptNotFound: concepts of the images cannot be used, and ``unknown`` is
            ``error``.
    """
    identifiers = {concept for collection in images for concepts in collection.values() for concept in concepts}
    sources = [collection.place_of for collection in images]
    of_images = resolved_concepts(
        identifiers, graph, unknown, lambda concept: next(filter(None, (source(concept) for source in sources)), None)
    )
    of_labels = {name: classes.resolved(graph, unknown) for name, classes in labels.items()}
    held = of_images.all_concepts.union(*(resolved.all_concepts for resolved in of_labels.values()))
    isolated = of_images.isolated.union(*(resolved.isolated for resolved in of_labels.values()))
    above = _at_or_above(sorted(held - isolated), graph)
    columns: dict[str, dict[str, str]] = {}
    for name, classes in labels.items():
        classes_at: dict[str, set[str]] = {}
        for one, concepts in classes.concepts.items():
            for concept in of_labels[name].concepts(concepts):
                classes_at.setdefault(concept, set()).add(one)
        of_concept = {
            concept: frozenset[str]().union(*(classes_at.get(over, ()) for over in above.get(concept, (concept,))))
            for concept in held
        }
        columns[name] = {
            image: ";".join(sorted(frozenset[str]().union(*map(of_concept.__getitem__, of_images.concepts(concepts)))))
            for collection in images
            for image, concepts in collection.items()
        }
    return columns


def _at_or_above(concepts: Sequence[str], graph: ConceptGraph | None) -> dict[str, list[str]]:
    """Each concept → those of them that are it or lie above it."""
    if graph is None or not concepts:
        return {}
    pack = graph.pack(concepts, hops=_FARTHEST, direction="up")
    bounds, indices = pack.indptr.tolist(), pack.indices.tolist()
    return {
        concept: [concepts[index] for index in indices[first:last]]
        for concept, first, last in zip(concepts, bounds, bounds[1:], strict=False)
    }

"""Loading: files to the sections of a snapshot, with a report."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cuihop.errors import InputError
from cuihop.files.input_file import path_text
from cuihop.files.text_lines import shortened
from cuihop.files.written_files import check_free_disk, check_output, protected_inputs
from cuihop.identifiers import Identifiers
from cuihop.resources.arrays import ascending
from cuihop.resources.memory_budget import check_memory
from cuihop.resources.progress import StepProgress
from cuihop.snapshot.file import Sections
from cuihop.snapshot.string_table import IdentifierTable
from cuihop.snapshot.writer import RETIRED_RELATIONS, RetiredTable, sections_of
from cuihop_loader.ontology import read_ontology
from cuihop_loader.options import LoadOptions
from cuihop_loader.rejected_rows import rejected_rows
from cuihop_loader.report import Cycles, Hub, LoadReport, ReadGraph, Retired, structure
from cuihop_loader.sources import LAYOUTS, OMOP_RELATIONSHIP, SourceFile, found_files, term_format

_DEFAULTS = LoadOptions()
_UNVERSIONED = "unversioned"
_LARGE = ("MRREL", "MRCONSO")
_LEAST_OF_RELATIONS, _LEAST_OF_NAMES = 0.1, 0.3  # bytes of memory for each byte, below what was measured
_LEAST_DISK = 0.05  # bytes of the snapshot for each byte
_LEAST_UNPACKED = 3  # bytes for each compressed one
_CYCLES = 5
_MEMBERS = 20


@dataclass(frozen=True, eq=False)
class Loaded:
    """A graph in memory, and its load report.

    Attributes:
        sections: input of `cuihop.SnapshotGraph`; their method ``save`` writes the snapshot file.
        report: the load report.
    """

    sections: Sections
    report: LoadReport


def load(
    sources: Sequence[Path | str], options: LoadOptions = _DEFAULTS, progress: StepProgress | None = None
) -> Loaded:
    """Read a graph into memory.

    Args:
        sources: a folder with the files of a release (RRF, searched with its META and CHANGE folders; RF2; OMOP;
            WNDB), a zip archive of them, the files themselves, or files of `cuihop_loader.sources.TERM_FORMATS`;
            plain or compressed.
        options: the options of the load.
        progress: callback with the step, and the bytes read of all bytes; in the calling thread.

    Raises:
        InputError: a file is missing, unreadable or malformed; or there is no is_a relation.
        LimitExceeded: more vocabularies or identifiers than fit, or not enough memory.
        OutputError: the file of rejects cannot be written.
    """
    return load_to(None, sources, options, progress)


def load_to(
    path: Path | None,
    sources: Sequence[Path | str],
    options: LoadOptions = _DEFAULTS,
    progress: StepProgress | None = None,
) -> Loaded:
    """Read a graph and write its snapshot, if there is a path: the snapshot and the file of rejects both, or neither.

    Raises:
        InputError, LimitExceeded: as `load`; or the snapshot would overwrite an input file.
        OutputError: a file cannot be written. Existing files are unchanged.
    """
    files = found_files(sources, options.file_format)
    for role in files:
        if role not in LAYOUTS and (package := term_format(role).package) is not None:
            package.check()
    inputs = [each for of_role in files.values() for file in of_role for each in (file, *file.companions)]
    overall = _Overall(progress, inputs)
    with (
        protected_inputs(part.path for file in inputs for part in file.parts),
        rejected_rows(options) as rejected,
        _no_collection(),
        contextlib.ExitStack() as running,
    ):
        if path is not None:
            check_output(path)  # reading takes minutes
            check_free_disk(path, int(_LEAST_DISK * _release_bytes(files)))
        _check_memory(files, options)
        start = time.perf_counter()
        is_release = "MRREL" in files
        if not is_release and tuple(options.relations) != ("isa",):
            raise InputError(
                "only RRF files have other relations than is_a", column="relations", found=", ".join(options.relations)
            )
        identifiers: Identifiers = options.identifiers or ("cui" if is_release else "any")
        if is_release:
            from cuihop_loader.release_files import read_release  # compiles

            one_each = {role: of_role[0] for role, of_role in files.items()}
            graph = read_release(one_each, options, identifiers, rejected, overall, running)
        elif OMOP_RELATIONSHIP in files:
            from cuihop_loader.omop_release import read_omop  # compiles

            graph = read_omop(files[OMOP_RELATIONSHIP][0], options, rejected, overall)
        else:
            terms = [file for of_role in files.values() for file in of_role]
            graph = read_ontology(terms, options, identifiers, rejected, overall)
        overall.show_step("looking at the graph")
        warnings = list(graph.warnings)
        if rejected.count:
            warnings.append(f"bad rows were left out: {rejected.count:,}")
        report = _report(graph, options, identifiers, warnings)
        if report.names:
            overall.show_step("indexing the names")
        sections = sections_of(
            graph.tables,
            name=report.release,
            relations=report.relations,
            identifiers=identifiers,
            source=", ".join(map(path_text, sources)),
            report=report.to_json(timing=False),
        )
        if graph.tables.codes is not None:
            report = dataclasses.replace(report, codes=sections.length("code_keys"))
            sections.meta["report"].update(report.to_json(timing=False))
        if path is not None:
            overall.show_step("writing")
            sections.save(path)
        return Loaded(sections, dataclasses.replace(report, seconds=round(time.perf_counter() - start, 3)))


def _release_bytes(files: Mapping[str, Sequence[SourceFile]], *roles: str) -> int:
    """Bytes of the large files of an RRF release, or of some of them, unpacked; 0 for another format."""
    if "MRREL" not in files:
        return 0
    parts = (part for role in roles or _LARGE for file in files.get(role, ()) for part in file.parts)
    return sum(part.size * (_LEAST_UNPACKED if part.gzip or part.zstd else 1) for part in parts)


def _check_memory(files: Mapping[str, Sequence[SourceFile]], options: LoadOptions) -> None:
    """Refuse a release for which a third of the memory that was measured is not available: see docs/loading.md."""
    names = _release_bytes(files, "MRCONSO") * (_LEAST_OF_NAMES if options.synonyms else _LEAST_OF_NAMES / 2)
    check_memory(
        int(names + _release_bytes(files, "MRREL") * _LEAST_OF_RELATIONS),
        "a release of this size",
        "Load it on a larger machine and copy the snapshot, load names with --no-synonyms, or fewer vocabularies",
    )


def _report(graph: ReadGraph, options: LoadOptions, identifiers: Identifiers, warnings: Sequence[str]) -> LoadReport:
    tables = graph.tables
    concepts, edges = len(tables.cuis), len(tables.children)
    sizes, cycles, hubs = structure(concepts, tables.children, tables.parents)
    indptr = np.zeros(concepts + 1, dtype=np.int32) if tables.name_indptr is None else tables.name_indptr
    identifiers_of = IdentifierTable.packed(tables.cuis)

    def name(concept: int) -> str | None:
        return tables.names[int(indptr[concept])] if indptr[concept + 1] > indptr[concept] else None

    def example() -> str:
        """The first edge with the most names."""
        ends = np.stack([tables.children, tables.parents], axis=1)
        named = np.diff(indptr)[ends] > 0
        of_edge = ends[np.argmax(named.sum(axis=1))].tolist() if edges else []
        texts = [f"{identifiers_of[end]} {shortened(name(end) or '')}".rstrip() for end in of_edge]
        return " is_a ".join(texts)

    return LoadReport(
        release=options.release or graph.release or _UNVERSIONED,
        relations=tuple(dict.fromkeys(options.relations)),
        identifiers=identifiers,
        files=graph.files,
        concepts=concepts,
        edges=edges,
        example=example(),
        mirrored=graph.mirrored,
        one_directional=edges - graph.mirrored,
        self_loops=graph.self_loops,
        cycles=Cycles(
            components=len(cycles),
            concepts=sum(map(len, cycles)),
            sizes=sorted(Counter(map(len, cycles)).items(), reverse=True),
            examples=[identifiers_of.at(members[:_MEMBERS]) for members in cycles[:_CYCLES]],
        ),
        **sizes,
        hubs=[Hub(identifiers_of[row], name(row), children) for row, children in hubs],
        names=len(tables.names),
        nameless=int(np.count_nonzero(np.diff(indptr) == 0)),
        semantic_types=len(ascending(tables.type_indices)),
        definitions=len(tables.definitions),
        codes=0,  # counted when they are made
        without_code=graph.without_code,
        retired=_retired(tables.retired),
        relation_rows=graph.relation_rows,
        sabs=graph.sabs,
        other_identifiers=graph.other_identifiers,
        other_identifier_samples=graph.other_identifier_samples,
        terms=graph.terms,
        omop=graph.omop,
        warnings=warnings,
        bytes=sum(file.bytes for file in graph.files),
        seconds=0.0,
    )


def _retired(table: RetiredTable) -> Retired:
    counts = np.bincount(table.relations, minlength=len(RETIRED_RELATIONS)).tolist()
    return Retired(
        concepts=int(np.count_nonzero(table.cuis[1:] != table.cuis[:-1])) + (len(table.cuis) > 0),
        statements={name: count for name, count in zip(RETIRED_RELATIONS, counts, strict=True) if count},
    )


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Switch off the search for circles of objects, which takes a twentieth of the time and finds none in tables."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Overall:
    """Progress over all files, from the progress of each; shown to no one without a callback."""

    def __init__(self, progress: StepProgress | None, files: Sequence[SourceFile]) -> None:
        self._progress = progress or (lambda step, done, total: None)
        self._total = sum(file.size for file in files)
        self._done: dict[str, int] = {}

    def __call__(self, step: str, done: int, total: int) -> None:
        self._done[step] = done
        self._progress(step, min(self._total, sum(self._done.values())), self._total)

    def show_step(self, step: str) -> None:
        """Report a step after all files were read."""
        self._progress(step, self._total, self._total)

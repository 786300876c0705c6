"""Source files of a load: their kinds and columns, and their discovery in folders, archives and lists of files."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cuihop.errors import InputError
from cuihop.resources.optional_packages import OptionalPackage
from cuihop_loader.streams import Part, beginning

RF2_RELATIONSHIP = "RF2 Relationship"
OMOP_RELATIONSHIP = "OMOP CONCEPT_RELATIONSHIP"
WNDB = "WNDB"


LAYOUTS = {
    role: columns.split()
    for role, columns in {
        "MRREL": "CUI1 AUI1 STYPE1 REL CUI2 AUI2 STYPE2 RELA RUI SRUI SAB SL RG DIR SUPPRESS CVF",
        "MRCONSO": "CUI LAT TS LUI STT SUI ISPREF AUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF",
        "MRSTY": "CUI TUI STN STY ATUI CVF",
        "MRDEF": "CUI AUI ATUI SATUI SAB DEF SUPPRESS CVF",
        "MRRANK": "RANK SAB TTY SUPPRESS",
        "MRSAB": "VCUI RCUI VSAB RSAB SON SF SVER VSTART VEND IMETA RMETA SLC SCC SRL TFR CFR CXTY TTYL ATNL LAT CENC "
        "CURVER SABIN SSN SCIT",
        "MRMAP": "MAPSETCUI MAPSETSAB MAPSUBSETID MAPRANK MAPID MAPSID FROMID FROMSID FROMEXPR FROMTYPE FROMRULE "
        "FROMRES REL RELA TOID TOSID TOEXPR TOTYPE TORULE TORES MAPRULE MAPRES MAPTYPE MAPATN MAPATV CVF",
        "MRCUI": "CUI1 VER REL RELA MAPREASON CUI2 MAPIN",
        "MERGEDCUI": "PCUI CUI",
        "DELETEDCUI": "PCUI PSTR",
    }.items()
}
"""Columns by role, which is the name of a file without ``.RRF`` (UMLS Reference Manual, chapter 3).

The first file is required, the others are optional.
"""

OMOP_LAYOUTS = {
    f"OMOP {name}": columns.split()
    for name, columns in {
        "CONCEPT": "concept_id concept_name domain_id vocabulary_id concept_class_id standard_concept concept_code "
        "valid_start_date valid_end_date invalid_reason",
        "CONCEPT_RELATIONSHIP": "concept_id_1 concept_id_2 relationship_id valid_start_date valid_end_date "
        "invalid_reason",
        "CONCEPT_SYNONYM": "concept_id concept_synonym_name language_concept_id",
        "CONCEPT_ANCESTOR": "ancestor_concept_id descendant_concept_id min_levels_of_separation "
        "max_levels_of_separation",
        "VOCABULARY": "vocabulary_id vocabulary_name vocabulary_reference vocabulary_version vocabulary_concept_id",
    }.items()
}
"""Columns of OMOP vocabularies by role, in tabs under a header (OMOP Common Data Model 5.4, vocabulary tables)."""

MAY_BE_EMPTY = frozenset({
    "MRDEF", "MRMAP", "MRCUI", "MERGEDCUI", "DELETEDCUI", "OMOP CONCEPT_SYNONYM", "OMOP CONCEPT_ANCESTOR",
    "OMOP VOCABULARY",
})  # fmt: skip
"""Files that have no row in some releases."""

_FOLDERS = ("", "META", "CHANGE", "META/CHANGE")
_ARCHIVES = (".zip", ".nlm")  # NLM's own name for a zip archive is .nlm
_RRF = re.compile(rf"({'|'.join(LAYOUTS)})\.RRF(?:\.(?!GZ)([A-Z]{{2}}))?(\.GZ|\.ZST)?", re.IGNORECASE)


@dataclass(frozen=True)
class TermFormat:
    """A format of ontologies or taxonomies.

    Attributes:
        role: its name in reports, and for the option that states it.
        names: file names, without ``.gz`` or ``.zst``.
        reader: module and class of `cuihop_loader.term_files.TermFile`; empty for a file that is read with another.
        marks: a pattern that occurs near the beginning of the file, for names that several formats have.
        folders: folders below a folder to load in which its files are searched; none for a format of single files.
        main: role of the files with which its files are read; ``None`` for a file that is read by itself.
        package: needed by the reader, beyond the base installation.
    """

    role: str
    names: re.Pattern[str]
    reader: str = ""
    marks: re.Pattern[bytes] | None = None
    folders: tuple[str, ...] = ()
    main: str | None = None
    package: OptionalPackage | None = None

    @property
    def option(self) -> str:
        """Its name as the option that states it: lower case, with hyphens."""
        return self.role.lower().replace(" ", "-")

    def is_name(self, part: Part) -> bool:
        """True for a file whose name is one of the format."""
        return self.names.fullmatch(_COMPRESSED.sub("", part.name)) is not None


_COMPRESSED = re.compile(r"\.(?:gz|zst)$", re.IGNORECASE)
_RF2_FOLDERS = tuple(
    f"{above}{folder}" for above in ("", "Snapshot/") for folder in ("Terminology", "Refset/Content", "Refset/Language")
)
_RF2 = r"x?{}(?:-[a-z-]+)?_[a-z0-9]+_[0-9]{{8}}\.txt"  # x: a release before its production


_SEVERAL = ("RF2 Description", "RF2 Language")  # one for each language
_RF2_OTHERS = re.compile(r"x?(?:sct2|der2)_.+\.(?:txt|owl)(?:\.gz)?", re.IGNORECASE)


def _rf2(role: str, name: str) -> TermFormat:
    names = re.compile(_RF2.format(name), re.IGNORECASE)
    reader, main = ("rf2_terms.Rf2File", None) if role == RF2_RELATIONSHIP else ("", RF2_RELATIONSHIP)
    return TermFormat(role, names, reader, folders=("", *_RF2_FOLDERS), main=main)


def _omop(role: str) -> TermFormat:
    main = None if role == OMOP_RELATIONSHIP else OMOP_RELATIONSHIP  # capitals: concept.csv may be an edge list
    return TermFormat(role, re.compile(rf"{role.removeprefix('OMOP ')}\.csv"), folders=("",), main=main)


def _named(endings: str) -> re.Pattern[str]:
    return re.compile(rf".+\.(?:{endings})", re.IGNORECASE)


_OWL_BEGINS = re.compile(
    rb"\A\s*(?:(?:Prefix|Ontology)\s*\(|(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\])?\s*>|\s)*<Ontology[\s>])",
    re.DOTALL,
)
_RDF_NAMES = re.compile(
    rb"http://www\.w3\.org/(?:1999/02/22-rdf-syntax-ns|2000/01/rdf-schema|2002/07/owl|2004/02/skos/core)#"
)
_FASTOBO, _ORJSON = OptionalPackage("fastobo", "cuihop[loader]"), OptionalPackage("orjson", "cuihop[loader]")
_HORNED_OWL = OptionalPackage("pyhornedowl", "cuihop[ontologies]")
_OXIGRAPH = OptionalPackage("pyoxigraph", "cuihop[ontologies]")

TERM_FORMATS = (
    TermFormat("OBO", _named("obo"), "obo_terms.OboFile", package=_FASTOBO),
    *map(_omop, OMOP_LAYOUTS),
    TermFormat("edge list", _named("csv|tsv|parquet"), "edge_lists.EdgeListFile"),
    TermFormat(
        WNDB, re.compile(r"data\.(noun|verb|adj|adv)", re.IGNORECASE), "wordnet_synsets.WordNetFile",
        folders=("", "dict"),
    ),
    TermFormat("WN-LMF", _named("xml"), "wordnet_synsets.LmfFile", re.compile(b"<LexicalResource")),
    TermFormat("MeSH XML", _named("xml"), "mesh_terms.MeshFile", re.compile(b"<DescriptorRecordSet")),
    TermFormat("MeSH trees", re.compile(r"mtrees[0-9]{4}\.bin", re.IGNORECASE), "mesh_terms.MeshTreesFile"),
    _rf2(RF2_RELATIONSHIP, "sct2_Relationship_Snapshot"),
    _rf2("RF2 Concept", "sct2_Concept_Snapshot"),
    _rf2("RF2 Description", "sct2_Description_Snapshot"),
    _rf2("RF2 Language", "der2_cRefset_LanguageSnapshot"),
    _rf2("RF2 Association", "der2_cRefset_Association(?:Reference)?Snapshot"),
    TermFormat(
        "OBO Graph JSON", _named("json"), "json_terms.OboGraphFile", re.compile(rb'"graphs"\s*:\s*\['),
        package=_ORJSON,
    ),
    TermFormat(
        "CELLxGENE", _named("json"), "json_terms.CellxgeneFile", re.compile(rb'"ancestors"\s*:\s*\{'),
        package=_ORJSON,
    ),
    TermFormat("OWL", _named("ofn|owx|owl|xml"), "owl_terms.OwlFile", _OWL_BEGINS, package=_HORNED_OWL),
    TermFormat("RDF", _named("ttl|nt"), "rdf_terms.RdfFile", package=_OXIGRAPH),
    TermFormat("RDF", _named("rdf|owl|xml"), "rdf_terms.RdfFile", _RDF_NAMES, package=_OXIGRAPH),
)  # fmt: skip
"""The formats besides RRF; the first that fits a file is its format."""

FORMAT_OPTIONS = tuple(dict.fromkeys(each.option for each in TERM_FORMATS if not each.folders))
"""Names of the formats that an option can state: all whose files may have any name."""

_BEGINNING = 1 << 16


@dataclass(frozen=True)
class SourceFile:
    """A file to read.

    Attributes:
        role: a key of `LAYOUTS`, or the role of one of `TERM_FORMATS`.
        parts: its parts, in order; NLM ships large files in parts ``.aa``, ``.ab``, …
    """

    role: str
    parts: tuple[Part, ...]
    companions: tuple[SourceFile, ...] = ()

    @property
    def size(self) -> int:
        """Bytes on disk, without companions."""
        return sum(part.size for part in self.parts)

    def __str__(self) -> str:
        first, others = str(self.parts[0]), len(self.parts) - 1
        if not others:
            return first
        return f"{first} and the {others} parts after it" if others > 1 else f"{first} and its next part"


def term_format(role: str) -> TermFormat:
    """The format of files with this role."""
    return next(each for each in TERM_FORMATS if each.role == role)


def found_files(sources: Sequence[Path | str], file_format: str | None = None) -> Mapping[str, Sequence[SourceFile]]:
    """Find the files to read, by role: exactly one MRREL and at most one of each other kind; or files of terms only.

    Args:
        sources: folders (searched, with their META and CHANGE folders), zip archives, the files themselves.
        file_format: the format of the files given one by one, as in `TermFormat.option`; ``None`` to recognise it.

    Raises:
        InputError: no sources, no MRREL, two candidates for one file, a missing part, an unsuitable source, or no
            such format.
    """
    if not sources:
        raise InputError("nothing to load", expected="a folder, an archive, or files")
    stated = None if file_format is None else _format_of(file_format)
    candidates: dict[tuple[str, str], list[Part]] = {}
    seen: set[tuple[Path, str | None]] = set()
    for source in sources:
        for role_and_suffix, part in _offered(Path(source), stated):
            identity = (part.path.resolve(), part.member)
            if identity not in seen:
                seen.add(identity)
                candidates.setdefault(role_and_suffix, []).append(part)
    terms = {
        role: [SourceFile(role, (part,)) for part in parts]
        for (role, _), parts in candidates.items()
        if role not in LAYOUTS
    }
    if terms and any(role in LAYOUTS for role, _ in candidates):
        rrf = next(parts for (role, _), parts in candidates.items() if role in LAYOUTS)
        role, files_of_role = next(iter(terms.items()))
        raise InputError(
            f"{role} and RRF files together",
            found=f"{files_of_role[0]} and {rrf[0]}",
            expected="one kind",
            advice="Load them into two snapshots",
        )
    if terms:
        _check_wordnet(terms.get(WNDB, ()))
        return _with_companions(terms)
    files = {role: [_whole(role, candidates)] for role in LAYOUTS if any(r == role for r, _ in candidates)}
    if "MRREL" not in files:
        raise InputError(
            "no MRREL.RRF",
            file=", ".join(str(source) for source in sources),
            expected="MRREL.RRF, or MRREL.RRF.gz, there or in its META folder; or in the Snapshot folder of SNOMED CT "
            "sct2_Relationship_Snapshot_….txt",
            advice="Its is_a relations are what the graph is made of",
        )
    return files


def _with_companions(files: Mapping[str, Sequence[SourceFile]]) -> Mapping[str, Sequence[SourceFile]]:
    """The same files, those that are read with a main one as its companions.

    Raises:
        InputError: the main file is missing, or there are two of a kind that has one in a release.
    """
    main_of = {each.role: each.main for each in TERM_FORMATS if each.main is not None and each.role in files}
    grouped = dict(files)
    for main in set(main_of.values()):
        companions = [file for role, of in main_of.items() if of == main for file in grouped.pop(role)]
        if main not in grouped:
            name = "sct2_Relationship_Snapshot_….txt" if main == RF2_RELATIONSHIP else "CONCEPT_RELATIONSHIP.csv"
            raise InputError(
                f"no file of {main}", found=str(companions[0]),
                expected=f"{name} beside it, whose is_a relations make the graph",
            )  # fmt: skip
        grouped[main] = [replace(grouped[main][0], companions=tuple(companions))]
    for role in (RF2_RELATIONSHIP, OMOP_RELATIONSHIP, *main_of):
        of_role = files.get(role, ())
        if len(of_role) > 1 and role not in _SEVERAL:
            edition = "Load an edition, which contains the international release, or two snapshots"
            raise InputError(
                f"two files of {role}", found=f"{of_role[0]} and {of_role[1]}", expected="those of one release",
                advice="Load them into two snapshots" if role in OMOP_LAYOUTS else edition,
            )  # fmt: skip
    if OMOP_RELATIONSHIP in grouped and len(grouped) > 1:
        other = next(of_role[0] for role, of_role in grouped.items() if role != OMOP_RELATIONSHIP)
        raise InputError(
            f"OMOP and {other.role} files together", found=f"{grouped[OMOP_RELATIONSHIP][0]} and {other}",
            expected="one kind", advice="Load them into two snapshots",
        )  # fmt: skip
    return grouped


def _check_wordnet(files: Sequence[SourceFile]) -> None:
    """Refuse two files of one part of speech: synsets of two versions have the same identifiers."""
    first: dict[str, SourceFile] = {}
    for file in files:
        part_of_speech = file.parts[0].name.lower().removesuffix(".gz")
        if (other := first.setdefault(part_of_speech, file)) is not file:
            raise InputError(
                f"two files {part_of_speech}", found=f"{other} and {file}", expected="those of one WordNet",
                advice="Load them into two snapshots",
            )  # fmt: skip


def _offered(source: Path, stated: TermFormat | None) -> Iterator[tuple[tuple[str, str], Part]]:
    """Candidates in a source: role and suffix of the part ("" for a file in one part), and location."""
    try:
        if source.is_dir():
            for folder in _FOLDERS:
                if (source / folder).is_dir():
                    yield from _in_folder(sorted((source / folder).iterdir()))
            yield from _terms_in_folder(source)
        elif not source.exists():
            raise InputError("no such file or folder", file=source)
        elif source.suffix.lower() in _ARCHIVES:
            yield from _in_archive(source)
        else:
            offered = (
                [((stated.role, ""), _part(source))]
                if stated is not None
                else list(_in_folder([source])) or list(_terms_in(source))
            )
            if not offered and _RF2_OTHERS.fullmatch(source.name):
                raise InputError(
                    "not a file of SNOMED CT that can be loaded",
                    file=source,
                    expected="Snapshot files of Relationship, Concept, Description, Language and Association",
                    advice="Full and Delta files hold several versions or changes alone, stated relationships are not "
                    "all is_a relations. Give the folder of the release, or its Snapshot folder",
                )
            if not offered:
                raise InputError(
                    "not a file that can be loaded",
                    file=source,
                    expected=f"{', '.join(f'{role}.RRF' for role in LAYOUTS)}, a .zip of them, or a file of "
                    f"{', '.join(each.role for each in TERM_FORMATS)}; plain, .gz or .zst",
                    advice=f"To state the format: --format {'|'.join(FORMAT_OPTIONS)}",
                )
            yield from offered
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=source) from error


def _in_folder(paths: Iterable[Path]) -> Iterator[tuple[tuple[str, str], Part]]:
    for path in paths:
        if (match := _RRF.fullmatch(path.name)) and path.is_file():
            yield _role_and_suffix(match), _part(path)


def _terms_in(path: Path) -> Iterator[tuple[tuple[str, str], Part]]:
    """The file as one of terms, by its name and, where that is not enough, its beginning."""
    part = _part(path)
    for term_format in TERM_FORMATS:
        marks = term_format.marks
        if term_format.is_name(part) and (marks is None or marks.search(beginning(part, _BEGINNING))):
            yield (term_format.role, ""), part
            return


def _part(path: Path) -> Part:
    compression = path.suffix.lower()
    return Part(path, None, compression == ".gz", path.stat().st_size, compression == ".zst")


def _format_of(option: str) -> TermFormat:
    stated = next((each for each in TERM_FORMATS if each.option == option.strip().lower()), None)
    if stated is None or stated.folders:
        raise InputError(
            "no such format", column="format", found=repr(option),
            expected=" or ".join(FORMAT_OPTIONS),
        )  # fmt: skip
    return stated


def _terms_in_folder(source: Path) -> Iterator[tuple[tuple[str, str], Part]]:
    """Files in the folder of the formats that have several files."""
    for term_format in TERM_FORMATS:
        for folder in term_format.folders:
            for path in sorted((source / folder).iterdir()) if (source / folder).is_dir() else ():
                if term_format.is_name(part := _part(path)) and path.is_file():
                    yield (term_format.role, ""), part


def _in_archive(source: Path) -> Iterator[tuple[tuple[str, str], Part]]:
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
    except zipfile.BadZipFile as error:
        raise InputError(
            "not a zip archive, or one that breaks off", file=source, found=str(error), advice="Download it again"
        ) from error
    for member in members:
        part = Part(source, member.filename, member.filename.lower().endswith(".gz"), member.file_size)
        if (match := _RRF.fullmatch(part.name)) and (match[3] is None or part.gzip):
            yield _role_and_suffix(match), part
        for term_format in TERM_FORMATS:
            if term_format.folders and term_format.is_name(part):
                yield (term_format.role, ""), part


def _role_and_suffix(match: re.Match[str]) -> tuple[str, str]:
    return match[1].upper(), (match[2] or "").lower()


def _whole(role: str, candidates: Mapping[tuple[str, str], Sequence[Part]]) -> SourceFile:
    """The file of that role, with its parts in order."""
    suffixes = sorted(suffix for r, suffix in candidates if r == role)
    for suffix in suffixes:
        if len(candidates[role, suffix]) > 1:
            _refuse(role, candidates[role, suffix])
    if "" in suffixes and len(suffixes) > 1:
        _refuse(role, [candidates[role, suffix][0] for suffix in suffixes[:2]])
    if suffixes != [""]:
        for index, suffix in enumerate(suffixes):
            expected = chr(ord("a") + index // 26) + chr(ord("a") + index % 26)
            if suffix != expected:
                raise InputError(
                    "a part is missing",
                    file=str(candidates[role, suffix][0]),
                    found=f"part .{suffix}",
                    expected=f"part .{expected} before it",
                )
    return SourceFile(role, tuple(candidates[role, suffix][0] for suffix in suffixes))


def _refuse(role: str, parts: Sequence[Part]) -> None:
    raise InputError(
        f"two candidates for {role}.RRF",
        found=" and ".join(str(part) for part in parts[:2]),
        expected="one",
        advice="Name the files to load one by one",
    )

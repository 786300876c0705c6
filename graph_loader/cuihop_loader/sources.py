"""Source files of a load: their kinds and columns, and their discovery in folders, archives and lists of files."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuihop.errors import InputError
from cuihop_loader.streams import Part, beginning

__all__ = [
    "CELLXGENE",
    "LAYOUTS",
    "OBO",
    "OBO_GRAPH",
    "OWL_AXIOMS",
    "RDF",
    "TERM_FORMATS",
    "RrfLayout",
    "SourceFile",
    "TermFormat",
    "found_files",
]

CELLXGENE = "CELLxGENE"
OBO = "OBO"
OBO_GRAPH = "OBO Graph JSON"
OWL_AXIOMS = "OWL"
RDF = "RDF"


@dataclass(frozen=True)
class RrfLayout:
    """Layout of one kind of file.

    Attributes:
        role: its name without ``.RRF``.
        columns: their names, in order.
        may_be_empty: true where a release can have the file without any row.
    """

    role: str
    columns: Sequence[str]
    may_be_empty: bool = False


LAYOUTS = {
    role: RrfLayout(role, columns.split(), role in ("MRDEF", "MRCUI", "MERGEDCUI", "DELETEDCUI"))
    for role, columns in {
        "MRREL": "CUI1 AUI1 STYPE1 REL CUI2 AUI2 STYPE2 RELA RUI SRUI SAB SL RG DIR SUPPRESS CVF",
        "MRCONSO": "CUI LAT TS LUI STT SUI ISPREF AUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF",
        "MRSTY": "CUI TUI STN STY ATUI CVF",
        "MRDEF": "CUI AUI ATUI SATUI SAB DEF SUPPRESS CVF",
        "MRRANK": "RANK SAB TTY SUPPRESS",
        "MRSAB": "VCUI RCUI VSAB RSAB SON SF SVER VSTART VEND IMETA RMETA SLC SCC SRL TFR CFR CXTY TTYL ATNL LAT CENC "
        "CURVER SABIN SSN SCIT",
        "MRCUI": "CUI1 VER REL RELA MAPREASON CUI2 MAPIN",
        "MERGEDCUI": "PCUI CUI",
        "DELETEDCUI": "PCUI PSTR",
    }.items()
}
"""Columns by role (UMLS Reference Manual, chapter 3). The first file is required, the others are optional."""

_FOLDERS = ("", "META", "CHANGE", "META/CHANGE")
_ARCHIVES = (".zip", ".nlm")  # NLM's own name for a zip archive is .nlm
_RRF = re.compile(rf"({'|'.join(LAYOUTS)})\.RRF(?:\.(?!GZ)([A-Z]{{2}}))?(\.GZ)?", re.IGNORECASE)


@dataclass(frozen=True)
class TermFormat:
    """A format of ontologies or taxonomies.

    Attributes:
        role: its name in reports, and for the option that states it.
        names: file names, without ``.gz`` or ``.zst``.
        marks: where names of several formats are alike, a pattern that occurs near the beginning of the file.
    """

    role: str
    names: re.Pattern[str]
    marks: re.Pattern[bytes] | None = None


_JSON = re.compile(r".+\.json", re.IGNORECASE)

_OWL_BEGINS = re.compile(
    rb"\A\s*(?:(?:Prefix|Ontology)\s*\(|(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\])?\s*>|\s)*<Ontology[\s>])",
    re.DOTALL,
)
_RDF_NAMES = re.compile(
    rb"http://www\.w3\.org/(?:1999/02/22-rdf-syntax-ns|2000/01/rdf-schema|2002/07/owl|2004/02/skos/core)#"
)

TERM_FORMATS = (
    TermFormat(OBO, re.compile(r".+\.obo", re.IGNORECASE)),
    TermFormat(OBO_GRAPH, _JSON, re.compile(rb'"graphs"\s*:\s*\[')),
    TermFormat(CELLXGENE, _JSON, re.compile(rb'"ancestors"\s*:\s*\{')),
    TermFormat(OWL_AXIOMS, re.compile(r".+\.(ofn|owx|owl|xml)", re.IGNORECASE), _OWL_BEGINS),
    TermFormat(RDF, re.compile(r".+\.(ttl|nt)", re.IGNORECASE)),
    TermFormat(RDF, re.compile(r".+\.(rdf|owl|xml)", re.IGNORECASE), _RDF_NAMES),
)
"""The formats besides RRF; the first that fits a file is its format."""

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

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(part.size for part in self.parts)

    def __str__(self) -> str:
        first, others = str(self.parts[0]), len(self.parts) - 1
        if not others:
            return first
        return f"{first} and the {others} parts after it" if others > 1 else f"{first} and its next part"


def found_files(sources: Sequence[Path | str]) -> Mapping[str, Sequence[SourceFile]]:
    """Find the files to read, by role: exactly one MRREL and at most one of each other kind; or files of terms only.

    Args:
        sources: folders (searched, with their META and CHANGE folders), zip archives, the files themselves.

    Raises:
        InputError: no sources, no MRREL, two candidates for one file, a missing part, or an unsuitable source.
    """
    if not sources:
        raise InputError("nothing to load", expected="a folder, an archive, or files")
    candidates: dict[tuple[str, str], list[Part]] = {}
    seen: set[tuple[Path, str | None]] = set()
    for source in sources:
        for role_and_suffix, part in _offered(Path(source)):
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
        return terms
    files = {role: [_whole(role, candidates)] for role in LAYOUTS if any(r == role for r, _ in candidates)}
    if "MRREL" not in files:
        raise InputError(
            "no MRREL.RRF",
            file=", ".join(str(source) for source in sources),
            expected="MRREL.RRF, or MRREL.RRF.gz, there or in its META folder",
            advice="Its is_a relations are what the graph is made of",
        )
    return files


def _offered(source: Path) -> Iterator[tuple[tuple[str, str], Part]]:
    """Candidates in a source: role and suffix of the part ("" for a whole file), and location."""
    try:
        if source.is_dir():
            for folder in _FOLDERS:
                if (source / folder).is_dir():
                    yield from _in_folder(sorted((source / folder).iterdir()))
        elif not source.exists():
            raise InputError("no such file or folder", file=source)
        elif source.suffix.lower() in _ARCHIVES:
            yield from _in_archive(source)
        else:
            offered = list(_in_folder([source])) or list(_terms_in(source))
            if not offered:
                raise InputError(
                    "not a file that can be loaded",
                    file=source,
                    expected=f"{', '.join(f'{role}.RRF' for role in LAYOUTS)}, a .zip of them, or a file of "
                    f"{', '.join(each.role for each in TERM_FORMATS)}; plain, .gz or .zst",
                )
            yield from offered
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=source) from error


def _in_folder(paths: Iterable[Path]) -> Iterator[tuple[tuple[str, str], Part]]:
    for path in paths:
        if (match := _RRF.fullmatch(path.name)) and path.is_file():
            yield _role_and_suffix(match), Part(path, None, match[3] is not None, path.stat().st_size)


def _terms_in(path: Path) -> Iterator[tuple[tuple[str, str], Part]]:
    """The file as one of terms, by its name and, where that is not enough, its beginning."""
    compression = path.suffix.lower()
    name = path.stem if compression in (".gz", ".zst") else path.name
    for term_format in TERM_FORMATS:
        if term_format.names.fullmatch(name):
            part = Part(path, None, compression == ".gz", path.stat().st_size, compression == ".zst")
            if term_format.marks and not term_format.marks.search(beginning(part, _BEGINNING)):
                continue
            yield (term_format.role, ""), part
            return


def _in_archive(source: Path) -> Iterator[tuple[tuple[str, str], Part]]:
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
    except zipfile.BadZipFile as error:
        raise InputError(
            "not a zip archive, or one that breaks off", file=source, found=str(error), advice="Download it again"
        ) from error
    for member in members:
        if match := _RRF.fullmatch(member.filename.rpartition("/")[2]):
            yield _role_and_suffix(match), Part(source, member.filename, match[3] is not None, member.file_size)


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
        for place, suffix in enumerate(suffixes):
            expected = chr(ord("a") + place // 26) + chr(ord("a") + place % 26)
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

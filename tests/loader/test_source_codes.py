"""Codes of vocabularies in MRCONSO: those of each concept and the concepts of each code, against a dictionary."""

from __future__ import annotations

import gzip
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop._kernels import codes as kernels
from cuihop.errors import InputError
from cuihop.graph import CodeLookup, SourceCode
from cuihop_loader import LoadOptions, load
from loader.rrf_made import isa, retired, written
from shared_data import shared

EDGE = [isa("C0000001", "C0000002"), isa("C0000001", "C0000003")]
CUIS = ["C0000001", "C0000002", "C0000003", "C0000004"]
SABS = ["ICD10CM", "MSH", "SNOMEDCT_US"]
CODES = ["I21", "i21", "I21.9", "22298006", "D009203", "é", "HP:1", "NOCODE", ""]
MARKS = {"N": 0, "E": 1, "Y": 1, "O": 2}
NAMES = ("active", "suppressed", "obsolete")


def coded(cui: str, code: str, **fields: str) -> str:
    """A row of MRCONSO."""
    row = {"ts": "P", "stt": "PF", "ispref": "Y", "scui": "", "sab": "MSH", "tty": "PT", "suppress": "N", **fields}
    row |= {"cui": cui, "code": code}
    return "{cui}|ENG|{ts}|L1|{stt}|S1|{ispref}|A1||{scui}||{sab}|{tty}|{code}|text|0|{suppress}||".format(**row)


class Atom(NamedTuple):
    cui: str
    sab: str
    code: str
    scui: str
    tty: str
    ts: str
    stt: str
    ispref: str
    suppress: str

    @property
    def row(self) -> str:
        return coded(**self._asdict())


ATOMS = st.lists(
    st.builds(
        Atom, st.sampled_from(CUIS), st.sampled_from(SABS), st.sampled_from(CODES), st.sampled_from(["", "M1", "I21"]),
        st.sampled_from(["PT", "SY"]), st.sampled_from("PS"), st.sampled_from(["PF", "VO"]), st.sampled_from("YN"),
        st.sampled_from("NNNEYO"),
    ),
    max_size=30,
)  # fmt: skip
RANKS = {(sab, tty, s): rank for rank, (tty, sab, s) in enumerate(
    ((tty, sab, s) for tty in ("SY", "PT") for sab in SABS for s in "OEYN"), start=1
)}  # fmt: skip


def oracle(atoms: list[Atom]) -> tuple[dict[str, list[SourceCode]], dict[str, list[SourceCode]]]:
    """The codes of each concept, and the concepts of each code, in their order, from the rows themselves."""
    grades: dict[tuple[str, str, str, str], tuple[int, ...]] = {}
    for atom in atoms:
        if atom.code in ("", "NOCODE"):
            continue
        not_preferred = (atom.ts != "P", atom.stt != "PF", atom.ispref != "Y")
        grade = (MARKS[atom.suppress], *not_preferred, -RANKS[atom.sab, atom.tty, atom.suppress])
        own = "" if atom.scui == atom.code else atom.scui
        key = atom.cui, atom.sab, atom.code, own
        grades[key] = min(grades.get(key, grade), grade)
    of_concepts, of_codes = defaultdict(list), defaultdict(list)
    ordered = sorted(grades, key=lambda k: (k[0], grades[k], k[1], k[2].encode(), k[3]))
    for cui, sab, code, own in ordered:
        of_concepts[cui].append(SourceCode(cui, sab, code, own or None, NAMES[grades[cui, sab, code, own][0]]))  # type: ignore[arg-type]
    for key in sorted(ordered, key=lambda k: grades[k]):  # stable: then by concept
        cui, sab, code, own = key
        of_codes[f"{sab}:{code}"].append(SourceCode(cui, sab, code, own or None, NAMES[grades[key][0]]))  # type: ignore[arg-type]
    return of_concepts, of_codes


def loaded(folder: Path, rows: list[str], options: LoadOptions | None = None, **more: list[str]) -> SnapshotGraph:
    ranks = [f"{rank:04d}|{sab}|{tty}|{s}|" for (sab, tty, s), rank in RANKS.items()]
    files = {"MRREL": EDGE, "MRCONSO": rows, "MRRANK": ranks, **more}
    load([written(folder, files)], options or LoadOptions()).sections.save(folder / "graph.cuihop")
    return SnapshotGraph.open(folder / "graph.cuihop")


@given(ATOMS)
@example([Atom("C0000001", "MSH", "é", scui, "PT", "P", "PF", "Y", "N") for scui in ("I21", "M1")])
def test_codes_and_concepts_are_those_of_the_rows_in_the_stated_order(atoms: list[Atom]) -> None:
    of_concepts, of_codes = oracle(atoms)
    with TemporaryDirectory() as folder:
        rows = [
            *(atom.row for atom in atoms),
            *(coded(cui, "") for cui in CUIS),
        ]
        graph = loaded(Path(folder), rows)
        assert [list(each.codes) for each in graph.codes(CUIS)] == [of_concepts[cui] for cui in CUIS]
        written = [f"{sab}:{code}" for sab in SABS for code in CODES]
        known = {code.sab for codes in of_concepts.values() for code in codes}
        for text, lookup in zip(written, graph.codes(written), strict=True):
            rows_of_code = of_codes[text]
            assert list(lookup.codes) == rows_of_code
            sab = text.partition(":")[0]
            assert lookup.status == (
                "unknown_vocabulary" if sab not in known
                else "unknown" if not rows_of_code
                else "current" if any(code.mark == "active" for code in rows_of_code)
                else "suppressed"
            )  # fmt: skip
        for sab in sorted(known):
            some = graph.codes([*CUIS, *written], sabs=[sab])
            for requested, lookup in zip([*CUIS, *written], some, strict=True):
                concepts = dict.fromkeys(code.cui for code in of_codes[requested])
                found = of_concepts[requested] + [code for cui in concepts for code in of_concepts[cui]]
                assert list(lookup.codes) == [code for code in found if code.sab == sab]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> SnapshotGraph:
    rows = [
        coded("C0000001", "22298006", sab="SNOMEDCT_US", scui="22298006"),
        coded("C0000001", "I21.9", sab="ICD10CM", ts="S"),
        coded("C0000002", "D009203", sab="MSH", scui="M0014340"),
        coded("C0000002", "I21.9", sab="ICD10CM", suppress="O"),
        coded("C0000003", "410", sab="ICD10CM", suppress="O"),
        coded("C0000003", "NOCODE", sab="MTH"),
    ]
    history = [retired("C0000009", "SY", "C0000001"), retired("C0000008", "RB", "C0000002")]
    return loaded(tmp_path_factory.mktemp("codes"), rows, MRCUI=history)


@pytest.mark.parametrize(
    ("requested", "status", "alternatives"),
    [
        ("C0000009", "merged", ()),
        ("C0000008", "retired", ("C0000002",)),
        ("C9999999", "unknown", ()),
        ("ICD10CM:410", "suppressed", ()),
        ("ICD10CM:i21.9", "unknown", ("ICD10CM:I21.9",)),
        ("ICD10CM:I219", "unknown", ("ICD10CM:I21.9",)),
        ("icd10cm:i219", "unknown", ("ICD10CM:I21.9",)),  # a CURIE
        ("SNOMEDCT:22298006", "unknown_vocabulary", ("SNOMEDCT_US",)),
        ("MTH:NOCODE", "unknown_vocabulary", ("MSH",)),
        ("I21.9", "invalid", ()),
        ("c0000001", "invalid", ()),
        ("ICD10CM:C0000001", "unknown", ()),
        ("", "invalid", ()),
        (":", "unknown_vocabulary", ()),
        ("ICD10CM:\ud800", "unknown", ()),
    ],
)
def test_what_has_no_current_code_says_why(
    graph: SnapshotGraph, requested: str, status: str, alternatives: tuple[str, ...]
) -> None:
    (lookup,) = graph.codes([requested])
    assert (lookup.requested, lookup.status, lookup.alternatives) == (requested, status, alternatives)
    assert bool(lookup.codes) == (status in ("merged", "suppressed"))


def test_a_code_of_two_concepts_names_both_the_active_one_first(graph: SnapshotGraph) -> None:
    assert graph.codes(["ICD10CM:I21.9"]) == [
        CodeLookup(
            "ICD10CM:I21.9", "current", None,
            (SourceCode("C0000001", "ICD10CM", "I21.9", None, "active"),
             SourceCode("C0000002", "ICD10CM", "I21.9", None, "obsolete")),
        )
    ]  # fmt: skip
    across = graph.codes(["ICD10CM:I21.9"], sabs=["MSH", "SNOMEDCT_US"])[0].codes
    assert [(code.cui, code.code, code.source_concept) for code in across] == [
        ("C0000001", "22298006", None), ("C0000002", "D009203", "M0014340")
    ]  # fmt: skip


def test_an_unknown_vocabulary_is_refused_with_those_that_there_are(graph: SnapshotGraph) -> None:
    with pytest.raises(InputError, match=r"MESH.*ICD10CM, MSH, SNOMEDCT_US\..*Did you mean MSH"):
        graph.codes(["C0000001"], sabs=["MESH"])
    with pytest.raises(InputError, match="not a list"):
        graph.codes(["C0000001"], sabs="MSH")


def test_a_restricted_graph_has_the_codes_of_the_whole(graph: SnapshotGraph) -> None:
    assert graph.within(["SRC"]).codes(["C0000001"]) == graph.codes(["C0000001"])


def test_without_codes_the_error_says_how_to_get_them(tmp_path: Path) -> None:
    without = loaded(tmp_path, [coded("C0000001", "1")], LoadOptions(codes=False))
    for graph in (without, SnapshotGraph.of([("C0000001", "C0000002")])):
        with pytest.raises(InputError, match=r"no codes.*cuihop load"):
            graph.codes(["C0000001"])


def test_rows_of_a_concept_that_stand_apart(tmp_path: Path) -> None:
    rows = [coded(cui, code, sab="MSH") for code in ("2", "1", "2") for cui in CUIS]
    graph = loaded(tmp_path, rows)
    assert [[code.code for code in each.codes] for each in graph.codes(CUIS)] == [["1", "2"]] * 4
    assert [code.cui for code in graph.codes(["MSH:2"])[0].codes] == CUIS
    assert graph.report["codes"] == 8


def test_no_row_with_a_code(tmp_path: Path) -> None:
    graph = loaded(tmp_path, [coded("C0000001", "NOCODE")])
    assert graph.codes(["C0000001", "MSH:1"]) == [
        CodeLookup("C0000001", "current", "C0000001", ()), CodeLookup("MSH:1", "unknown_vocabulary", None, ())
    ]  # fmt: skip
    assert (graph.report["codes"], graph.report["without_code"]) == (0, 1)


@pytest.mark.slow
def test_every_code_of_a_real_release(tmp_path: Path) -> None:
    folder = shared("rrf/nci_sample_level0")
    graph = SnapshotGraph(load([folder], LoadOptions(identifiers="any")).sections)
    expected: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for line in gzip.decompress((folder / "MRCONSO.RRF.gz").read_bytes()).decode().splitlines():
        fields = line.split("|")
        if fields[13] not in ("", "NOCODE"):
            expected[fields[0]].add((fields[11], fields[13], "" if fields[9] == fields[13] else fields[9]))
    cuis = sorted(expected)
    found = {
        each.requested: {(code.sab, code.code, code.source_concept or "") for code in each.codes}
        for each in graph.codes(cuis)
    }
    assert found == expected
    written = sorted({f"{sab}:{code}" for codes in expected.values() for sab, code, _ in codes})
    holders = {each.requested: {code.cui for code in each.codes} for each in graph.codes(written)}
    for text, of_code in holders.items():
        assert of_code == {c for c, codes in expected.items() if any(f"{s}:{code}" == text for s, code, _ in codes)}


@pytest.mark.parametrize(
    ("count", "bits"), [(0, 0), (1, 0), (2, 1), (5_000, 3), (5_000, 12), (40_000, 13), (40_000, 15)]
)
def test_hashes_are_sorted_by_their_highest_bits_alone(count: int, bits: int) -> None:
    hashes = np.random.default_rng(count + bits).integers(0, 1 << 64, count, dtype=np.uint64)
    hashes[::3] &= np.uint64((1 << 62) - 1)  # some buckets have more
    hashes[: count // 2 : 2] = hashes[: count // 2 : 2] >> np.uint64(50) << np.uint64(50)  # several with the same bits
    highest = hashes >> np.uint64(64 - bits) if bits else np.zeros(count, dtype=np.uint64)
    expected, given = np.argsort(highest, kind="stable"), hashes.copy()
    assert kernels.in_buckets(given, bits).tolist() == expected.tolist()
    assert given.tolist() == hashes[expected].tolist()

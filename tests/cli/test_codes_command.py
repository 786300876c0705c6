"""``cuihop codes``: identifiers, files in and out, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.answer_fields import fields_of
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import CODE_MAPS
from cuihop_loader import load
from cuihop_loader.neo4j_rows import ReleaseRows
from example_graph import coded_graph, example_graph
from loader.rrf_made import attribute, isa, mapping, name, retired, written
from program_run import Run

HEAD = "identifier,status,concept,vocabulary,code,source_concept,mark,alternatives\n"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("codes") / "graph.cuihop"
    coded_graph().save(path)
    return path


def test_the_codes_of_a_concept_and_the_concepts_of_a_code(program: Run, graph: Path) -> None:
    done = program("codes", "c0006121", "LOCAL:x", "C9000901", "--sab", "MSH", "-g", graph)
    assert done.code == 0
    assert [line.split()[:4] for line in done.out.splitlines()[3:] if line.strip()] == [
        ["C0006121", "C0006121", "MSH", "D001933"],
        ["LOCAL:x", "C0006121", "MSH", "D001933"],
        ["LOCAL:x", "C0006104", "MSH", "D001921"],
        ["C9000901", "C0006121", "MSH", "D001933"],
    ]
    assert "lower case read as upper case" in done.err
    assert "1 merged into another concept" in done.err


def test_json_is_that_of_the_graph(program: Run, graph: Path) -> None:
    done = program("codes", "C0018670", "LOCAL:old", "--json", "-g", graph)
    lookups = [fields_of(each) for each in coded_graph().codes(["C0018670", "LOCAL:old"])]
    found = json.loads(done.out)["lookups"]
    assert found == json.loads(json.dumps(lookups))
    assert [row["status"] for row in found] == ["current", "suppressed"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["MSH:d001933"], "unknown code; found 'MSH:d001933'; expected identifiers of release coded, or its codes as"),
        (["C0006121", "MESH:D001933"], "no such vocabulary gives codes; found 'MESH:D001933'"),
        (["C9999999"], "unknown in release coded: C9999999"),
        (["C9000903"], "C9000903"),
        (["D001933"], "neither an identifier nor a code; found 'D001933'; expected identifiers"),
        (["C0006121", "--sab", "MESH"], "parameter --sab: no such vocabulary gives codes to release coded"),
        ([], "give concepts or codes, or --file FILE"),
        (["C0006121", "--identifiers", "MSH"], "go with --file"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_an_error(program: Run, graph: Path, arguments: list[str], message: str) -> None:
    done = program("codes", *arguments, "-g", graph)
    assert (done.code != 0, done.out) == (True, "")
    assert message in " ".join(done.err.split())


def test_a_snapshot_without_codes_says_how_to_get_them(program: Run, tmp_path: Path) -> None:
    example_graph().save(tmp_path / "old.cuihop")
    done = program("codes", "C0006121", "-g", tmp_path / "old.cuihop")
    assert done.code != 0
    assert "the snapshot holds no codes of vocabularies" in done.err
    assert "cuihop load" in done.err


def test_a_column_of_codes_becomes_rows_and_counts(program: Run, graph: Path, tmp_path: Path) -> None:
    table, output = tmp_path / "patients.csv", tmp_path / "codes.csv"
    table.write_text("patient,mesh\n1,D001933\n2,d001933\n3,\n4,C0006121\n5,D001921\n")
    done = program("codes", "--file", table, "--column", "mesh", "--identifiers", "MSH", "-o", output, "-g", graph)
    assert (done.code, done.out) == (0, "")
    assert output.read_text() == HEAD + (
        "MSH:D001933,current,C0006121,MSH,D001933,M0002901,active,\n"
        "MSH:d001933,unknown,,,,,,MSH:D001933\n"
        "MSH:C0006121,unknown,,,,,,\n"
        "MSH:D001921,current,C0006104,MSH,D001921,M0002815,active,\n"
    )
    for text in ("4 identifiers", "1 look like concepts", "2 unknown; 2 without codes", "MSH:d001933, MSH:C0006121"):
        assert text in done.err


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("C9000901\nLOCAL:x\nNONE:1\n", 6),
        ("code\nLOCAL:x\n", 2),
        ("cui;n\nC0006121;1\n", 3),
        ('{"identifier": "C9000903"}\n', 1),
        ("", 0),
    ],
)
def test_forms_of_files(program: Run, graph: Path, tmp_path: Path, content: str, rows: int) -> None:
    (tmp_path / "in.txt").write_text(content)
    done = program("codes", "--file", tmp_path / "in.txt", "-g", graph)
    assert done.out.count("\n") == 1 + rows if content else done.code != 0


def test_a_table_that_leaves_its_column_open_is_refused(program: Run, graph: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a,b\nC0006121,1\n")
    done = program("codes", "--file", tmp_path / "in.csv", "-g", graph)
    assert "which column holds concepts or codes?" in done.err
    done = program("codes", "--file", tmp_path / "in.csv", "--column", "a", "--identifiers", "MESH", "-g", graph)
    assert "Did you mean MSH?" in done.err


def test_codes_are_in_the_files_of_an_import(program: Run, graph: Path, tmp_path: Path) -> None:
    done = program("neo4j", "push", graph, "--import-files", tmp_path / "coded")
    assert (done.code, "no codes" in done.err) == (0, False)
    lines = (tmp_path / "coded" / "codes.csv").read_text().splitlines()
    assert '1,"LOCAL:x","LOCAL","C0006121\x1fC0006104","active\x1fobsolete",,"1\x1f1"' in lines
    assert len(lines) == 5
    example_graph().save(tmp_path / "plain.cuihop")
    assert program("neo4j", "push", tmp_path / "plain.cuihop", "--import-files", tmp_path / "plain").code == 0
    assert (tmp_path / "plain" / "codes.csv").read_text() == ""


def test_a_concept_without_codes_is_counted(program: Run, graph: Path) -> None:
    done = program("codes", "C0018670", "C0006121", "--sab", "MSH", "-g", graph)
    assert (done.code, "C0018670" in done.out) == (0, False)
    assert "1 without codes of MSH" in done.err
    alone = program("codes", "C0018670", "--sab", "MSH", "-g", graph)
    assert (alone.code, "1 without codes of MSH" in alone.err) == (0, True)


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("maps")
    code = "C000000{0}|ENG|P|L1|PF|S1|Y|A1||||SNOMEDCT_US|PT|{0}|text|0|N||"
    files = {
        "MRREL": [isa("C0000001", "C0000002")],
        "MRCONSO": [*map(code.format, "12"), name("C0000009", "A map")],
        "MRMAP": [
            mapping(MAPRANK="2", FROMEXPR="1", FROMTYPE="SCUI", TOEXPR="100051", MAPRULE="OTHERWISE TRUE"),
            mapping(MAPRANK="1", FROMEXPR="1", FROMTYPE="SCUI", MAPRULE="IFA 9 &#x7C; Age &#x7C;"),
            mapping("C0000008", FROMEXPR="3", FROMTYPE="SCUI", TOEXPR="<A> OR <B>"),
        ],
        "MRSAT": [attribute("C0000009", "FROMRSAB", "SNOMEDCT_US"), attribute("C0000009", "TORSAB", "ICD10CM")],
        "MRCUI": [retired("C0000007", "SY", "C0000001")],
    }
    load([written(folder, files)]).sections.save(folder / "graph.cuihop")
    return folder / "graph.cuihop"


def test_mappings_are_no_part_of_a_release_in_neo4j(program: Run, graph: Path, mapped: Path, tmp_path: Path) -> None:
    for path, noted in ((mapped, True), (graph, False)):
        done = program("neo4j", "push", path, "--import-files", tmp_path / str(noted))
        assert (done.code, "Neo4j stores no published mappings" in done.err) == (0, noted)
    sections = SnapshotGraph.open(mapped).sections
    without = Sections(sections.meta, {name: sections[name] for name in sections if name not in CODE_MAPS})
    assert ReleaseRows(without).content == ReleaseRows(sections).content


def test_published_mappings_are_shown_as_they_are(program: Run, mapped: Path) -> None:
    done = program("codes", "SNOMEDCT_US:1", "C0000002", "SNOMEDCT_US:3", "--maps", "-g", mapped)
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines() if line.strip() and "─" not in line]
    assert lines == [
        ["C0000009", "A", "map", "(set", "of", "SNOMEDCT_US;", "from", "SNOMEDCT_US", "to", "ICD10CM)"],
        ["rank", "from", "text", "from", "type", "rel", "to", "text", "rule"],
        ["1", "1", "SCUI", "RO", "IFA", "9", "|", "Age", "|"],
        ["2", "1", "SCUI", "RO", "100051", "OTHERWISE", "TRUE"],
        ["C0000008", "without", "a", "name", "(set", "of", "SNOMEDCT_US;", "from", "unknown", "to", "unknown)"],
        ["from", "text", "from", "type", "rel", "to", "text"],
        ["3", "SCUI", "RO", "<A>", "OR", "<B>"],  # no row of MRCONSO has the code
    ]
    assert "without published mappings: C0000002" in done.err


def test_published_mappings_as_json(program: Run, mapped: Path) -> None:
    done = program("codes", "C0000007", "--maps", "--json", "-g", mapped)
    with SnapshotGraph.open(mapped) as graph:
        lookups = json.loads(json.dumps([fields_of(each) for each in graph.code_maps(["C0000007"])]))
    answer = json.loads(done.out)
    assert (answer["lookups"], answer["merged"]) == (lookups, {"C0000007": "C0000001"})
    assert [each["rank"] for each in lookups[0]["maps"]] == ["1", "2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["SNOMEDCT_US:4"], "unknown code; found 'SNOMEDCT_US:4'"),
        (["SNOMEDCT_US:1", "C9999999"], "C9999999"),
        (["SNOMEDCT_US:1", "--sab", "SNOMEDCT_US"], "--maps goes with identifiers, without --file and --sab"),
        (["--file", "x.csv"], "--maps goes with identifiers"),
    ],
)
def test_what_has_no_mappings_is_an_error(program: Run, mapped: Path, arguments: list[str], message: str) -> None:
    done = program("codes", *arguments, "--maps", "-g", mapped)
    assert (done.code != 0, done.out) == (True, "")
    assert message in " ".join(done.err.replace("│", "").split())


def test_a_graph_without_mappings_says_how_to_get_them(program: Run, graph: Path) -> None:
    done = program("codes", "C0006121", "--maps", "-g", graph)
    assert (done.code != 0, done.out) == (True, "")
    assert "holds no published mappings" in done.err
    assert "MRMAP" in done.err


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        (["search", "brain stem"], [["C0006121", "Brain stem", "MSH:D001933"]]),
        (["neighbours", "C0006104"], [["1", "C0006121", "Brain stem", "MSH:D001933"]]),
        (["ancestors", "C0006121"], [["1", "C0006104", "(no name)", "MSH:D001921"]]),
        (["ancestors", "C0006121", "C0006104"], [["1", "0", "C0006104", "(no name)", "MSH:D001921"]]),
        (["descendants", "C0006104"], [["1", "C0006121", "Brain stem", "MSH:D001933"]]),
    ],
)
def test_other_answers_have_codes_on_request(
    program: Run, graph: Path, arguments: list[str], rows: list[list[str]]
) -> None:
    done = program(*arguments, "--codes", "MSH", "-g", graph)
    assert done.code == 0
    lines = [re.split(" {2,}", line.strip()) for line in done.out.splitlines()]
    table = lines[next(i for i, line in enumerate(lines) if line[-1] == "codes") + 2 :]
    assert [row for row in table if row != [""]] == rows
    codes = json.loads(program(*arguments, "--codes", "MSH", "--json", "-g", graph).out)["codes"]
    assert [f"{code['sab']}:{code['code']}" for code in codes] == [row[-1] for row in rows]
    assert "codes" not in json.loads(program(*arguments, "--json", "-g", graph).out)
    assert "parameter --codes: no such vocabulary" in program(*arguments, "--codes", "MESH", "-g", graph).err


def test_an_unknown_vocabulary_is_told_by_the_option_that_names_it(program: Run, graph: Path, tmp_path: Path) -> None:
    table = tmp_path / "codes.csv"
    table.write_text("code\nD001933\n")
    for option, *arguments in (
        ("--sab", "codes", "--file", table), ("--identifiers", "codes", "--file", table),
        ("--sab", "export", "--mappings", tmp_path / "out.tsv"),
    ):  # fmt: skip
        done = program(*arguments, option, "MESH", "-g", graph)
        assert f"parameter {option}: no such vocabulary" in " ".join(done.err.split())
    for refused in (["C0006121", "--tree"], ["--concepts", table, "--output", tmp_path / "out.cuihop"]):
        assert "--codes goes with" in program("neighbours", *refused, "--codes", "MSH", "-g", graph).err

"""Edge lists in CSV, TSV and Parquet: columns, names, sources, and faults."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import InputError, LimitExceeded
from cuihop_loader import Loaded, LoadOptions, load, term_files
from cuihop_loader.edge_lists import EdgeListFile
from loader.rrf_made import concepts, edges, grades_of_names, sabs_of_edges, sabs_of_names
from program_run import Run

ANIMALS = """child,parent,child_name,parent_name,source
dog,canid,Dog,Canid,A
wolf,canid,Wolf,Canid,B
canid,animal,Canid,Animal,A
animal,,Animal,,A
stone,,Stone,,A
"""
SKIP = LoadOptions(on_bad_row="skip")


def loaded(folder: Path, text: str, options: LoadOptions | None = None, name: str = "animals.csv") -> Loaded:
    path = folder / name
    path.write_bytes(text.encode())
    return load([path], options or LoadOptions())


def refused(folder: Path, text: str, name: str = "animals.csv") -> InputError:
    with pytest.raises(InputError) as error:
        loaded(folder, text, name=name)
    return error.value


def test_each_row_is_an_edge_and_a_row_without_a_parent_a_concept(tmp_path: Path) -> None:
    graph = loaded(tmp_path, ANIMALS)
    assert edges(graph) == {("dog", "canid"), ("wolf", "canid"), ("canid", "animal")}
    assert concepts(graph) == {"dog", "wolf", "canid", "animal", "stone"}
    assert set(sabs_of_edges(graph).items()) == {
        (("dog", "canid"), ("A",)), (("wolf", "canid"), ("B",)), (("canid", "animal"), ("A",)),
    }  # fmt: skip
    report = graph.report
    (file,) = report.files
    assert (file.role, file.rows, file.used, file.skipped, file.line_ends) == ("edge list", 5, 5, {}, "LF")
    assert (report.release, report.identifiers, report.isolated, report.warnings) == ("unversioned", "any", 1, [])
    assert report.terms is not None
    assert (report.terms.terms, report.terms.undefined_parents) == (5, 0)


def test_names_come_from_rows_of_the_child_and_of_the_parent(tmp_path: Path) -> None:
    text = 'child,parent,name,parent_name\ndog,canid,Dog,"Canid, a family"\ndog,pet,Hound,\ncanid,,Canine,\n'
    graph = loaded(tmp_path, text)
    dog, canid, pet = SnapshotGraph(graph.sections).concepts(["dog", "canid", "pet"])
    assert (dog.name, dog.synonyms) == ("Dog", ("Hound",))
    assert (canid.name, canid.synonyms) == ("Canine", ("Canid, a family",))
    assert pet.name is None
    assert set(grades_of_names(graph).values()) == {0}
    assert set(map(frozenset, sabs_of_names(graph).values())) == {frozenset({"ANIMALS"})}


def test_the_source_of_a_row_without_one_is_the_name_of_the_file(tmp_path: Path) -> None:
    graph = loaded(tmp_path, "child,parent,SAB\na,b,X\nb,c,\n", name="my.list.csv")
    assert sabs_of_edges(graph) == {("a", "b"): ("X",), ("b", "c"): ("MY",)}
    assert {sab: facts.rows for sab, facts in graph.report.sabs.items()} == {"X": 1, "MY": 1}


def test_rows_of_other_sources_can_be_left_out(tmp_path: Path) -> None:
    graph = loaded(tmp_path, ANIMALS, LoadOptions(include_sabs=["B"]))
    assert edges(graph) == {("wolf", "canid")}
    assert graph.report.files[0].skipped == {"other vocabulary": 2}


@pytest.mark.parametrize("header", ["Child , PARENT", "child_id,parent_id", "subject_id,object_id", '"child","parent"'])
def test_spellings_of_the_columns(tmp_path: Path, header: str) -> None:
    assert edges(loaded(tmp_path, f"{header}\na,b\n")) == {("a", "b")}


def test_columns_in_any_order_and_others_are_not_read(tmp_path: Path) -> None:
    more = [f"more{n}" for n in range(1000)]
    text = ",".join(["parent", *more, "child"]) + "\n" + ",".join(["b", *more, "a"]) + "\n"
    graph = loaded(tmp_path, text)
    assert edges(graph) == {("a", "b")}
    assert [w for w in graph.report.warnings if "not read" in w] == [
        f"{tmp_path}/animals.csv: columns that are not read: more0, more1, more2, more3, more4 and 995 more"
    ]


def test_rows_in_the_manner_of_sssom(tmp_path: Path) -> None:
    text = (
        "# mapping_set_id: https://example.org/set\n#  license: CC0\n"
        "subject_id\tsubject_label\tpredicate_id\tobject_id\tobject_label\n"
        "X:1\tone\trdfs:subClassOf\tX:2\ttwo\nX:3\tthree\tskos:broadMatch\tX:2\ttwo\nX:4\tfour\tskos:exactMatch\tX:2\ttwo\n"
    )
    graph = loaded(tmp_path, text, name="set.sssom.tsv")
    assert edges(graph) == {("X:1", "X:2"), ("X:3", "X:2")}
    assert graph.report.files[0].skipped == {"other predicate": 1}
    assert SnapshotGraph(graph.sections).concepts(["X:2"])[0].name == "two"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "child\tparent\tname\na\tb\tx, y; z\nb\tc\t\n"),
        ("a.csv", 'child;parent;name\na;b;"x, y; z"\nb;c;\n'),
        ("a.csv", 'child\tparent\tname\na\tb\t"x, y; z"\nb\tc\t\n'),
        ("a.csv", '\ufeffchild,parent,name\r\na,b,"x, y; z"\r\n\r\nb,c,\r\n'),
        ("a.csv", 'child,parent,name\n"a" , b ,  "x, y; z"\nb,c,\n'.replace('"a" ', '"a"').replace('  "x', '"x')),
        ("a.csv", 'child,parent,name\na,b,"x, y; z"\nb,c,'),
    ],
)
def test_delimiters_quotes_and_line_ends(tmp_path: Path, name: str, text: str) -> None:
    graph = loaded(tmp_path, text, name=name)
    assert edges(graph) == {("a", "b"), ("b", "c")}
    assert SnapshotGraph(graph.sections).concepts(["a"])[0].name == "x, y; z"


def test_a_last_line_without_its_end_is_read_with_a_warning(tmp_path: Path) -> None:
    graph = loaded(tmp_path, "child,parent\na,b\nb,c")
    assert edges(graph) == {("a", "b"), ("b", "c")}
    assert [w for w in graph.report.warnings if "no line end" in w]


def test_gzip_and_parquet_give_the_same_graph_as_text(tmp_path: Path) -> None:
    expected = loaded(tmp_path, ANIMALS)
    (tmp_path / "animals.csv.gz").write_bytes(gzip.compress(ANIMALS.encode()))
    rows = list(csv.DictReader(io.StringIO(ANIMALS)))
    table = pa.table({key: pa.array([row[key] or None for row in rows], pa.string()) for key in rows[0]})
    table = table.set_column(4, "source", table["source"].dictionary_encode())
    pq.write_table(table, tmp_path / "animals.parquet", row_group_size=2)
    for name in ("animals.csv.gz", "animals.parquet"):
        graph = load([tmp_path / name])
        assert graph.sections.meta["release"]["digest"] == expected.sections.meta["release"]["digest"]
        assert sabs_of_edges(graph) == sabs_of_edges(expected)
        assert sabs_of_names(graph) == sabs_of_names(expected)
        assert (graph.report.files[0].rows, graph.report.files[0].used) == (5, 5)


def test_repeated_rows_self_loops_and_cycles_are_reported(tmp_path: Path) -> None:
    graph = loaded(tmp_path, "child,parent\na,b\na,b\nb,a\nb,b\nc,b\n")
    report = graph.report
    assert edges(graph) == {("a", "b"), ("b", "a"), ("c", "b")}
    assert (report.self_loops, report.cycles.sizes, report.cycles.examples) == (1, [(2, 1)], [["a", "b"]])
    assert (report.files[0].used, report.files[0].skipped) == (4, {"concept is its own parent": 1})


def test_identifiers_stay_as_they_are(tmp_path: Path) -> None:
    strange = ["http://example.org/a?b=c#d", "02084071-n", 'a"b', "C0000001", "c000001", "x" * 128, "<b>&%41", "0"]
    text = io.StringIO()
    csv.writer(text).writerows([["child", "parent"], *([one, "top"] for one in strange)])
    graph = loaded(tmp_path, text.getvalue())
    assert edges(graph) == {(one, "top") for one in strange}


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh"), st.sampled_from(["", "x", 'say "x"', "x,y"])
        ),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([8, 64, 1 << 20]),
)
def test_random_lists_against_networkx(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]], block: int
) -> None:
    expected = nx.DiGraph([(child, parent) for child, parent, _ in rows if child != parent])
    text = io.StringIO()
    csv.writer(text).writerows([["child", "parent", "name"], *rows])
    folder = tmp_path_factory.mktemp("lists")
    if not expected.edges:
        assert refused(folder, text.getvalue()).problem == "no is_a relation"
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(term_files, "BLOCK_BYTES", block)  # many blocks, with and without a row that needs a second look
        graph = loaded(folder, text.getvalue())
    assert edges(graph) == set(expected.edges)
    names = {(child, name) for child, _, name in rows if name}
    assert set(grades_of_names(graph)) == names
    distances = dict(nx.all_pairs_shortest_path_length(expected.to_undirected()))
    found = SnapshotGraph(graph.sections)
    pairs = [(a, b) for a in expected for b in expected]
    assert list(found.distances(pairs)) == [distances[a].get(b) for a, b in pairs]
    loops = Counter(child == parent for child, parent, _ in rows)
    assert (graph.report.files[0].rows, graph.report.files[0].used) == (len(rows), loops[False])


@pytest.mark.parametrize(
    ("bad", "column", "problem", "found"),
    [
        ("a b,c,", "child", "not an identifier", "'a b'"),
        ("a,ü,", "parent", "not an identifier", "'ü'"),
        ("a,b;c,", "parent", "not an identifier", "'b;c'"),
        (f"a,{'x' * 129},", "parent", "not an identifier", f"'{'x' * 60}…'"),
        (",b,", "child", "an identifier is missing", "''"),
        (",,name", "child", "an identifier is missing", "''"),
        ("a,NaN,", "parent", "a missing value in place of an identifier", "'NaN'"),
        ("a,b", 3, "wrong number of columns", "2 in 'a,b'"),
        ("a,b,c,d", 4, "wrong number of columns", "4 in 'a,b,c,d'"),
        ('a,b,"open', 5, "not CSV: unexpected end of data", None),
        ('a,b,"x"y', 5, "not CSV: ',' expected after '\"'", None),
    ],
)
def test_a_bad_row_is_named_or_left_out(
    tmp_path: Path, bad: str, column: str | int, problem: str, found: str | None
) -> None:
    text = f"child,parent,name\nx,y,\n{bad}\ny,z,\n"
    error = refused(tmp_path, text)
    assert (Path(error.file or "").name, error.line, error.column, error.problem) == ("animals.csv", 3, column, problem)
    assert found is None or error.found == found
    rejects = tmp_path / "rejects.tsv"
    graph = loaded(tmp_path, text, LoadOptions(on_bad_row="skip", rejects=rejects))
    assert edges(graph) == {("x", "y"), ("y", "z")}
    assert (graph.report.files[0].rows, graph.report.files[0].skipped) == (3, {"bad row": 1})
    assert rejects.read_text().splitlines()[1].endswith("\t" + bad)


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("dog,canid", "no column of the child"),
        ("child|parent", "no column of the child"),
        ("child,name", "no column of the parent"),
        ("child,parent,Parent", "two columns for the parent"),
        ("child,parent,subject_id", "two columns for the child"),
        ("child,parent,name,child_name", "two columns for the child name"),
        ("", "no column of the child"),
    ],
)
def test_a_header_without_the_columns_is_refused(tmp_path: Path, header: str, problem: str) -> None:
    error = refused(tmp_path, f"{header}\na,b,c,d\n"[0 if header else 1 :] if header else "")
    assert error.problem == problem
    assert "child" in str(error.expected) or "parent" in str(error.expected)


def test_a_header_alone_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, "child,parent\n").problem == "no rows in the file"
    assert refused(tmp_path, "child,parent\na,\n").problem == "no is_a relation"


@pytest.mark.parametrize(
    ("bad", "problem", "found"),
    [(b"\xff", "not UTF-8", "byte 0xFF"), (b"\0", "not text: a NUL byte", "byte 0x00")],
)
def test_bytes_that_are_no_text(tmp_path: Path, bad: bytes, problem: str, found: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"child,parent\na,b\nc," + bad + b"\n")
    with pytest.raises(InputError) as error:
        load([path])
    assert (error.value.line, error.value.column, error.value.problem) == (3, 3, problem)
    assert error.value.found == found
    assert edges(load([path], SKIP)) == {("a", "b")}


def test_a_gzip_file_that_breaks_off(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"child,parent\n" + b"a,b\n" * 9)[:-9])
    with pytest.raises(InputError, match="the gzip file breaks off") as error:
        load([path])
    assert error.value.line is not None


def test_parquet_that_is_none_or_holds_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="damaged, or"):
        load([path])
    pq.write_table(pa.table({"child": [1, 2], "parent": ["a", "b"]}), path)
    with pytest.raises(InputError, match="wrong type of column") as error:
        load([path])
    assert str(error.value.column) == "child, row 1"
    pq.write_table(pa.table({"child": ["a", "b c", "d"], "parent": ["x", "y", "z"]}), path)
    with pytest.raises(InputError, match="not an identifier") as error:
        load([path])
    assert (error.value.line, error.value.column) == (None, "child, row 2")
    assert edges(load([path], SKIP)) == {("a", "x"), ("d", "z")}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_bad_row_far_down_is_found_and_the_rest_read_fast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(term_files, "BLOCK_BYTES", 4096)
    rows = ["# comment", "child,parent,name", *(f"a{n},a{n // 2},Name {n}" for n in range(1, 3001))]
    slow = EdgeListFile.lines_of
    checked: list[int] = []

    def noted(self: EdgeListFile, raw: bytes, *, terminated: bool) -> Iterator[bytes]:
        for line in slow(self, raw, terminated=terminated):
            checked.append(self.lines)
            yield line

    monkeypatch.setattr(EdgeListFile, "lines_of", noted)
    good = loaded(tmp_path, "".join(row + end for row in rows))
    assert (good.report.edges, good.report.names, checked) == (3000, 3000, [1, 2])
    assert good.report.files[0].line_ends == ("LF" if end == "\n" else "CRLF")
    rows[2000] = "a b,c,"
    checked.clear()
    error = refused(tmp_path, "".join(row + end for row in rows))
    assert (error.line, error.column) == (2001, "child")
    graph = loaded(tmp_path, "".join(row + end for row in rows), SKIP)
    assert (graph.report.edges, graph.report.files[0].rows, graph.report.files[0].bad) == (2999, 3000, 1)
    assert graph.report.files[0].line_ends == good.report.files[0].line_ends


def test_too_many_sources(tmp_path: Path) -> None:
    rows = "".join(f"a{n},b,{n}\n" for n in range(2049))
    with pytest.raises(LimitExceeded, match="2,048"):
        loaded(tmp_path, "child,parent,source\n" + rows)


@pytest.mark.parametrize("quote", ["", '"'])
def test_cuis_in_lower_case_are_read_in_upper_case_with_a_warning(tmp_path: Path, quote: str) -> None:
    text = f"child,parent\n{quote}c0006121{quote},C0018670\nC0006121,cl000001\nc0006121,c12\n"
    graph = loaded(tmp_path, text)
    assert edges(graph) == {("C0006121", "C0018670"), ("C0006121", "CL000001"), ("C0006121", "c12")}
    assert concepts(graph) == {"C0006121", "C0018670", "CL000001", "c12"}
    assert graph.report.warnings == ["CUIs in lower case, read in upper case: c0006121, cl000001"]


@pytest.mark.parametrize("column", ["predicate", "predicate_id", "Relation", "relationship"])
def test_rows_of_other_predicates_are_left_out_and_named(tmp_path: Path, column: str) -> None:
    text = f"child,parent,{column}\na,b,is_a\nc,b,part_of\nno identifier,b,part_of\nd,b,RO:1\n"
    graph = loaded(tmp_path, text)
    assert edges(graph) == {("a", "b")}
    assert graph.report.files[0].skipped == {"other predicate": 3}
    assert graph.report.warnings == [
        f"{tmp_path}/animals.csv: rows whose {column} is not is_a, left out: 2 part_of, 1 RO:1"
    ]
    error = refused(tmp_path, text.replace("is_a", "has_part"))
    assert error.problem == "no is_a relation"
    assert "2 part_of, 1 has_part, 1 RO:1" in str(error.advice)


RDFS = "http://www.w3.org/2000/01/rdf-schema#"


@pytest.mark.parametrize(
    "written",
    [
        "rdfs:subClassOf", f"{RDFS}subClassOf", f"<{RDFS}subClassOf>", "biolink:subclass_of", "subclass of",
        "is a", "is-a", "ISA", "OBO_REL:is_a", "http://www.w3.org/2004/02/skos/core#broader", "skos:broadMatch", "",
    ],
)  # fmt: skip
def test_is_a_in_the_spellings_of_vocabularies(tmp_path: Path, written: str) -> None:
    assert edges(loaded(tmp_path, f"child,parent,predicate\na,b,{written}\n")) == {("a", "b")}


@pytest.mark.parametrize(
    "written", ["skos:narrower", "inverse_isa", "superclass_of", "rdfs:subPropertyOf", "not is a", "0"]
)
def test_what_is_not_is_a(tmp_path: Path, written: str) -> None:
    assert edges(loaded(tmp_path, f"child,parent,predicate\na,b,{written}\nb,c,\n")) == {("b", "c")}


def test_the_report_shows_an_edge_as_an_example(tmp_path: Path, program: Run) -> None:
    assert loaded(tmp_path, "child,parent\ndog,canid\n").report.example == "dog is_a canid"
    text = "child,parent,child_name,parent_name\n1,2,,\n2,3,Wolf,Canid\n4,5,,Stone\n"
    assert loaded(tmp_path, text).report.example == "2 Wolf is_a 3 Canid"
    long = f"child,parent,child_name,parent_name\n2,3,{'wolf ' * 90},Canid\n"
    assert loaded(tmp_path, long).report.example == f"2 {('wolf ' * 90)[:100]}… is_a 3 Canid"
    (tmp_path / "swapped.csv").write_text("parent,child\ndog,canid\n")
    assert "canid is_a dog" in program("load", tmp_path / "swapped.csv", "--output", tmp_path / "g.cuihop").out


def test_the_format_can_be_stated(tmp_path: Path) -> None:
    text = "child,parent\na,b\n"
    assert refused(tmp_path, text, name="pairs.txt").problem == "not a file that can be loaded"
    assert edges(loaded(tmp_path, text, LoadOptions(file_format="edge-list"), name="pairs.txt")) == {("a", "b")}
    with pytest.raises(InputError, match="no such format") as error:
        loaded(tmp_path, text, LoadOptions(file_format="csv"))
    assert "edge-list" in str(error.value.expected)

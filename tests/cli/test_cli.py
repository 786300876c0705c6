"""The command line: output, streams and exit codes."""

from __future__ import annotations

import errno
import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.cli import EXIT_CODES, exit_code, main
from cuihop.errors import ConceptNotFound, CuihopError, OutputError, SnapshotTooNew
from example_graph import coded_graph, example_graph, sourced_graph
from neo4j_server import typed_graph
from program_run import Run, imported_by
from waiting import wait_for


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("cli") / "example.cuihop"
    example_graph().save(path)
    return path


@pytest.fixture
def run(snapshot: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    """Run the program in this process, on the example graph."""
    monkeypatch.setenv("CUIHOP_GRAPH", str(snapshot))

    return program


def test_distance_for_people(run: Run) -> None:
    done = run("distance", "C0006121", "C0018670")
    assert (done.code, done.err) == (0, "")
    assert done.out == "3 hops between C0006121 Brain stem and C0018670 Head (in both directions)\n"


def test_distance_as_json(run: Run) -> None:
    done = run("distance", "C9000901", "C0003483", "--direction", "any", "--max-hops", "9", "--json")
    answer = json.loads(done.out)
    release = example_graph().release
    assert answer == {
        "release": release.digest,
        "release_name": "example",
        "a": "C9000901",
        "b": "C0003483",
        "direction": "any",
        "max_hops": 9,
        "hops": 3,
        "merged": {"C9000901": "C0042449"},
    }


def test_no_path_is_an_answer(run: Run) -> None:
    assert run("distance", "C0006121", "C0003483").out.startswith("no path between")
    assert run("distance", "C0006121", "C0018670", "--max-hops", "1").out.startswith("no path within 1 hop between")
    done = run("distance", "C0006121", "C0003483", "--json")
    assert (done.code, json.loads(done.out)["hops"]) == (0, None)
    assert run("path", "C0006121", "C0003483").out == "no path from C0006121 to C0003483 (in both directions)\n"


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (["distance", "C0006121", "C9999999"], 4, "cuihop: unknown in release example: C9999999"),
    (["distance", "C0006121", "brain"], 4, "'brain'; expected the letter C and seven digits"),
    (["distance", "C0006121", "C9000902"], 4, "retired concept: C9000902 (deleted, no successor)"),
    (["distance", "C0006121", "C9000903"], 4, "UMLS suggests RB C0005847"),
    (["distance", "C0006121"], 2, "two identifiers, or --pairs"),
    (["distance", "C0006121", "C0018670", "--direction", "left"], 2, "'left'"),
    (["distance", "C0006121", "C0018670", "--max-hops", "-1"], 2, "greater than or equal to 0"),
    (["distance", "C0006121", "C0018670", "--graph", "absent.cuihop"], 5, "no such snapshot"),
    (["distance", "C0006121", "C0018670", "--graph", "ftp://user:secret@host"], 3, "found ftp://…"),
    (["distance", "C0006121", "C0018670", "--graph", "http://user:secret@host"], 3, "no user and no password"),
    (["distance", "--pairs", "absent.tsv"], 3, "absent.tsv: no such file"),
    (["search", "!!"], 3, "nothing to search for"),
    (["frobnicate"], 2, "frobnicate"),
])  # fmt: skip
def test_errors_name_the_problem_and_end_with_their_code(run: Run, arguments: list[str], code: int, said: str) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert "secret" not in done.err
    assert "Traceback" not in done.err


def test_every_error_has_a_code() -> None:
    kinds = [CuihopError]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    listed = {kind for _, kind, _ in EXIT_CODES if kind is not None}
    for kind in kinds[1:]:
        if kind.__module__ != "cuihop.errors":
            continue  # the service's own never leave it
        assert any(issubclass(kind, base) for base in listed), kind
    assert exit_code(SnapshotTooNew("x")) == 5
    assert exit_code(OutputError("x")) == 6
    assert exit_code(ConceptNotFound(["x"], release="r")) == 4


REFUSED_LIBRARY = "/x/a.so: cannot open shared object file"


def without_its_library() -> ImportError:
    """The error of a package that answers the one of its library with advice, as NumPy does."""
    error = ImportError("Importing the C-extensions failed.\n\nPlease read this advice.")
    error.__cause__ = ImportError(REFUSED_LIBRARY, path="/x/a.so")
    return error


@pytest.mark.parametrize(("raised", "code", "said"), [
    (OSError(errno.EMFILE, "Too many open files", "/x/a.py"), 3, "/x/a.py: the system refuses it: Too many open files"),
    (OSError(errno.EIO, "Input/output error", "/x/blocks"), 6, "/x/blocks: the system refuses it: Input/output error"),
    (OSError(errno.ENOSPC, "No space left"), 6, "standard output or standard error cannot be written: No space left"),
    (ImportError(REFUSED_LIBRARY, path="/x/a.so"), 8, f"a package cannot be loaded: {REFUSED_LIBRARY}"),
    (without_its_library(), 8, f"a package cannot be loaded: {REFUSED_LIBRARY}"),
    (ImportError("numba._devicearray failed to import"), 8, "a package cannot be loaded: numba._devicearray failed to"),
    (OSError(REFUSED_LIBRARY), 8, f"a package cannot be loaded: {REFUSED_LIBRARY}"),  # as ctypes and llvmlite have it
])  # fmt: skip
def test_what_the_system_refuses_is_one_sentence(
    raised: Exception, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refused(**_: object) -> None:
        raise raised

    monkeypatch.setattr("cuihop.cli.application.application", lambda arguments: refused)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["cuihop", "info"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == code
    error = capfd.readouterr().err
    assert error.startswith(f"cuihop: {said}")
    assert "Traceback" not in error


def test_an_error_in_the_imports_of_cuihop_stays_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        from cuihop import no_such_name  # noqa: F401 - what is tested

    monkeypatch.setattr("cuihop.cli.application.application", lambda arguments: broken)
    with pytest.raises(ImportError, match="no_such_name"):
        main()


def test_path_shows_each_hop_and_its_vocabularies(run: Run) -> None:
    done = run("path", "C0006121", "C0018670")
    assert done.out.startswith("3 hops")
    lines = [line.split() for line in done.out.splitlines() if "C0" in line]
    assert lines == [
        ["C0006121", "Brain", "stem"],
        ["↑", "parent", "C0006104", "Brain"],
        ["↑", "parent", "C0926510", "(no", "name)"],
        ["↓", "child", "C0018670", "Head"],
    ]
    places = json.loads(run("path", "C0006121", "C0018670", "--json").out)["path"]
    assert places[0] == {"cui": "C0006121", "name": "Brain stem"}
    assert places[3] == {"cui": "C0018670", "relation": "child", "sabs": [], "name": "Head"}


def test_neighbours_give_the_total_where_a_limit_cuts(run: Run) -> None:
    done = run("neighbours", "C0005847", "--hops", "2", "--limit", "1")
    assert done.out.startswith("4 concepts around C0005847, within 2 hops")
    assert "C0003842" in done.out
    assert "C0042449" not in done.out
    assert "nearest 1 of 4" in done.err
    answer = json.loads(run("neighbours", "C0005847", "--hops", "2", "--limit", "1", "--json").out)
    assert (answer["total"], [n["cui"] for n in answer["neighbours"]]) == (4, ["C0003842"])


def test_ancestors_descendants_and_common_ancestors(run: Run) -> None:
    assert json.loads(run("ancestors", "C0003483", "--json").out)["total"] == 3
    assert json.loads(run("descendants", "C0007226", "--max-hops", "1", "--json").out)["total"] == 1
    shared = json.loads(run("ancestors", "C0042449", "C9000904", "--json").out)
    assert [c["cui"] for c in shared["common_ancestors"]] == ["C0005847", "C0007226"]
    assert "C9000904 → C0005847" in run("ancestors", "C0042449", "C9000904").err


def test_search_and_concept(run: Run) -> None:
    assert [hit["cui"] for hit in json.loads(run("search", "brain stem", "--json").out)["hits"]] == ["C0006121"]
    assert "no concept has a name" in run("search", "spleen").err
    assert json.loads(run("search", "c0006121", "--json").out)["hits"] == [
        {"cui": "C0006121", "name": "Brain stem", "matched": "C0006121", "kind": "identifier"}
    ]
    text = run("concept", "C0005847").out
    assert "Vessel, blood" in text
    assert "C0042449 Veins" in text


def test_search_reports_names_that_are_spelt_otherwise(run: Run) -> None:
    assert run("search", "brain").err == ""
    assert "spelt otherwise, in another form, or written together or apart: 'aortas'" in run("search", "aortas").err
    assert (
        "no name has these words; shown are names with words spelt alike: 'artreies'" in run("search", "artreies").err
    )
    assert "no name has all of these words; shown are names with some of them" in run("search", "head xyzzy").err


def test_search_distinguishes_concepts_of_one_name(program: Run, tmp_path: Path) -> None:
    names = {"C0000001": "cold", "C0000002": "Cold", "C0000003": "cold"}
    SnapshotGraph.of([("C0000001", "C0000002")], names=names).save(tmp_path / "cold.cuihop")
    table = program("search", "cold", "--graph", tmp_path / "cold.cuihop").out
    assert "about" in table
    assert "parents: 1, children: 0" in table
    typed_graph().save(tmp_path / "typed.cuihop")
    assert "about" not in program("search", "one", "--graph", tmp_path / "typed.cuihop").out


def test_info_verifies(run: Run, snapshot: Path) -> None:
    facts = json.loads(run("info", snapshot, "--verify", "--json").out)
    assert facts["digest"] == example_graph().release.digest
    assert facts["verified_bytes"] > 500
    raw = bytearray(snapshot.read_bytes())
    raw[raw.index(b"Brain stem")] ^= 1
    damaged = snapshot.with_name("damaged.cuihop")
    damaged.write_bytes(raw)
    assert run("info", damaged).code == 0
    done = run("info", damaged, "--verify")
    assert (done.code, "name_blob" in done.err) == (5, True)


def test_info_lists_the_vocabularies_of_names_and_codes(program: Run, snapshot: Path, tmp_path: Path) -> None:
    sourced_graph().save(tmp_path / "sourced.cuihop")
    assert json.loads(program("info", tmp_path / "sourced.cuihop", "--json").out)["name_sabs"] == ["MSH", "NCI"]
    assert "vocabularies of names   MSH, NCI" in program("info", tmp_path / "sourced.cuihop").out
    assert json.loads(program("info", snapshot, "--json").out)["name_sabs"] is None
    assert "vocabularies of names   not recorded; cuihop load records them in a file" in program("info", snapshot).out
    coded_graph().save(tmp_path / "coded.cuihop")
    assert json.loads(program("info", tmp_path / "coded.cuihop", "--json").out)["code_sabs"] == [
        "LOCAL", "MSH", "SNOMEDCT_US",
    ]  # fmt: skip
    assert "vocabularies of codes   LOCAL, MSH, SNOMEDCT_US" in program("info", tmp_path / "coded.cuihop").out
    assert "vocabularies of codes   not recorded; cuihop load records them in a file" in program("info", snapshot).out


# Files of pairs


def pairs_file(folder: Path, text: str | bytes, name: str = "pairs.tsv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_two_columns_in_three_out(run: Run, tmp_path: Path) -> None:
    source = pairs_file(tmp_path, "from\tto\nC0006121\tC0018670\nC0006121\tC0003483\nC9000901\tC9000901\n")
    target = tmp_path / "out.tsv"
    done = run("distance", "--pairs", source, "--output", target)
    assert done.code == 0
    assert target.read_text() == (
        "from\tto\thops\nC0006121\tC0018670\t3\nC0006121\tC0003483\t\nC9000901\tC9000901\t0\n"
    )
    assert "3 pairs, 1 of them without a path" in done.out
    assert "line 1 was taken for a header" in done.err
    assert "C9000901 → C0042449" in done.err


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_and_compression(run: Run, tmp_path: Path, ending: str, last: bool) -> None:
    text = ending.join(["C0006121\tC0018670", "C0042449\tC0005847"]) + (ending if last else "")
    plain = pairs_file(tmp_path, text)
    zipped = pairs_file(tmp_path, gzip.compress(text.encode()), "pairs.tsv.gz")
    expected = "C0006121\tC0018670\t3\nC0042449\tC0005847\t1\n"
    assert run("distance", "--pairs", plain).out == expected
    assert run("distance", "--pairs", zipped).out == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("a,b\nC0006121,C0018670\n", "a\tb\thops\nC0006121\tC0018670\t3\n"),
    ('"C0006121";"C0018670"\r\n', "C0006121\tC0018670\t3\n"),
    ("n,cui1,name,CUI2\n1,C0006121,\"a, b\",C0018670\n", "cui1\tCUI2\thops\nC0006121\tC0018670\t3\n"),
    ('{"b": "C0018670", "a": "C0006121"}\n', "a\tb\thops\nC0006121\tC0018670\t3\n"),
])  # fmt: skip
def test_pairs_in_other_forms_come_out_with_tabs(run: Run, tmp_path: Path, text: str, expected: str) -> None:
    done = run("distance", "--pairs", pairs_file(tmp_path, text))
    assert done.out == expected
    assert ("taken for a header" in done.err) == text.startswith("a,b")


def test_a_faulty_row_of_any_form_can_be_set_aside(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.tsv"
    source = pairs_file(tmp_path, '{"a": "C0006121", "b": "C0018670"}\nbad\n{"a": "C0006121"}\n')
    assert run("distance", "--pairs", source, "--output", target, "--on-bad-row", "skip").code == 0
    assert target.read_text() == "a\tb\thops\nC0006121\tC0018670\t3\n"
    assert [line.split(":")[0] for line in (tmp_path / "out.tsv.rejects").read_text().splitlines()] == [
        "2\tnot JSON", "3\tnot a text"
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), [
    ("C0006121\tC0018670\nC0006121\n", "line 2: wrong number of columns; found 1 in 'C0006121'; expected 2"),
    ("C0006121\tC0018670\t3\n", "line 1: wrong number of columns; found 3"),
    ("C0006121|C0018670\n", "line 1: wrong number of columns; found 1 in 'C0006121|C0018670'"),
    ("C0006121\tC0018670\n\n", "line 2: wrong number of columns; found 1 in ''"),
    ("C0006121\tC0018670\nC0006121\tC9999999\n", "line 2, column 2: unknown concept; found 'C9999999'"),
    ("C0006121\tC0018670\nC9000902\tC0006121\n", "line 2, column 1: retired concept without an exact successor"),
    ("C0006121\tC0018670\nx y\tC0006121\n", "line 2, column 1: not an identifier; found 'x y'"),
    (b"C0006121\tC0018670\nC0006121\t\xff\n", "line 2, byte 10: not UTF-8; found 0xFF"),
    ("", "the file is empty"),
    (gzip.compress(b"C0006121\tC0018670\n" * 50_000, mtime=0)[:-20], "the gzip stream ends early"),
])  # fmt: skip
def test_a_faulty_row_is_named_and_nothing_is_written(run: Run, tmp_path: Path, text: str | bytes, said: str) -> None:
    target = tmp_path / "out.tsv"
    done = run("distance", "--pairs", pairs_file(tmp_path, text), "--output", target)
    assert done.code == 3
    assert said in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.tsv"]


def test_faulty_rows_are_set_aside_by_option(run: Run, tmp_path: Path) -> None:
    source = pairs_file(tmp_path, "C0006121\tC0018670\nbad\nC0006121\tC9999999\nC0042449\tC0005847\n")
    target = tmp_path / "out.tsv"
    done = run("distance", "--pairs", source, "--output", target, "--on-bad-row", "skip", "--json")
    assert json.loads(done.out)["rejected"] == 2
    assert target.read_text() == "C0006121\tC0018670\t3\nC0042449\tC0005847\t1\n"
    assert (tmp_path / "out.tsv.rejects").read_text() == (
        "2\twrong number of columns: 1 in 'bad'\tbad\n3\tunknown concept: 'C9999999'\tC0006121\tC9999999\n"
    )


def test_an_unknown_first_pair_of_cuis_is_never_taken_for_a_header(run: Run, tmp_path: Path) -> None:
    source = pairs_file(tmp_path, "C9999998\tC9999999\nC0006121\tC0018670\n")
    assert "line 1, column 1: unknown concept" in run("distance", "--pairs", source).err
    headed = pairs_file(tmp_path, "C0006121\tC0018670\nC0042449\tC0005847\n")
    assert run("distance", "--pairs", headed, "--header", "yes").out.splitlines()[0] == "C0006121\tC0018670\thops"


# The program as a process of its own


def program(*arguments: str | Path, **options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "cuihop", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **options},
    )


@pytest.mark.slow
def test_a_closed_pipe_ends_the_program_quietly(snapshot: Path, tmp_path: Path) -> None:
    source = pairs_file(tmp_path, "C0006121\tC0018670\n" * 200_000)
    process = program("distance", "--pairs", source, "--graph", snapshot)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.wait(60) != 0


@pytest.mark.parametrize(
    ("command", "expected"), [("measures list > /dev/full", 6), ("info missing.cuihop 2> /dev/full", 5)]
)
def test_a_full_disk_behind_standard_output_or_error_is_an_exit_code_and_no_traceback(
    tmp_path: Path, command: str, expected: int
) -> None:
    program = f"{shlex.quote(sys.executable)} -m cuihop {command}"
    done = subprocess.run(["sh", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == expected
    message = "cuihop: standard output or standard error cannot be written: No space left on device\n"
    assert done.stderr in ("", message)
    assert (done.stderr == "") == ("2>" in command)


@pytest.mark.slow
def test_an_interrupt_leaves_nothing_half_written(tmp_path: Path) -> None:
    ring = 200_000
    edges = [(f"C{i:07d}", f"C{(i + 1) % ring:07d}") for i in range(ring)]
    graph = tmp_path / "ring.cuihop"
    SnapshotGraph.of(edges).save(graph)
    far = ring // 2
    source = pairs_file(tmp_path, "".join(f"C{i:07d}\tC{i + far:07d}\n" for i in range(100_000)))
    target = tmp_path / "out.tsv"
    process = program("distance", "--pairs", source, "--output", target, "--graph", graph)
    wait_for(lambda: list(tmp_path.glob(".out.tsv.*")))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, "interrupted" in said, "Traceback" in said) == (130, True, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs.tsv", "ring.cuihop"]


def test_one_distance_imports_neither_compiled_code_nor_other_commands(tmp_path: Path) -> None:
    example_graph().save(tmp_path / "graph.cuihop")
    command = ["distance", "C0006121", "C0018670", "--graph", str(tmp_path / "graph.cuihop")]
    heavy = {"numba", "pandas", "scipy", "cuihop_service", "cuihop_loader", "neo4j", "grpc", "matplotlib"}
    assert imported_by(command, heavy) == "[]"


def test_a_path_and_a_neighbourhood_are_drawn_with_lines(run: Run) -> None:
    drawn = run("path", "C0006121", "C0018670", "--tree").out.splitlines()
    assert [line.split("C0")[0] for line in drawn[1:]] == ["", "└── ↑ ", "    └── ↑ ", "        └── ↓ "]
    for command in (["neighbours", "--hops", "3"], ["ancestors"], ["descendants", "--limit", "2"]):
        listed = json.loads(run(command[0], "C0006104", *command[1:], "--json").out)["neighbours"]
        lines = run(command[0], "C0006104", *command[1:], "--tree").out.splitlines()
        found = {line[line.index("C") :].split()[0]: line.index("C") for line in lines[1:]}
        indents = {0: 0, **{hops: 6 + 4 * (hops - 1) for hops in range(1, 9)}}
        assert found == {"C0006104": 0} | {n["cui"]: indents[n["hops"]] for n in listed}


def test_an_error_is_json_too_where_json_is_requested(run: Run, tmp_path: Path) -> None:
    done = run("distance", "C9999999", "C0006121", "--json")
    fault = {"cui": "C9999999", "status": "unknown", "candidates": []}
    assert json.loads(done.out) == {
        "reason": "CONCEPT_NOT_FOUND", "detail": "unknown in release example: C9999999", "faults": [fault],
        "exit_code": 4,
    }  # fmt: skip
    assert done.err == "cuihop: unknown in release example: C9999999\n"
    images = tmp_path / "images.csv"
    images.write_text("ID,CUIs\na,C0006121\nb\n")
    answer = json.loads(run("evaluate", "--concepts", str(images), "--baseline", "iou", "--json").out)
    assert [answer[name] for name in ("reason", "file", "line", "exit_code")] == ["INVALID_INPUT", str(images), 3, 3]


@pytest.mark.slow
def test_the_module_is_the_program_and_american_spelling_is_understood(run: Run, snapshot: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cuihop", "neighbors", "C0006121", "--graph", str(snapshot)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == run("neighbours", "C0006121").out
    assert "neighbors" not in run("--help").out


def test_every_command_stands_in_a_panel_of_the_help(run: Run) -> None:
    assert "Other commands" not in run("--help").out


@pytest.mark.parametrize("command", ["distance", "similarity", "path", "ancestors"])
def test_a_name_in_place_of_an_identifier_leads_to_the_search(command: str, run: Run) -> None:
    done = run(command, "brain stem", "C0006121")
    assert done.code == 4
    assert "By name, brain stem may be C0006121 (Brain stem)" in " ".join(done.err.split())
    assert done.err.rstrip().endswith("Identifiers are found by names: cuihop search 'brain stem'")


def test_the_concepts_of_a_name_stand_in_the_json_of_the_error(run: Run) -> None:
    (fault,) = json.loads(run("distance", "brain stem", "C0006121", "--json").out)["faults"]
    assert fault["candidates"] == [{"relation": "exact", "cui": "C0006121", "name": "Brain stem"}]


def test_an_unknown_identifier_leads_to_no_search(run: Run) -> None:
    assert "cuihop search" not in run("distance", "C9999999", "C0006121").err

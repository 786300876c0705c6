"""``cuihop annotate``: files in, files out, a single text, pipes, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.annotation.options import AnnotationOptions
from cuihop.answer_fields import fields_of
from cuihop.operations.answers import AnnotationRow
from example_graph import EDGES, example_graph
from program_run import Run

CAPTIONS = 'ID,Caption\nimg1,"Brain stem, no head"\nimg2,\nimg3,"Veins and arteries"\nimg4,Nothing\n'
CONCEPTS = "ID,CUIs\nimg1,C0006121;C0018670\nimg2,\nimg3,C0003842;C0042449\nimg4,\n"


@pytest.fixture(scope="module")
def opened() -> SnapshotGraph:
    return example_graph()


@pytest.fixture(scope="module")
def graph(opened: SnapshotGraph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("annotate") / "graph.cuihop"
    opened.save(path)
    return path


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    path = tmp_path / "captions.csv"
    path.write_text(CAPTIONS)
    return path


def test_captions_become_the_concepts_that_evaluate_reads(
    program: Run, graph: Path, captions: Path, tmp_path: Path
) -> None:
    concepts = tmp_path / "concepts.csv"
    done = program("annotate", captions, "--graph", graph, "--output", concepts)
    assert (done.code, done.out) == (0, f"Concepts: {concepts}\n")
    assert concepts.read_text() == CONCEPTS
    assert f"{captions}: 4 texts, 1 empty, header 'ID,Caption'\n" in done.err
    assert "4 mentions of 4 concepts; 2 texts without a concept\noptions: as by default\nrelease example" in done.err
    given = ("--concepts", concepts, "--baseline", "nn-iou", "--graph", graph, "-m", "nn-CUI@2", "--verbose")
    evaluated = program("evaluate", *given)
    assert evaluated.code == 0
    assert f"{concepts}: 4 images, 4 concepts, 0 malformed" in evaluated.err + evaluated.out


@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_texts_without_any_mention_are_warned_of(
    json_option: list[str], program: Run, graph: Path, tmp_path: Path
) -> None:
    path = tmp_path / "captions.csv"
    warning = "warning: no name of the graph stands in any text; read as text: {}. --text-column NAME selects"
    for content, column in (("key,remark\n1,x\n", "column '2'"), ("ID,text\n1,x\n2,\n", "column 'text'")):
        path.write_text(content)
        done = program("annotate", path, "--graph", graph, "--output", tmp_path / "concepts.csv", *json_option)
        assert (done.code, warning.format(column) in done.err) == (0, True), done.err
    path.write_text("ID,text\n1,no head\n")
    done = program(
        "annotate",
        path,
        "--graph",
        graph,
        "--output",
        tmp_path / "concepts.csv",
        "--leave-out",
        "negated",
        *json_option,
    )
    assert (done.code, "warning" in done.err) == (0, False)


def test_the_account_in_json(program: Run, graph: Path, captions: Path, tmp_path: Path) -> None:
    concepts, spans = tmp_path / "concepts.csv", tmp_path / "spans.jsonl"
    done = program(
        "annotate", captions, "--graph", graph, "--output", concepts, "--spans", spans, "--leave-out", "negated",
        "--candidates", "--all", "--json",
    )  # fmt: skip
    found = json.loads(done.out)
    assert found["left_out_by_context"] == 1
    assert found["ambiguous"] is not None
    assert (found["texts"], found["empty"], found["output"], found["spans"]) == (4, 1, str(concepts), str(spans))
    assert (found["options"]["longest"], found["options"]["leave_out"]) == (False, ["negated"])
    lines = [json.loads(line) for line in spans.read_text().splitlines()]
    assert [line["id"] for line in lines] == ["img1", "img2", "img3", "img4"]
    assert "C0018670" not in concepts.read_text()


def test_a_single_text(program: Run, graph: Path, opened: SnapshotGraph) -> None:
    text = "Vein of the brainstem"
    done = program("annotate", "--text", text, "--graph", graph)
    assert done.code == 0
    assert [line.split()[:3] for line in done.out.splitlines() if "–" in line] == [
        ["0–4", "Vein", "C0042449"], ["12–21", "brainstem", "C0006121"]
    ]  # fmt: skip
    found = json.loads(program("annotate", "--text", text, "--graph", graph, "--json", "--candidates").out)
    expected = fields_of(AnnotationRow(opened.annotate(text, AnnotationOptions(candidates=True)).mentions))
    assert {name: found[name] for name in expected} == json.loads(json.dumps(expected))
    assert found["release"] == opened.release.digest
    assert "no name of the graph occurs in this text" in program("annotate", "--text", "x", "--graph", graph).err


def test_pipes(program: Run, graph: Path) -> None:
    read, write = os.pipe()
    os.write(write, CAPTIONS.encode())
    os.close(write)
    done = program("annotate", f"/dev/fd/{read}", "--graph", graph, "--output", "-")
    os.close(read)
    assert (done.code, done.out) == (0, CONCEPTS)
    assert not Path("-").exists()


@pytest.mark.parametrize("form", ["csv", "jsonl", "pubtator", "brat"])
def test_mentions_in_every_format(form: str, program: Run, graph: Path, captions: Path, tmp_path: Path) -> None:
    spans = tmp_path / "spans"
    done = program(
        "annotate", captions, "--graph", graph, "--output", tmp_path / "c.csv", "--spans", spans, "--spans-format", form
    )
    assert done.out.endswith(f"Mentions: {spans}\n")
    again = program("annotate", spans, "--format", {"csv": "table", "jsonl": "table"}.get(form, form), "--graph", graph,
                    "--output", tmp_path / "again.csv", "--id-column" if form == "csv" else "--threads",
                    "ID" if form == "csv" else "1")  # fmt: skip
    if form == "csv":  # a mention in each row: its texts stand several times under one identifier
        assert again.code == 3
        assert "an identifier stands twice" in again.err
    else:
        assert (tmp_path / "again.csv").read_text() == (tmp_path / "c.csv").read_text()


def test_a_stop_list(program: Run, graph: Path, captions: Path, tmp_path: Path) -> None:
    stop = tmp_path / "stop.txt"
    stop.write_text("brain stem\nC0042449\n\n")
    program("annotate", captions, "--graph", graph, "--output", tmp_path / "c.csv", "--stop", stop)
    assert (tmp_path / "c.csv").read_text() == "ID,CUIs\nimg1,C0006104;C0018670\nimg2,\nimg3,C0003842\nimg4,\n"
    stop.write_text("\n")
    done = program("annotate", captions, "--graph", graph, "--output", tmp_path / "c.csv", "--stop", stop)
    assert (done.code, "stop.txt: not a stop list; found 0 names; expected 1 to" in done.err) == (3, True)


def test_a_run_that_a_fault_ended_goes_on_when_it_is_mended(program: Run, graph: Path, tmp_path: Path) -> None:
    texts, concepts = tmp_path / "texts.csv", tmp_path / "concepts.csv"
    rows = "".join(f"{n},Head\n" for n in range(10_000))
    texts.write_text("ID,Caption\n" + rows + "x\n")
    done = program("annotate", texts, "--graph", graph, "--output", concepts)
    assert done.code == 3
    assert "line 10,002: wrong number of columns" in done.err
    assert f"finished texts are in {concepts}.unfinished; the same command resumes from there" in done.err
    assert not concepts.exists()
    texts.write_text("ID,Caption\n" + rows + "x,Head\n")
    assert (
        "8,192 texts finished by the run before"
        in program("annotate", texts, "--graph", graph, "--output", concepts).err
    )
    assert concepts.read_text().count("C0018670") == 10_001
    assert not list(tmp_path.glob("*.unfinished-part")) + list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "give a file of texts, or --text TEXT"),
        (["{captions}", "--text", "x"], 2, "give a file of texts, or --text TEXT"),
        (["--text", "x", "--output", "{out}"], 2, "--output, --spans, --format and columns go"),
        (["{captions}", "--output", "-", "--json"], 2, "--json and --spans need --output FILE"),
        (["{captions}", "--output", "{captions}"], 3, "the file to write is one to read"),
        (["{captions}", "--output", "{out}", "--spans", "{out}"], 3, "--output and --spans name one file"),
        (["{captions}", "--output", "{out}", "--spans", "{out}.xml"], 3, "ends in .csv, .jsonl, .ndjson or .pubtator"),
        (["{captions}", "--output", "{out}", "--leave-out", "negatd"], 3, "unknown context; found 'negatd'"),
        (["{captions}", "--output", "{out}", "--semantic-type", "T999"], 3, "T999"),
        (["{captions}", "--output", "{out}", "--text-column", "note"], 3, "one column named note"),
        (["{captions}", "--output", "{out}/x.csv"], 6, "no such folder"),
        (["{captions}.absent", "--output", "{out}"], 3, "no such file"),
        (["--text", "Head", "--graph", "{nameless}"], 3, "the graph has no names"),
    ],
)  # fmt: skip
def test_what_is_refused(
    arguments: list[str], code: int, words: str, program: Run, graph: Path, captions: Path, tmp_path: Path
) -> None:
    SnapshotGraph.of(EDGES, name="nameless").save(tmp_path / "nameless.cuihop")
    places = {"captions": captions, "out": tmp_path / "out", "nameless": tmp_path / "nameless.cuihop"}
    done = program("annotate", "--graph", graph, *(argument.format(**places) for argument in arguments))
    assert (done.code, words in " ".join(done.err.split())) == (code, True), done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["captions.csv", "nameless.cuihop"]
